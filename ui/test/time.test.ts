import assert from "node:assert/strict";
import { test } from "node:test";
import { parseSpan, parseTime, roundTime, timeText, type Run } from "../src/model/time.ts";

const run: Run = { begin: 0, end: 60e9, peak: 41e9, marks: new Map([["warm", 5e9]]) };

test("times are read as the command line reads them", () => {
  const cases: [string, number | undefined][] = [
    ["start", 0],
    ["end", 60e9],
    ["peak", 41e9],
    ["warm", 5e9],
    ["cold", undefined],
    ["10%", 6e9],
    ["1.5s", 1.5e9],
    ["2m30s", 150e9],
    ["12.043100217s", 12043100217],
    ["200ms", 2e8],
    ["7us", 7000],
    ["3ns", 3],
    ["3", undefined],
    ["", undefined],
  ];
  for (const [text, ns] of cases) assert.equal(parseTime(text, run), ns, text);
});

test("a written time is read back exactly", () => {
  for (const ns of [0, 1, 999, 1000, 1234, 1e6, 1500000, 999999999, 1e9, 12043100217, 86400e9]) {
    assert.equal(parseTime(timeText(ns), run), ns, timeText(ns));
  }
  assert.equal(timeText(12043100000), "12.0431s");
  assert.equal(timeText(0), "0s");
});

test("what the reader points at is rounded to less than a pixel", () => {
  assert.equal(roundTime(12_345_678_901, 60e9), 12_350_000_000);
  assert.equal(roundTime(17, 1000), 17);
});

test("a span is in order", () => {
  assert.deepEqual(parseSpan("10s", "5s", run), { begin: 5e9, end: 10e9 });
  assert.deepEqual(parseSpan(undefined, "nowhere", run), { begin: 0, end: 60e9 });
});
