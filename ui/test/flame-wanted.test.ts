import assert from "node:assert/strict";
import { test } from "node:test";
import { clockOf } from "../src/model/clock.ts";
import { comparedIn, countedOf, neededFor, titleOf, wantedOf } from "../src/model/flame/wanted.ts";
import { home, type Place } from "../src/model/place.ts";

const at = (more: Partial<Place> = {}): Place => ({ ...home, page: "flame", ...more });
const clock = clockOf(5e9, undefined);
const range = { from: "1s", to: "2s" };

test("in a range, a flame graph counts what was live at its end, unless the reader has chosen", () => {
  assert.equal(wantedOf(at()).metric, "peak");
  assert.equal(wantedOf(at(range)).metric, "live");
  assert.equal(wantedOf(at(), range).metric, "live", "while the reader drags");
  assert.equal(wantedOf(at({ ...range, metric: ["peak"] })).metric, "peak");
  assert.equal(wantedOf(at({ metric: ["mean-size"] })).metric, "peak", "it does not add up");
});

test("a difference compares two ranges, or the end of one with its beginning", () => {
  const one = wantedOf(at({ ...range, shape: "difference" }));
  assert.deepEqual([one.shape, one.metric, one.colour], ["difference", "live", "growth"]);
  assert.deepEqual(one.before, { from: undefined, to: "1s" });
  assert.equal(countedOf(one, ""), "live bytes: change over the range");
  assert.equal(titleOf(one), "what has changed over the range");
  assert.equal(wantedOf(at({ ...range, shape: "difference", metric: ["bytes"] })).metric, "live");
  assert.equal(wantedOf(at({ ...range, shape: "difference", metric: ["live-blocks"] })).metric, "live-blocks");
  assert.deepEqual(wantedOf(at({ to: "2s", shape: "difference" })).before, { from: undefined, to: "start" });

  assert.match(comparedIn(one, at(range), clock) ?? "", /less what was live when it began/);
  assert.equal(comparedIn(wantedOf(at(range)), at(range), clock), undefined);
  const both = at({ ...range, from2: "0.5s", to2: "0.987654321s", shape: "difference", metric: ["bytes"] });
  const two = wantedOf(both);
  assert.deepEqual(two.before, { from: "0.5s", to: "0.987654321s" });
  assert.match(comparedIn(two, both, clock) ?? "", /^B − A: 1\S* s – 2\S* s, less 0?\.?5\S* m?s – /);
  assert.equal(two.metric, "bytes");
  const open = wantedOf(at({ ...range, to2: "0.5s", shape: "difference" }));
  assert.equal(titleOf(open), "what has changed between two ranges");
  assert.equal(titleOf(two), "what has changed between two ranges");
  assert.equal(wantedOf(at({ shape: "difference" })).shape, "top-down");
});

test("what cannot be shown says what it needs", () => {
  assert.match(neededFor("difference", at()) ?? "", /drag over the timeline.*Shift.*press c/);
  assert.equal(neededFor("difference", at(range)), undefined);
  assert.equal(neededFor("difference", at({ from2: "1s" })), undefined);
  assert.match(neededFor("sandwich", at()) ?? "", /click a function/);
  assert.equal(neededFor("sandwich", at({ picked: ["f"] })), undefined);
  assert.equal(neededFor("top-down", at()), undefined);
});
