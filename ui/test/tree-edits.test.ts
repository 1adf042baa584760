import assert from "node:assert/strict";
import { test } from "node:test";
import type { NodeColumns } from "../src/api.ts";
import { applyEdits, formatEdit, numbered, type Edit } from "../src/model/flame/edits.ts";
import { Frames } from "../src/model/flame/frames.ts";
import { pathTo, type Tree } from "../src/model/flame/tree.ts";
import { Outline, pathOf, treeOf, type TreeNode } from "../src/model/outline.ts";
import { editedTree } from "../src/model/tree-edits.ts";
import { groups, numbers, randomStacks, treeFrom } from "./flame-model.ts";

const rows = Array.from({ length: 7 }, (_, i) => ({ function: `f${i}`, module: i % 2 ? "/a.so" : "/b.so" }));
const adds = [true];

/** The nodes of a tree of the flame graph, as the page of rows has them. Its frames begin with 2. */
function nodesOf(tree: Tree, metrics: readonly string[] = ["peak"]): TreeNode {
  const each = (values: Float64Array) => Object.fromEntries(metrics.map((name) => [name, values]));
  const nodes: NodeColumns = {
    rows: tree.parent.length, parent: Float64Array.from(tree.parent), total: each(tree.total), self: each(tree.self),
    folded: Float64Array.from(tree.folded), first: new Float64Array(tree.parent.length),
    group: { row: Int32Array.from(tree.frame, (frame, i) => (i === 0 ? -1 : frame - 2)), of: groups(rows) },
  };
  return treeOf(nodes, metrics);
}

/** The totals and selves of a tree by path; frames by module where several became one. */
function flat(root: TreeNode): Map<string, string> {
  const found = new Map<string, string>();
  const todo = [root];
  for (let node = todo.pop(); node; node = todo.pop()) {
    found.set(pathOf(node).map((text) => text.split(" ")[0]).join(";"), `${node.total[0]} ${node.self[0]}`);
    todo.push(...node.children);
  }
  return found;
}

test("random edits change the rows of a tree as they change the flame graph", () => {
  let changed = 0;
  for (let seed = 1; seed <= 150; seed++) {
    const next = numbers(seed);
    const tree = treeFrom(randomStacks(seed));
    const frames = new Frames();
    frames.number(groups(rows));
    const edits = Array.from({ length: 1 + next(3) }, (): Edit => {
      const path = pathTo(tree, 1 + next(tree.parent.length - 1)).map((f) => frames.functions[f] ?? "");
      const kind = (["merge", "drop", "recursion", "module"] as const)[next(4)] ?? "drop";
      if (kind === "recursion") return { kind, of: `f${next(5)}` };
      return kind === "module" ? { kind, of: "/a.so" } : { kind, path };
    });
    const want = applyEdits(tree, numbered(edits, frames, [])).tree;
    const named = (f: number) => (frames.functions[f] || frames.modules[f]) ?? "";
    const expected = new Map(
      Array.from(want.parent, (_, i) => [pathTo(want, i).map(named).join(";"), `${want.total[i]} ${want.self[i]}`]),
    );
    const given = { parts: new Map(), collapse: edits.map(formatEdit), below: [], adds };
    const { root, sources } = editedTree(nodesOf(tree), given);
    assert.deepEqual(new Map([...flat(root)].sort()), new Map([...expected].sort()), JSON.stringify(edits));
    for (const [node, list] of sources) assert.ok(list.length > 0, pathOf(node).join(";"));
    if (want.parent.length !== tree.parent.length) changed++;
  }
  assert.ok(changed > 100, `${changed} trees changed`);
});

test("nodes that stay keep their keys; nothing is made up for metrics that do not add up", () => {
  const tree = treeFrom([
    { frames: [2, 3, 4], bytes: 5 },
    { frames: [2, 4], bytes: 3 },
    { frames: [5], bytes: 1 },
  ]);
  const before = nodesOf(tree, ["peak", "max-size"]);
  const given = { parts: new Map(), collapse: ["merge f0;f1"], below: [], adds: [true, false] };
  const { root, sources } = editedTree(before, given);
  const [f0, f3] = root.children;
  assert.deepEqual(root.children.map(({ key }) => key), before.children.map(({ key }) => key));
  assert.deepEqual([f0?.total, f3?.total], [[8, NaN], [1, 1]]);
  const [f2] = f0?.children ?? [];
  assert.ok(f2);
  assert.deepEqual(f2.total, [8, NaN]);
  const paths = (sources.get(f2) ?? []).map((node) => pathOf(node).map((text) => text.split(" ")[0]).join(";"));
  assert.deepEqual(paths, ["f0;f1;f2", "f0;f2"], "the largest first");
});

test("what was asked for later is edited, too, and what is missing is counted", () => {
  const tree = treeFrom([{ frames: [2, 3], bytes: 5 }]);
  tree.folded[2] = 4;
  const before = nodesOf(tree);
  const late = before.children[0]?.children[0];
  assert.ok(late);
  const part: TreeNode = { ...late, folded: 0, children: [] };
  const below = nodesOf(treeFrom([{ frames: [3, 4], bytes: 5 }])).children[0]?.children[0];
  assert.ok(below);
  part.children.push({ ...below, parent: part });
  const edit = (parts: Map<number, TreeNode>) => {
    const { root } = editedTree(before, { parts, collapse: ["merge f0;f1"], below: [], adds });
    return [root.children[0]?.folded, [...flat(root).keys()]];
  };
  assert.deepEqual(edit(new Map()), [4, ["", "f0"]]);
  assert.deepEqual(edit(new Map([[late.key, part]])), [0, ["", "f0", "f0;f2"]]);
});

test("a collapsed library is shown, whatever is folded", () => {
  const tree = treeFrom([{ frames: [2, 3, 5, 4], bytes: 5 }]);
  const collapse = ["module /a.so"];
  const { root } = editedTree(nodesOf(tree), { parts: new Map(), collapse, below: [], adds });
  const names = new Outline(root, { open: { has: () => true } as unknown as Set<number>, parts: new Map(), fold: true })
    .lines().map(({ node }) => node.group?.name);
  assert.deepEqual(names, ["f0", "a.so", "f2"]);
});

test("5,000 levels and 20,000 nodes are edited", () => {
  const deep = Array.from({ length: 5000 }, (_, i) => 2 + (i % 5));
  const wide = Array.from({ length: 15_000 }, (_, i) => ({ frames: [2, 3, 4, 5, 6].slice(0, 1 + (i % 5)), bytes: 1 }));
  const { root } = editedTree(nodesOf(treeFrom([{ frames: deep, bytes: 9 }, ...wide])), {
    parts: new Map(), collapse: ["recursion f0"], below: [], adds,
  });
  assert.equal(root.total[0], 15_009);
  assert.equal(flat(root).size, 6, "five frames and the root are left");
});
