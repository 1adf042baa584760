// A slow model of the flame graph's trees: call stacks in plain lists, and random ones.
import type { GroupColumns } from "../src/api.ts";
import { Texts } from "../src/columns.ts";
import { treeOf, pathTo, type Tree } from "../src/model/flame/tree.ts";

/** A call stack from the root down, and what was allocated there. */
export interface Stack {
  frames: number[];
  bytes: number;
}

/** A source of random integers below a bound: the same for the same seed. */
export function numbers(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Some call stacks with few different frames, so that they share much. Frames begin with 2. */
export function randomStacks(seed: number, most = 30): Stack[] {
  const next = numbers(seed);
  return Array.from({ length: 1 + next(most) }, () => ({
    frames: Array.from({ length: 1 + next(7) }, () => 2 + next(5)),
    bytes: 1 + next(1000),
  }));
}

/** The tree of call stacks. */
export function treeFrom(stacks: Stack[]): Tree {
  const nodes = [{ parent: -1, frame: -1, self: 0, total: 0, children: new Map<number, number>() }];
  for (const { frames, bytes } of stacks) {
    let at = 0;
    nodes[0]!.total += bytes;
    for (const frame of frames) {
      let child = nodes[at]!.children.get(frame);
      if (child === undefined) {
        child = nodes.length;
        nodes[at]!.children.set(frame, child);
        nodes.push({ parent: at, frame, self: 0, total: 0, children: new Map() });
      }
      at = child;
      nodes[at]!.total += bytes;
    }
    nodes[at]!.self += bytes;
  }
  return treeOf(
    {
      rows: nodes.length,
      parent: nodes.map((n) => n.parent),
      group: nodes.map((n) => n.frame),
      self: nodes.map((n) => n.self),
      total: nodes.map((n) => n.total),
      folded: nodes.map(() => 0),
    },
    Array.from({ length: 100 }, (_, i) => i),
  );
}

/** The totals of a tree by path. */
export function flat(tree: Tree): Map<string, number> {
  return new Map(Array.from(tree.parent, (_, i) => [`${pathTo(tree, i)}`, tree.total[i]!]));
}

/** The call stacks of a tree: those that end where a node has something itself. */
export function stacksOf(tree: Tree): Stack[] {
  const found: Stack[] = [];
  tree.self.forEach((bytes, i) => bytes > 0 && found.push({ frames: pathTo(tree, i), bytes }));
  return found;
}

/** The groups of an answer, of which only some fields matter. */
export function groups(
  rows: Partial<Record<"by" | "function" | "file" | "module" | "offset" | "kind", string>>[],
): GroupColumns {
  const texts: string[] = [];
  const column = (of: (row: (typeof rows)[number]) => string | undefined) =>
    new Texts(
      Int32Array.from(rows, (row) => texts.push(of(row) ?? "") - 1),
      texts,
    );
  const none = { row: new Int32Array(rows.length).fill(-1), of: { rows: 0, tid: [], min: [], max: [] } };
  const found: unknown = {
    rows: rows.length,
    by: column((row) => row.by ?? "function"),
    unknown: new Uint8Array(rows.length),
    function: column((row) => row.function),
    file: column((row) => row.file),
    line: new Float64Array(rows.length),
    module: column((row) => row.module),
    offset: column((row) => row.offset),
    inlined: new Uint8Array(rows.length),
    stack: undefined,
    thread: none,
    size: none,
    call: column(() => ""),
    region: column(() => ""),
    kind: column((row) => row.kind),
  };
  return found as GroupColumns;
}
