import assert from "node:assert/strict";
import { test } from "node:test";
import { Lines, type Sub } from "../src/model/lines.ts";

const words = (text: string): Sub<never> => ({ kind: "words", key: text.charCodeAt(0), level: 2, text });

test("rows below open rows are among the others", () => {
  const order = Uint32Array.of(7, 5, 9, 6);
  const blocks = [
    { after: 0, subs: [words("a"), words("b")] },
    { after: 1, subs: [] },
    { after: 3, subs: [words("c")] },
  ];
  const lines = new Lines(order, blocks);
  const all = Array.from({ length: lines.length }, (_, i) => {
    const line = lines.at(i);
    return typeof line === "number" ? line : line.kind === "words" ? line.text : "";
  });
  assert.deepEqual(all, [7, "a", "b", 5, 9, 6, "c"]);
  all.forEach((one, i) => {
    assert.equal(typeof one === "number" ? lines.ofRow(one) : lines.ofSub(one.charCodeAt(0)), i);
  });
  assert.deepEqual([lines.ofRow(8), lines.ofSub(1), lines.at(7)], [-1, -1, -1]);
});
