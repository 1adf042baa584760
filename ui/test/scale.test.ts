import assert from "node:assert/strict";
import { test } from "node:test";
import { byteLabel, byteSteps, secondLabel, secondSteps } from "../src/model/scale.ts";

test("labels of axes have no digits that say nothing", () => {
  for (const [got, want] of [
    [byteLabel(0), "0 B"],
    [byteLabel(512 * 2 ** 20), "512 MiB"],
    [byteLabel(1.5 * 2 ** 30), "1.5 GiB"],
    [byteLabel(1.25 * 2 ** 30), "1.25 GiB"],
    [byteLabel(1024), "1 KiB"],
    [byteLabel(10 * 1024), "10 KiB"],
    [byteLabel(100 * 1024), "100 KiB"],
    [secondLabel(0), "0"],
    [secondLabel(0.5), "500 ms"],
    [secondLabel(0.0002), "200 µs"],
    [secondLabel(1e-9), "1 ns"],
    [secondLabel(15), "15 s"],
    [secondLabel(10), "10 s"],
    [secondLabel(300), "5 min"],
    [secondLabel(90), "1 min 30 s"],
    [secondLabel(3600), "1 h"],
    [secondLabel(5400), "1 h 30 min"],
    [secondLabel(36000), "10 h"],
  ] as const) {
    assert.equal(got, want);
  }
});

test("steps ascend", () => {
  for (const steps of [byteSteps, secondSteps]) {
    assert.ok(steps.every((step, i) => i === 0 || step > (steps[i - 1] ?? Infinity)));
  }
});
