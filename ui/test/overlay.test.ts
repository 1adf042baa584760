import assert from "node:assert/strict";
import { test } from "node:test";
import { align, laidOver, momentOfOther, possible, rangeOfOther, selectedIn, spreadOf } from "../src/model/overlay.ts";
import type { Steps } from "../src/model/timeline.ts";

/** Steps of a run with marks: name and moment. */
function run(end: number, marks: [string, number][]): Steps {
  const timesNs = Float64Array.of(0, end / 2, end);
  const list = Float64Array.of(0, 1, 2);
  return {
    timesNs, live: list, most: list, fewest: list, bytes: list, exact: Uint8Array.of(1, 1, 1),
    resident: undefined, mapped: undefined, regions: [], rough: false,
    marks: marks.map(([text, atNs]) => ({ name: text, text, atNs })),
  };
}

const shown = run(100e9, [["a", 10e9], ["b", 50e9], ["c", 60e9]]);
const other = run(40e9, [["b", 10e9], ["c", 30e9], ["a", 35e9]]);

test("by time, by share, and by the marks that both have in the same order", () => {
  assert.deepEqual(possible(other, shown), ["time", "mark", "share"]);
  assert.deepEqual(possible(run(40e9, [["x", 1e9]]), shown), ["time", "share"]);
  assert.deepEqual([...laidOver(other, align(other, shown, "time")).timesNs], [0, 20e9, 40e9]);
  assert.deepEqual([...laidOver(other, align(other, shown, "share")).timesNs], [0, 50e9, 100e9]);
  // "a" comes first in one and last in the other: it keeps what comes after it from being a pair.
  const marks = align(other, shown, "mark");
  assert.deepEqual(marks, { other: [0, 35e9], shown: [0, 10e9] });
  const same = run(40e9, [["a", 5e9], ["b", 10e9], ["c", 30e9]]);
  const aligned = align(same, shown, "mark");
  assert.deepEqual(aligned, { other: [0, 5e9, 10e9, 30e9], shown: [0, 10e9, 50e9, 60e9] });
  assert.deepEqual([0, 5e9, 7.5e9, 30e9, 40e9].map((ns) => laidOver({ ...same, timesNs: Float64Array.of(ns) },
    aligned).timesNs[0]), [0, 10e9, 30e9, 60e9, 70e9]);
  for (const ns of [0, 3e9, 10e9, 44e9, 55e9, 65e9]) {
    const there = momentOfOther(aligned, ns);
    const back = laidOver({ ...same, timesNs: Float64Array.of(there) }, aligned).timesNs[0] ?? NaN;
    assert.ok(Math.abs(back - ns) < 1, `${ns}: ${there}, ${back}`);
  }
});

test("a selected range is one of the other recording, too", () => {
  const range = { begin: 10e9, end: 80e9 };
  assert.deepEqual(rangeOfOther(align(other, shown, "share"), other, range), { from2: "4s", to2: "32s" });
  assert.deepEqual(rangeOfOther(align(other, shown, "time"), other, range), { from2: "10s", to2: "40s" });
  assert.deepEqual(rangeOfOther(align(other, shown, "time"), other, undefined), { from2: undefined, to2: undefined });
  const times = { begin: 0, end: 100e9, peak: undefined, marks: new Map() };
  assert.equal(selectedIn({ from: undefined, to: undefined }, times), undefined);
  assert.deepEqual(selectedIn({ from: "10%", to: undefined }, times), { begin: 10e9, end: 100e9 });
});

test("what repeated runs had at each place: the least, the middle one and the most of those still running", () => {
  const runs = [[1, 5, NaN], [3, 4, NaN], [2, NaN, NaN]].map((list) => Float64Array.from(list));
  const { least, median, most } = spreadOf(runs);
  assert.deepEqual([[...least], [...median], [...most]], [[1, 4, NaN], [2, 4.5, NaN], [3, 5, NaN]]);
  assert.deepEqual([...spreadOf([]).median], []);
});
