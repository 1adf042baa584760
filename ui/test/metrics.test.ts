import assert from "node:assert/strict";
import { test } from "node:test";
import { clockOf } from "../src/model/clock.ts";
import { atOf, hindrance, labelAt, metricAt, metricGroups, metrics, metricsAt, whyNot } from "../src/model/metrics.ts";
import { placeOf } from "../src/model/place.ts";

const place = placeOf("1");

test("what is known of the whole run only does not go with ranges and filters of blocks", () => {
  const hindered = { ...place, from: "1s", thread: ["main"], size: "..16" };
  for (const { name } of metrics) {
    assert.equal(whyNot({ ...place, focus: ["f"], hide: ["g"], module: ["libc"], at: "1s" }, name), undefined);
    const found = hindrance(hindered, name);
    assert.equal(found !== undefined, name.startsWith("mapped"), name);
    if (!found) continue;
    assert.deepEqual(found.words, ["the range of time", "the filter by thread", "the filter by size"]);
    assert.equal(whyNot({ ...hindered, ...found.without }, name), undefined);
  }
  assert.equal(whyNot({ ...place, page: "table", by: "thread" }, "mapped")?.endsWith("the grouping by thread"), true);
  assert.equal(whyNot({ ...place, page: "tree", by: "thread" }, "mapped"), undefined);
});

test("a moment goes with live bytes and blocks only", () => {
  assert.deepEqual(atOf({ at: "1s" }, ["peak", "bytes"]), {});
  assert.deepEqual(atOf({ at: "1s" }, ["peak", "live-blocks"]), { at: "1s" });
  assert.deepEqual(atOf({ at: "load#2" }, ["kept"]), { at: "load#2" });
  assert.deepEqual(atOf({ at: undefined }, ["live"]), {});
});

test("what was live counts: at the peak, or in a range at its end, unless the reader has chosen", () => {
  const at = (metric: string[], range = {}) => [metricAt({ metric }, range), metricsAt({ metric }, range, ["bytes"])];
  assert.deepEqual(at([]), ["peak", ["peak", "bytes"]]);
  assert.deepEqual(at([], { from: "1s" }), ["live", ["live", "bytes"]]);
  assert.deepEqual(at([], { to: "1s" }), ["live", ["live", "bytes"]]);
  assert.deepEqual(at(["bytes"], { to: "1s" }), ["bytes", ["bytes", "live"]]);
  assert.deepEqual(at(["leaked", "bytes", "leaked", "nonsense"]), ["leaked", ["leaked", "bytes"]]);
});

test("metrics are listed once, in groups, each with a line that says what it counts", () => {
  const titles = metricGroups.map(({ title }) => title);
  assert.deepEqual(titles.slice(0, 3), ["At a moment", "Over the range", "Rates and counts"]);
  assert.equal(new Set(metrics.map(({ name }) => name)).size, metrics.length);
  for (const { label, about } of metrics) {
    assert.ok(about.length > 5 && about.length <= 72 && about !== label, label);
    assert.ok(!/[.]$|^[A-Z]/.test(about), about);
  }
});

test("headings of columns are short", () => {
  for (const { name, short } of metrics) assert.ok(short.length <= 18, `${name}: ${short}`);
});

test("what is kept is named with its moment", () => {
  const clock = clockOf(10e9, undefined);
  assert.equal(labelAt("kept", { at: "2.5s" }, clock), "kept at 2.50 s");
  assert.equal(labelAt("kept-blocks", { at: "load#2" }, clock), "blocks kept at load#2");
  assert.equal(labelAt("kept", { at: "end" }, clock), "kept at the end");
  assert.equal(labelAt("kept", { at: undefined }, clock), "kept at the end of the range");
  assert.equal(labelAt("peak", { at: "2.5s" }, clock), "live at the peak");
});
