// Trees of the flame graph against a model that holds call stacks in plain objects.
import assert from "node:assert/strict";
import { test } from "node:test";
import { applyEdits, type NumberedEdits } from "../src/model/flame/edits.ts";
import { fold } from "../src/model/flame/fold.ts";
import { library, own, runFrame, start } from "../src/model/flame/frames.ts";
import { change, childrenOf, difference, graft, keysOf, nodeAt, pathTo, treeOf } from "../src/model/flame/tree.ts";
import { flat, numbers, randomStacks, stacksOf, treeFrom, type Stack } from "./flame-model.ts";

/** What a tree says about itself, by path: self, total and children that were left out. */
function rows(stacks: Stack[], edit: (frames: number[]) => number[] | undefined): Map<string, number> {
  const found = new Map<string, number>();
  for (const { frames, bytes } of stacks) {
    const path = edit(frames);
    if (path) {
      for (let i = 0; i <= path.length; i++) {
        const above = `${path.slice(0, i)}`;
        found.set(above, (found.get(above) ?? 0) + bytes);
      }
    }
  }
  return found;
}

test("a tree has the totals of its stacks, and each node is found by its path", () => {
  for (let seed = 1; seed <= 40; seed++) {
    const stacks = randomStacks(seed);
    const tree = treeFrom(stacks);
    assert.deepEqual(flat(tree), rows(stacks, (frames) => frames));
    assert.deepEqual(stacksOf(tree), stacksOf(treeFrom(stacksOf(tree))));
    const keys = keysOf(tree);
    assert.equal(new Set(keys).size, keys.length, "a key of its own for each node");
    for (let i = 0; i < keys.length; i++) {
      assert.equal(nodeAt(tree, pathTo(tree, i).map((f) => [f])), i);
      const { start, list } = childrenOf(tree);
      for (const child of list.subarray(start[i], start[i + 1])) assert.equal(tree.parent[child], i);
    }
  }
});

test("an answer whose nodes are not a tree is refused", () => {
  const nodes = { rows: 2, parent: [-1, 1], group: [-1, 0], self: [0, 1], total: [1, 1], folded: [0, 0] };
  assert.throws(() => treeOf(nodes, [2]), /parent/);
  const none = treeOf({ rows: 0, parent: [], group: [], self: [], total: [], folded: [] }, []);
  assert.deepEqual([none.parent.length, none.parent[0], none.total[0]], [1, -1, 0]);
});

test("merged nodes count for their callers, and dropped ones nowhere", () => {
  for (let seed = 1; seed <= 60; seed++) {
    const stacks = randomStacks(seed);
    const tree = treeFrom(stacks);
    const some = numbers(seed + 1000);
    const [merged, dropped] = [1, 2].map(() => 1 + some(tree.parent.length - 1));
    const [m, d] = [pathTo(tree, merged!), pathTo(tree, dropped!)];
    const begins = (frames: number[], path: number[]) => path.every((f, i) => frames[i] === f);
    const edits: NumberedEdits = {
      nodes: [
        { kind: "merge", path: m.map((f) => [f]) },
        { kind: "drop", path: d.map((f) => [f]) },
      ],
      frames: [],
    };
    const want = rows(stacks, (frames) => {
      if (begins(frames, d)) return undefined;
      return begins(frames, m) ? [...frames.slice(0, m.length - 1), ...frames.slice(m.length)] : frames;
    });
    const got = applyEdits(tree, edits);
    // Callers of what was dropped stay, with nothing.
    const all = flat(got.tree);
    for (const [path, bytes] of all) assert.equal(bytes, want.get(path) ?? 0, `seed ${seed}: ${path}`);
    for (const path of want.keys()) assert.ok(all.has(path), `seed ${seed}: ${path} is missing`);
    assert.equal(got.into.length, tree.parent.length);
  }
});

test("consecutive frames of a module are one, and recursion is collapsed", () => {
  const marked = (frame: number) => frame % 3 === 0;
  const marks = Uint8Array.from({ length: 32 }, (_, i) => (marked(i) ? 1 : 0));
  for (let seed = 1; seed <= 60; seed++) {
    const stacks = randomStacks(seed);
    const tree = treeFrom(stacks);
    const module = rows(stacks, (frames) =>
      frames.map((f) => (marked(f) ? 31 : f)).filter((f, i, all) => f !== 31 || all[i - 1] !== 31),
    );
    const collapsed = applyEdits(tree, { nodes: [], frames: [{ kind: "module", marks, becomes: 31 }] });
    assert.deepEqual(flat(collapsed.tree), module);

    const only5 = Uint8Array.from({ length: 32 }, (_, i) => (i === 5 ? 1 : 0));
    const recursion = rows(stacks, (frames) => {
      const [first, last] = [frames.indexOf(5), frames.lastIndexOf(5)];
      return first < 0 ? frames : [...frames.slice(0, first + 1), ...frames.slice(last + 1)];
    });
    const got = applyEdits(tree, { nodes: [], frames: [{ kind: "recursion", marks: only5, becomes: 0 }] }).tree;
    assert.deepEqual(flat(got), recursion);
  }
});

test("library frames that hang together become one, which counts their levels, and can be opened", () => {
  const kinds = Uint8Array.from({ length: 32 }, (_, i) => (i % 2 === 0 ? 1 : own));
  for (let seed = 1; seed <= 60; seed++) {
    const stacks = randomStacks(seed);
    const tree = treeFrom(stacks);
    const isOwn = (f: number) => kinds[f] === own;
    // The model: which runs, by their caller, have a single frame; the others become the frame of runs.
    const callers = new Map<string, Set<string>>();
    for (const { frames } of stacks) {
      frames.forEach((f, i) => {
        if (isOwn(f)) return;
        let from = i;
        while (from > 0 && !isOwn(frames[from - 1]!)) from--;
        const caller = `${frames.slice(0, from)}`;
        callers.set(caller, (callers.get(caller) ?? new Set()).add(`${frames.slice(from, i + 1)}`));
      });
    }
    const model = (closed: (caller: string) => boolean) => (frames: number[]) => {
      const path: number[] = [];
      let caller = "";
      frames.forEach((f, i) => {
        if (isOwn(f)) return path.push(f);
        if (i === 0 || isOwn(frames[i - 1]!)) caller = `${frames.slice(0, i)}`;
        if (callers.get(caller)!.size === 1 || !closed(caller)) return path.push(f);
        if (path.at(-1) !== runFrame) path.push(runFrame);
        return undefined;
      });
      return path;
    };
    const folded = fold(tree, kinds, new Set());
    assert.deepEqual(flat(folded.tree), rows(stacks, model(() => true)), `seed ${seed}`);
    const keys = keysOf(tree);
    for (let i = 0; i < folded.tree.parent.length; i++) {
      const isRun = folded.tree.frame[i] === runFrame;
      assert.equal(folded.within[i]! > 1 || folded.run[i] !== 0, isRun, `seed ${seed}: ${i}`);
      if (!isRun) continue;
      const opened = folded.run[i]!;
      const caller = `${pathTo(tree, keys.indexOf(opened))}`;
      const got = fold(tree, kinds, new Set([opened])).tree;
      assert.deepEqual(flat(got), rows(stacks, model((c) => c !== caller)), `seed ${seed}: opened below ${caller}`);
    }
  }
});

test("what runs before main is not shown, and counts for its callers", () => {
  const [_start, early, main, new_, f] = [10, 11, 12, 13, 14];
  const kinds = new Uint8Array(20).fill(own);
  kinds[_start] = start;
  kinds[early] = kinds[new_] = library;
  const tree = treeFrom([
    { frames: [_start, _start, main, new_, f], bytes: 5 },
    { frames: [_start, early, new_], bytes: 3 },
    { frames: [_start], bytes: 1 },
  ]);
  const folded = fold(tree, kinds, new Set());
  const below = [[`${main},${new_}`, 5], [`${main},${new_},${f}`, 5]] as const;
  const want = [["", 9], [`${main}`, 5], ...below, [`${runFrame}`, 3]] as const;
  assert.deepEqual(flat(folded.tree), new Map(want));
  assert.equal(folded.within[folded.tree.frame.indexOf(runFrame)], 2);
});

test("a difference has both totals of each path, and is as wide as the larger side", () => {
  for (let seed = 1; seed <= 40; seed++) {
    const [a, b] = [randomStacks(seed), randomStacks(seed + 500)];
    const tree = difference(treeFrom(a), treeFrom(b));
    const [before, after] = [rows(a, (f) => f), rows(b, (f) => f)];
    const selves = (stacks: Stack[]) => new Map(stacks.map(({ frames, bytes }) => [`${frames}`, bytes]));
    const [selfA, selfB] = [selves(stacksOf(treeFrom(a))), selves(stacksOf(treeFrom(b)))];
    let nodes = 0;
    for (let i = 0; i < tree.parent.length; i++) {
      const path = `${pathTo(tree, i)}`;
      assert.equal(tree.second![i], before.get(path) ?? 0);
      assert.equal(tree.total[i], after.get(path) ?? 0);
      let larger = 0;
      for (const key of new Set([...selfA.keys(), ...selfB.keys()])) {
        if (key !== path && path !== "" && !key.startsWith(`${path},`)) continue;
        larger += Math.max(selfB.get(key) ?? 0, selfA.get(key) ?? 0);
      }
      assert.equal(tree.weight[i], larger, `seed ${seed}: ${path}`);
      nodes++;
    }
    assert.equal(nodes, new Set([...before.keys(), ...after.keys()]).size);
  }
});

test("what arrives later takes the place of what was known of a node", () => {
  for (let seed = 1; seed <= 40; seed++) {
    const stacks = randomStacks(seed);
    const complete = treeFrom(stacks);
    const node = 1 + numbers(seed)(complete.parent.length - 1);
    const path = pathTo(complete, node);
    // Known of it: nothing but its total. Sent later: all below it.
    const known = treeFrom(stacks.map(({ frames, bytes }) => ({ frames: cut(frames, path), bytes })));
    const later = treeFrom(
      stacks
        .filter(({ frames }) => path.every((f, i) => frames[i] === f))
        .map(({ frames, bytes }) => ({ frames: frames.slice(path.length), bytes })),
    );
    const got = graft(known, nodeAt(known, path.map((f) => [f])), later);
    assert.deepEqual(flat(got), flat(complete), `seed ${seed}`);
    for (let i = 1; i < got.parent.length; i++) assert.ok(got.parent[i]! < i);
  }
});

function cut(frames: number[], path: number[]): number[] {
  return path.every((f, i) => frames[i] === f) ? frames.slice(0, path.length) : frames;
}

test("the earliest of merged nodes says when they were first called", () => {
  const nodes = {
    rows: 4, parent: [-1, 0, 1, 0], group: [-1, 0, 1, 1], self: [0, 1, 1, 1], total: [3, 2, 1, 1],
    folded: [0, 0, 0, 0], first: [0, 1, 9, 4],
  };
  const tree = treeOf(nodes, [7, 8]);
  const { tree: merged } = change(tree, (node) => (node === 1 ? -2 : -1));
  assert.deepEqual([...merged.frame], [0, 8]);
  assert.deepEqual([...merged.first!], [0, 4]);
  assert.deepEqual([...merged.total], [3, 2]);
});
