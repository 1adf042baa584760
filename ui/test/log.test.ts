import assert from "node:assert/strict";
import { test } from "node:test";
import { chain, jumpOf, logParameters, mostParts, nextParameters, type LogPart } from "../src/model/log.ts";
import { home } from "../src/model/place.ts";

test("a jump leads to an event or to a moment", () => {
  assert.deepEqual(jumpOf("#4,711"), { event: "4711", reverse: false });
  assert.deepEqual(jumpOf(" 12 "), { event: "12", reverse: false });
  for (const time of ["1.5s", "10%", "peak", "my mark#2"]) {
    assert.deepEqual(jumpOf(time), { event: undefined, at: time, reverse: false });
  }
  assert.equal(jumpOf("  "), undefined);
});

test("the log is asked without frames that are hidden", () => {
  const place = { ...home, from: "1s", lifetime: "1s..", hide: ["x"], kind: ["free", "nonsense"], at: "2s" };
  const further = { from: "1s", lifetime: "1s..", kind: ["free"], limit: 300 };
  assert.deepEqual(logParameters(place), { ...further, at: "2s" });
  assert.deepEqual(nextParameters(place, 7, true), { ...further, event: "7", before: true });
  assert.deepEqual(nextParameters(place, 7, false), { ...further, event: "7" });
  assert.deepEqual(logParameters({ ...home, event: "3", at: "2s", reverse: true }), {
    event: "3", before: true, limit: 300,
  });
});

test("parts that follow each other become one list, of a bounded length", () => {
  const [begin, end] = [0, 1000];
  const part = (first: number, next: number): LogPart => ({ entries: [], first, next, begin, end, missing: "" });
  const asked: string[] = [];
  const at = (event: number, before: boolean) => {
    asked.push(`${event} ${before}`);
    return before ? part(Math.max(begin, event - 10), event) : part(event, Math.min(end, event + 10));
  };
  const { parts, earlier, later } = chain(part(500, 510), at);
  assert.deepEqual([earlier, later], [mostParts, mostParts]);
  assert.equal(parts.length, 2 * mostParts + 1);
  parts.forEach((one, i) => i > 0 && assert.equal(one.first, parts[i - 1]?.next));
  const near = chain(part(5, 995), at);
  assert.deepEqual([near.parts[0]?.first, near.parts.at(-1)?.next, near.parts.length], [0, 1000, 3]);
  assert.deepEqual(chain(part(5, 995), () => undefined).parts, [part(5, 995)]);
  assert.ok(asked.includes("500 true") && asked.includes("510 false"));
});
