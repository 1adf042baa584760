import assert from "node:assert/strict";
import { test } from "node:test";
import { count, duration, exactSize, percent, plural, shortCount, size } from "../src/model/format.ts";

test("quantities", () => {
  const cases: [string, string][] = [
    [size(0), "0 B"],
    [size(42.73978), "43 B"],
    [size(1023), "1,023 B"],
    [size(1023.7), "1.00 KiB"],
    [size(1024), "1.00 KiB"],
    [size(10_230), "9.99 KiB"],
    [size(1_047_999), "1023 KiB"],
    [size(1_048_064), "1.00 MiB"],
    [size(23_419_863), "22.3 MiB"],
    [size(-2048), "-2.00 KiB"],
    [size(2 ** 63), "8.00 EiB"],
    [exactSize(1), "1 byte"],
    [exactSize(23_419_863), "23,419,863 bytes"],
    [count(0), "0"],
    [count(1000), "1,000"],
    [count(1_234_567), "1,234,567"],
    [shortCount(9999), "9,999"],
    [shortCount(12_345), "12.3 k"],
    [shortCount(999_600), "1.00 M"],
    [plural(1, "block"), "1 block"],
    [plural(2000, "block"), "2,000 blocks"],
    [plural(2, "process"), "2 processes"],
    [duration(0), "0 ns"],
    [duration(1500), "1.50 µs"],
    [duration(3_500_000), "3.50 ms"],
    [duration(20_873_178_672), "20.9 s"],
    [duration(125e9), "2 min 05 s"],
    [duration(3_723e9), "1 h 02 min"],
    [percent(0, 0), "–"],
    [percent(0, 5), "0 %"],
    [percent(1, 1_000_000), "<0.1 %"],
    [percent(1, 3), "33.3 %"],
    [percent(9999, 10_000), "100 %"],
  ];
  for (const [got, want] of cases) assert.equal(got, want);
});
