import assert from "node:assert/strict";
import { test } from "node:test";
import { filtersOf } from "../src/model/filters.ts";
import { metricAt } from "../src/model/metrics.ts";
import { home, type Place } from "../src/model/place.ts";
import { waysBack } from "../src/model/ways-back.ts";

const all: Place = {
  ...home, recording: "1", page: "flame", metric: ["leaked", "bytes"], from: "1s", to: "2s", from2: "3s",
  thread: ["1"], region: ["r"], module: ["m"], focus: ["f"], ignore: ["i"], hide: ["h"], collapse: ["c"], below: ["b"],
  size: "1..2", "old-size": "3..4", lifetime: "..1s",
};
const labels = (more: Partial<Place>) => waysBack({ ...home, page: "table", ...more }).map(({ label }) => label);

test("an empty page offers the ways back that apply, each of which removes what it says", () => {
  assert.deepEqual(labels({}), []);
  assert.deepEqual(labels({ metric: ["peak", "live"] }), []);
  assert.deepEqual(labels({ metric: ["leaked"] }), ["Show live at the peak"]);
  assert.deepEqual(labels({ metric: ["leaked"], page: "leaks" }), []);
  assert.deepEqual(labels({ to: "1s" }), ["Show live at the peak", "Clear the range"]);
  for (const name of ["thread", "region", "module", "focus", "ignore", "hide", "collapse", "below"] as const) {
    assert.deepEqual(labels({ [name]: ["x"] }), ["Remove the filters"], name);
  }
  assert.deepEqual(labels({ size: "..1" }), ["Remove the filters"]);
  assert.deepEqual(labels({ lifetime: "..1s", page: "leaks" }), ["Remove the filters"]);

  const ways = waysBack(all);
  assert.deepEqual(ways[0]?.change, { metric: ["peak", "bytes"] });
  const after = ways.reduce((place, { change }) => ({ ...place, ...change }), all);
  assert.equal(metricAt(after, after), "peak");
  assert.deepEqual(filtersOf(after), {});
  assert.deepEqual(waysBack(after), []);
});
