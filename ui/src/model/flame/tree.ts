// A call tree as columns, and what makes other trees of it. Nothing here knows a name: frames are numbers, so that all
// of it runs in the worker. Nodes are numbered so that parents come before their children; 0 is the root.
import { rootFrame } from "./frames.ts";

export interface Tree {
  readonly parent: Int32Array; // -1: of the root
  readonly frame: Int32Array;
  readonly self: Float64Array;
  readonly total: Float64Array;
  /** How wide a node is, beside its siblings: its total, or in a difference what the larger side has. */
  readonly weight: Float64Array;
  /** The number of children that the server left out; they count in the total. */
  readonly folded: Int32Array;
  /**
   * Numbers that add up as the totals do: of a difference, the totals of the first range (those of the second are in
   * `total`); for a colour by age, the totals times the mean lifetimes.
   */
  readonly second?: Float64Array;
  /** When a node was first called, as a number that grows with time; not of a difference. */
  readonly first?: Float64Array;
}

/** The columns of an answer that make a tree. */
export interface NodeLists {
  rows: number;
  parent: ArrayLike<number>;
  group: ArrayLike<number>;
  self: ArrayLike<number>;
  total: ArrayLike<number>;
  folded: ArrayLike<number>;
  first?: ArrayLike<number> | undefined;
  /** What the totals are multiplied with for `second`. */
  mean?: ArrayLike<number> | undefined;
}

/** The tree of an answer. `frames` has the number of each group. An answer without a tree's order is refused. */
export function treeOf(nodes: NodeLists, frames: ArrayLike<number>): Tree {
  const count = nodes.rows;
  const tree = empty(Math.max(1, count), nodes.first !== undefined, nodes.mean !== undefined);
  for (let i = 0; i < count; i++) {
    const parent = i === 0 ? -1 : (nodes.parent[i] ?? -1);
    if (i > 0 && (parent < 0 || parent >= i)) throw new TypeError(`node ${i} has the parent ${parent}`);
    tree.parent[i] = parent;
    tree.frame[i] = i === 0 ? rootFrame : (frames[nodes.group[i] ?? -1] ?? rootFrame);
    tree.self[i] = nodes.self[i] || 0;
    tree.total[i] = nodes.total[i] || 0;
    tree.weight[i] = Math.max(0, nodes.total[i] || 0);
    tree.folded[i] = nodes.folded[i] || 0;
    if (tree.first) tree.first[i] = nodes.first?.[i] || 0;
    if (tree.second) tree.second[i] = tree.weight[i]! * (nodes.mean?.[i] || 0);
  }
  if (count === 0) tree.parent[0] = -1;
  return tree;
}

function empty(count: number, first: boolean, second = false): Tree {
  return {
    parent: new Int32Array(count),
    frame: new Int32Array(count),
    self: new Float64Array(count),
    total: new Float64Array(count),
    weight: new Float64Array(count),
    folded: new Int32Array(count),
    ...(first && { first: new Float64Array(count) }),
    ...(second && { second: new Float64Array(count) }),
  };
}

/** Where the children of each node are: those of node n are list[start[n]] to list[start[n + 1] - 1]. */
export interface Children {
  readonly start: Int32Array;
  readonly list: Int32Array;
}

export function childrenOf({ parent }: Pick<Tree, "parent">): Children {
  const count = parent.length;
  const start = new Int32Array(count + 1);
  for (let i = 1; i < count; i++) start[parent[i]! + 1]!++;
  for (let i = 1; i <= count; i++) start[i]! += start[i - 1]!;
  const next = start.slice();
  const list = new Int32Array(Math.max(0, count - 1));
  for (let i = 1; i < count; i++) list[next[parent[i]!]!++] = i;
  return { start, list };
}

/**
 * A number for each node that says by which frames it is reached: the same in every tree of the page, so that what is
 * zoomed, picked or opened is found again in the next answer.
 */
export function keysOf({ parent, frame }: Pick<Tree, "parent" | "frame">): Float64Array {
  const count = parent.length;
  const keys = new Float64Array(count);
  const [high, low] = [new Int32Array(count), new Int32Array(count)];
  for (let i = 0; i < count; i++) {
    const from = i === 0 ? 0 : parent[i]!;
    const f = frame[i]!;
    high[i] = mix((i === 0 ? 0x2545f491 : high[from]!) ^ Math.imul(f + 1, 0x9e3779b1));
    low[i] = mix((i === 0 ? 0x68e31da4 : low[from]!) + Math.imul(f + 1, 0x85ebca6b));
    keys[i] = (high[i]! >>> 11) * 2 ** 32 + (low[i]! >>> 0);
  }
  return keys;
}

function mix(n: number): number {
  n = Math.imul(n ^ (n >>> 16), 0x7feb352d);
  n = Math.imul(n ^ (n >>> 15), 0x846ca68b);
  return n ^ (n >>> 16);
}

/** The frames from the root, which is left out, to a node. */
export function pathTo({ parent, frame }: Pick<Tree, "parent" | "frame">, node: number): number[] {
  const path: number[] = [];
  for (let at = node; at > 0; at = parent[at]!) path.push(frame[at]!);
  return path.reverse();
}

/** The node to which a path of frames leads from the root, or -1. Each step may be one of several frames. */
export function nodeAt(tree: Tree, path: readonly (readonly number[])[]): number {
  if (path.length === 0) return 0;
  const { start, list } = childrenOf(tree);
  let at = 0;
  for (const frames of path) {
    let best = -1;
    for (let i = start[at]!; i < start[at + 1]!; i++) {
      const child = list[i]!;
      if (!frames.includes(tree.frame[child]!)) continue;
      if (best < 0 || tree.total[child]! > tree.total[best]!) best = child;
    }
    if (best < 0) return -1;
    at = best;
  }
  return at;
}

/** What becomes of a node: it stays, counts for its caller, is dropped with all below, or becomes another frame. */
export const keep = -1;
export const merge = -2;
export const drop = -3;
/** It counts for a node above it. */
export const into = (node: number): number => -4 - node;

/** A tree that was made of another: which of its nodes each node of that one counts for (-1: it was dropped). */
export interface Changed {
  tree: Tree;
  into: Int32Array;
}

/**
 * Changes a tree. `decide` says of each node what becomes of it: keep, merge, drop, or the frame that it becomes; it is
 * asked for callers before what they call, and told the frame of the node that the caller went into. Siblings with
 * equal frames become one. Totals stay sums: what is dropped is missing everywhere above.
 */
export function change(tree: Tree, decide: (node: number, callersFrame: number) => number): Changed {
  const count = tree.parent.length;
  const made = new Builder(count, tree.first !== undefined, tree.second !== undefined);
  const out = made.tree;
  const became = new Int32Array(count).fill(-1);
  const rest = restOf(tree, tree.total);
  const restWeight = tree.weight === tree.total ? rest : restOf(tree, tree.weight);
  const restSecond = tree.second && restOf(tree, tree.second);
  for (let i = 0; i < count; i++) {
    let at = 0;
    if (i > 0) {
      const caller = became[tree.parent[i]!]!;
      const what = caller < 0 ? drop : decide(i, out.frame[caller]!);
      if (what === drop) continue;
      if (what === merge) at = caller;
      else if (what < drop) at = became[into(what)]!;
      else at = made.child(caller, what === keep ? tree.frame[i]! : what);
    }
    became[i] = at;
    out.self[at]! += tree.self[i]!;
    out.total[at]! += rest[i]!;
    out.weight[at]! += restWeight[i]!;
    out.folded[at]! += tree.folded[i]!;
    if (out.second && restSecond) out.second[at]! += restSecond[i]!;
    if (out.first && tree.first) out.first[at] = Math.min(out.first[at]!, tree.first[i]!);
  }
  return { tree: made.finish(), into: became };
}

/** What nodes have beside their children: their selves, and what the server left out. */
export function restOf({ parent }: Tree, of: Float64Array): Float64Array {
  const rest = of.slice();
  for (let i = 1; i < parent.length; i++) rest[parent[i]!]! -= of[i]!;
  return rest;
}

/** Puts a tree together of nodes that are found by their callers and frames. */
class Builder {
  readonly tree: Tree;
  size = 1;
  readonly #known = new Map<number, number>();

  constructor(most: number, first: boolean, second: boolean) {
    this.tree = empty(most, first, second);
    this.tree.first?.fill(Infinity);
    this.tree.parent[0] = -1;
    this.tree.frame[0] = rootFrame;
  }

  /** The node below a caller with a frame; a new one, if there is none. Nodes and frames are far below 2^26. */
  child(caller: number, frame: number): number {
    const key = caller * 2 ** 26 + frame;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    this.#known.set(key, this.size);
    this.tree.parent[this.size] = caller;
    this.tree.frame[this.size] = frame;
    return this.size++;
  }

  /** The tree, once its nodes have what they have beside their children: sums that up. */
  finish(): Tree {
    const { tree, size } = this;
    const { first, second } = tree;
    const cut: Tree = {
      parent: tree.parent.slice(0, size),
      frame: tree.frame.slice(0, size),
      self: tree.self.slice(0, size),
      total: tree.total.slice(0, size),
      weight: tree.weight.slice(0, size),
      folded: tree.folded.slice(0, size),
      ...(first && { first: first.slice(0, size) }),
      ...(second && { second: second.slice(0, size) }),
    };
    for (let i = size - 1; i > 0; i--) {
      const p = cut.parent[i]!;
      cut.total[p]! += cut.total[i]!;
      cut.weight[p]! += cut.weight[i]!;
      if (cut.second) cut.second[p]! += cut.second[i]!;
    }
    return cut;
  }
}

/**
 * The difference of two trees: each path that either has. A node is as wide as the larger side: the sum, over it and
 * all below, of what either had more of. So what is new and what is gone have a place beside what stayed.
 */
export function difference(before: Tree, after: Tree): Tree {
  const made = new Builder(before.parent.length + after.parent.length, false, true);
  const { tree } = made;
  const add = (of: Tree, into: Float64Array) => {
    const rest = restOf(of, of.total);
    const nodes = new Int32Array(of.parent.length);
    for (let i = 0; i < nodes.length; i++) {
      const at = i === 0 ? 0 : made.child(nodes[of.parent[i]!]!, of.frame[i]!);
      nodes[i] = at;
      into[at]! += rest[i]!;
      if (of === after) tree.self[at]! += of.self[i]!;
      tree.folded[at] = Math.max(tree.folded[at]!, of.folded[i]!);
    }
  };
  add(before, tree.second!);
  add(after, tree.total);
  for (let i = 0; i < made.size; i++) tree.weight[i] = Math.max(tree.total[i]!, tree.second![i]!);
  return made.finish();
}

/** A tree with what is below a node, which the server has sent later, instead of what was known of it. */
export function graft(tree: Tree, node: number, below: Tree): Tree {
  const count = tree.parent.length;
  const number = new Int32Array(count).fill(-1); // of the nodes that stay
  let size = 0;
  for (let i = 0; i < count; i++) {
    const p = tree.parent[i]!;
    if (i === 0 || (p !== node && number[p]! >= 0)) number[i] = size++;
  }
  const first = tree.first !== undefined && below.first !== undefined;
  const second = tree.second !== undefined && below.second !== undefined;
  const out = empty(size + below.parent.length - 1, first, second);
  const copy = (of: Tree, i: number, at: number, parent: number) => {
    out.parent[at] = parent;
    out.frame[at] = of.frame[i]!;
    out.self[at] = of.self[i]!;
    out.total[at] = of.total[i]!;
    out.weight[at] = of.weight[i]!;
    out.folded[at] = of.folded[i]!;
    if (out.first && of.first) out.first[at] = of.first[i]!;
    if (out.second && of.second) out.second[at] = of.second[i]!;
  };
  for (let i = 0; i < count; i++) {
    if (number[i]! >= 0) copy(tree, i, number[i]!, i === 0 ? -1 : number[tree.parent[i]!]!);
  }
  const root = number[node]!;
  out.folded[root] = below.folded[0]!;
  for (let i = 1; i < below.parent.length; i++) {
    const p = below.parent[i]!;
    copy(below, i, size + i - 1, p === 0 ? root : size + p - 1);
  }
  return out;
}
