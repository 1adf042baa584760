// How keys move from frame to frame.
import { childrenOf, type Children, type Tree } from "./tree.ts";
import { rowOf, type Layout } from "./layout.ts";

export type Step = "caller" | "callee" | "left" | "right" | "first" | "last" | "root";

const known = new WeakMap<Tree, Children>();

/** The box that a step leads to from a box; the same box, if there is none. */
export function step(tree: Tree, layout: Layout, from: number, to: Step): number {
  const row = rowOf(layout, from);
  const [start, end] = [layout.rowStart[row]!, layout.rowStart[row + 1]!];
  switch (to) {
    case "root":
      return 0;
    case "caller": {
      const parent = tree.parent[layout.node[from]!]!;
      return parent < 0 ? from : layout.box[parent]!;
    }
    case "callee":
      return widestChild(tree, layout, from);
    case "left":
      return Math.max(start, from - 1);
    case "right":
      return Math.min(end - 1, from + 1);
    case "first":
      return start;
    case "last":
      return end - 1;
  }
}

function widestChild(tree: Tree, { node, box }: Layout, from: number): number {
  const children = known.get(tree) ?? childrenOf(tree);
  known.set(tree, children);
  let best = -1;
  const n = node[from]!;
  for (let i = children.start[n]!; i < children.start[n + 1]!; i++) {
    const child = children.list[i]!;
    if (best < 0 || tree.weight[child]! > tree.weight[best]!) best = child;
  }
  return best < 0 ? from : box[best]!;
}

/** The next match after a box, or before it; from the end it goes on at the beginning. -1: there is none. */
export function nextMatch(boxes: Int32Array, from: number, forward: boolean): number {
  if (boxes.length === 0) return -1;
  let [low, high] = [0, boxes.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (boxes[middle]! < from + (forward ? 1 : 0)) low = middle + 1;
    else high = middle;
  }
  const at = forward ? low % boxes.length : (low + boxes.length - 1) % boxes.length;
  return boxes[at]!;
}
