import assert from "node:assert/strict";
import { test } from "node:test";
import type { ByName } from "../src/api.ts";
import { estimable, estimateOf, intervalText, isEstimated, marginText, mostAtOnce } from "../src/model/estimate.ts";
import { size } from "../src/model/format.ts";
import { parsePlace } from "../src/model/place.ts";

test("a number is shown with its interval, or as unsure", () => {
  assert.deepEqual(estimateOf("12.3", 12.3, 0.5), { text: "≈ 12.3 ± 4 %", unsure: false });
  assert.deepEqual(estimateOf("12.3", 12.3, NaN), { text: "≈ 12.3", unsure: true });
  assert.deepEqual(estimateOf("–", NaN, NaN), { text: "–", unsure: false });
  assert.deepEqual(estimateOf("0", 0, NaN), { text: "0", unsure: false });
  assert.equal(marginText(1000, 5), "<1 %");
  assert.equal(marginText(1000, 0), "0 %");
  assert.equal(marginText(1, 20), ">999 %");
});

test("an interval in words", () => {
  assert.equal(intervalText(2048, 1024, size), "an estimate: between 1.00 KiB and 3.00 KiB, in 95 of 100 cases");
  assert.match(intervalText(100, 500, size), /between 0 B and 600 B/);
  assert.match(intervalText(100, NaN, size), /not known/);
});

test("only sums are estimated", () => {
  assert.deepEqual(estimable(["peak", "leaked", "bytes", "own-peak", "copied", "churn"]), ["bytes", "churn"]);
});

test("estimates come first where only the events of a large recording answer", () => {
  const large = mostAtOnce + 1;
  const at = (query: string, by: ByName = "function", events: number | undefined = large) =>
    isEstimated(parsePlace(query), by, events);
  assert.equal(at("?size=..64"), true);
  assert.equal(at("?size=..64", "function", mostAtOnce), false);
  assert.equal(isEstimated(parsePlace("?size=..64"), "function", undefined), false);
  assert.equal(at(""), false);
  assert.equal(at("", "thread"), true);
  assert.equal(at("", "allocator"), false);
  assert.equal(at("?thread=7"), true);
  assert.equal(at("?size=..64&lifetime=..1ms"), false);
  assert.equal(at("?size=..64&old-size=..64"), false);
  assert.equal(at("?size=..64&freed-by=7"), false);
});
