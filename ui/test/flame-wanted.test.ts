import assert from "node:assert/strict";
import { test } from "node:test";
import { countedOf, neededFor, titleOf, wantedOf } from "../src/model/flame/wanted.ts";
import { home, type Place } from "../src/model/place.ts";

const at = (more: Partial<Place> = {}): Place => ({ ...home, page: "flame", ...more });
const range = { from: "1s", to: "2s" };

test("in a range, a flame graph counts what was live at its end, unless the reader has chosen", () => {
  assert.equal(wantedOf(at()).metric, "peak");
  assert.equal(wantedOf(at(range)).metric, "live");
  assert.equal(wantedOf(at(), range).metric, "live", "while the reader drags");
  assert.equal(wantedOf(at({ ...range, metric: ["peak"] })).metric, "peak");
  assert.equal(wantedOf(at({ metric: ["mean-size"] })).metric, "peak", "it does not add up");
});

test("a difference compares two ranges, or the end of one with its beginning", () => {
  const compare = true;
  const one = wantedOf(at({ ...range, compare }));
  assert.deepEqual([one.shape, one.metric, one.colour], ["difference", "live", "growth"]);
  assert.deepEqual(one.compared?.before, { from: undefined, to: "1s" });
  assert.equal(countedOf(one, ""), "live bytes: change over the range");
  assert.equal(titleOf(one), "what has changed over the range");
  assert.equal(wantedOf(at({ ...range, compare, metric: ["bytes"] })).metric, "live");
  assert.equal(wantedOf(at({ ...range, compare, metric: ["live-blocks"] })).metric, "live-blocks");

  const two = wantedOf(at({ ...range, from2: "0.5s", to2: "0.987654321s", compare, metric: ["bytes"] }));
  assert.deepEqual(two.compared?.before, { from: "0.5s", to: "0.987654321s" });
  assert.equal(two.metric, "bytes");
  assert.equal(titleOf(two), "what has changed between two ranges");
  assert.equal(titleOf(wantedOf(at({ with: ["a"], compare }))), "what has changed between recordings");
  assert.equal(wantedOf(at({ compare })).shape, "top-down");
});

test("what cannot be shown says what it needs", () => {
  assert.match(neededFor("sandwich", at()) ?? "", /click a function/);
  assert.equal(neededFor("sandwich", at({ picked: ["f"] })), undefined);
  assert.equal(neededFor("top-down", at()), undefined);
});
