import assert from "node:assert/strict";
import { test } from "node:test";
import { Clock, clockOf } from "../src/model/clock.ts";

const s = 1e9;

test("a range is spelled the same wherever it comes from", () => {
  const clock = clockOf(2.4 * s, undefined);
  const spelled = [clock.span({ begin: 199_743_909, end: 1.2 * s }), clock.range("199.743909ms", "1.2s")];
  assert.deepEqual(spelled, ["0.200 s – 1.200 s", "0.200 s – 1.200 s"]);
  assert.equal(clock.range("0.1997439s", "50%"), "0.200 s – 1.200 s");
  // Names stay, and the ends of the run are called that.
  assert.equal(clock.range(undefined, "1s"), "start – 1.000 s");
  assert.equal(clock.range("1s"), "1.000 s – end");
  assert.equal(clock.range("0s", "2.4s"), "start – end");
  assert.equal(clock.range("start", "warm"), "start – warm");
  assert.deepEqual(["peak", "end", "1234567us"].map((text) => clock.text(text)), ["peak", "end", "1.235 s"]);
});

test("moments have the digits that the timeline shows, and short ranges as many as tell their ends apart", () => {
  const clock = clockOf(2.4 * s, undefined);
  const near = clockOf(2.4 * s, "1s..1.002s");
  assert.deepEqual([clock.moment(1.2345678 * s), near.moment(1.0012345 * s)], ["1.235 s", "1.001235 s"]);
  assert.equal(clock.span({ begin: 1 * s, end: 1 * s + 3e5 }), "1.00000 s – 1.00030 s");
  assert.equal(clockOf(3000 * s, undefined).span({ begin: 61 * s, end: 724 * s }), "1:01 – 12:04");
  assert.equal(new Clock({ begin: 0, end: 900 }).moment(12), "12 ns");
  assert.equal(clockOf(2.4 * s, "nonsense").moment(s), "1.000 s");
});
