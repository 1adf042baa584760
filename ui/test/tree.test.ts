import assert from "node:assert/strict";
import { test } from "node:test";
import { rows, type Node } from "../src/model/tree.ts";

/** Reads "a b<a c<b" as nodes, and writes rows as "a .b ..c". */
function walk(text: string): string {
  const nodes = text
    .split(" ")
    .filter((word) => word !== "")
    .map((word): Node => {
      const [id = "", parent] = word.split("<");
      return { id, parent };
    });
  return rows(nodes)
    .map(({ node, depth }) => ".".repeat(depth) + node.id)
    .join(" ");
}

test("parents come before their children", () => {
  for (const [nodes, want] of [
    ["", ""],
    ["a", "a"],
    ["a b<a c<b d<a e", "a .b ..c .d e"],
    ["c<b b<a a", "a .b ..c"],
    ["b<gone c<b", "b .c"],
    ["a<a", "a"],
    ["a<b b<a c", "c a .b"],
    ["b<a a<b c<a", "b .a ..c"],
  ] as const) {
    assert.equal(walk(nodes), want, nodes);
  }
});

test("a deep tree needs no recursion", () => {
  const deep = Array.from({ length: 50_000 }, (_, i): Node => ({ id: `${i}`, parent: i > 0 ? `${i - 1}` : undefined }));
  assert.equal(rows(deep).at(-1)?.depth, 49_999);
});
