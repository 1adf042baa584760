// Where each frame is. A box is a frame in the picture; boxes are sorted by row and, in a row, from left to right.
// Their ends are shares of the root's width, so the same layout serves every zoom.
import { childrenOf, keysOf, type Tree } from "./tree.ts";

/**
 * The order of siblings. `keep`: where they were in the picture before, so that nothing changes its place while a
 * range is dragged; new ones come last.
 */
export type Order = "size" | "keep" | "time";

export interface Layout {
  /** The first box of each row; one more entry than there are rows. */
  readonly rowStart: Int32Array;
  /** By box: its node, and where it begins and ends. */
  readonly node: Int32Array;
  readonly left: Float64Array;
  readonly right: Float64Array;
  /** By node: its box, and its name across trees. */
  readonly box: Int32Array;
  readonly key: Float64Array;
  /** The sums of the weights of all boxes before a box: what any number of neighbours have together. */
  readonly sums: Float64Array;
  /**
   * For each box, how wide it is or how far from the box to its left, whichever is more; then the maxima of each 16
   * of these, and so on. It finds the next box that is large enough to be seen in a few steps.
   */
  readonly reach: readonly Float64Array[];
}

const fanout = 16;

/** Where siblings were: by key of the node, a number that grows from left to right. */
export type Places = Map<number, number>;

export function layOut(tree: Tree, order: Order, places: Places = new Map()): Layout {
  const count = tree.parent.length;
  const key = keysOf(tree);
  const children = childrenOf(tree);
  sortSiblings(tree, key, children.start, children.list, order, places);

  const level = new Int32Array(count);
  let rows = 1;
  for (let i = 1; i < count; i++) {
    level[i] = level[tree.parent[i]!]! + 1;
    if (level[i]! >= rows) rows = level[i]! + 1;
  }
  const rowStart = new Int32Array(rows + 1);
  for (let i = 0; i < count; i++) rowStart[level[i]! + 1]!++;
  for (let i = 1; i <= rows; i++) rowStart[i]! += rowStart[i - 1]!;

  const node = new Int32Array(count);
  const left = new Float64Array(count);
  const right = new Float64Array(count);
  const box = new Int32Array(count);
  node[0] = 0;
  right[0] = 1;
  // Row by row: the boxes of a row are the children of the boxes of the one above, in their order.
  let next = 1;
  for (let b = 0; b < count; b++) {
    const n = node[b]!;
    const [from, to] = [children.start[n]!, children.start[n + 1]!];
    if (from === to) continue;
    let sum = 0;
    for (let i = from; i < to; i++) sum += positive(tree.weight[children.list[i]!]!);
    // Own peaks of children are more than that of their caller together; frames stay within it all the same.
    const all = Math.max(sum, positive(tree.weight[n]!));
    const scale = all > 0 ? (right[b]! - left[b]!) / all : 0;
    let at = 0;
    for (let i = from; i < to; i++) {
      const child = children.list[i]!;
      node[next] = child;
      box[child] = next;
      left[next] = left[b]! + at * scale;
      at += positive(tree.weight[child]!);
      right[next] = Math.min(right[b]!, left[b]! + at * scale);
      next++;
    }
  }
  const sums = new Float64Array(count + 1);
  for (let b = 0; b < count; b++) sums[b + 1] = sums[b]! + tree.total[node[b]!]!;
  return { rowStart, node, left, right, box, key, sums, reach: reachOf(rowStart, left, right) };
}

function positive(weight: number): number {
  return weight > 0 ? weight : 0;
}

function sortSiblings(
  tree: Tree,
  key: Float64Array,
  start: Int32Array,
  list: Int32Array,
  order: Order,
  places: Places,
): void {
  const { weight, frame, first } = tree;
  const bySize = (a: number, b: number) => weight[b]! - weight[a]! || frame[a]! - frame[b]!;
  const byTime = (a: number, b: number) => first![a]! - first![b]! || frame[a]! - frame[b]!;
  const place = new Float64Array(order === "keep" ? key.length : 0);
  for (let i = 0; i < place.length; i++) place[i] = places.get(key[i]!) ?? Infinity;
  const byPlace = (a: number, b: number) =>
    place[a] === place[b] ? frame[a]! - frame[b]! : place[a]! < place[b]! ? -1 : 1;
  const compare = order === "time" && first ? byTime : order === "keep" ? byPlace : bySize;
  for (let n = 0; n + 1 < start.length; n++) {
    const [from, to] = [start[n]!, start[n + 1]!];
    let sorted = true;
    for (let i = from + 1; i < to && sorted; i++) sorted = compare(list[i - 1]!, list[i]!) <= 0;
    if (!sorted) list.subarray(from, to).sort(compare);
  }
}

/** Notes where nodes are: their keys, in the order of the picture. With `anew`, what was known is forgotten. */
export function notePlaces(places: Places, order: Float64Array, anew: boolean): void {
  if (anew) places.clear();
  for (const key of order) if (!places.has(key)) places.set(key, places.size);
}

function reachOf(rowStart: Int32Array, left: Float64Array, right: Float64Array): Float64Array[] {
  const reach = new Float64Array(left.length);
  for (let b = 0; b < reach.length; b++) {
    reach[b] = Math.max(right[b]! - left[b]!, b === 0 ? 0 : left[b]! - right[b - 1]!);
  }
  for (const first of rowStart) if (first < reach.length) reach[first] = Infinity;
  const levels = [reach];
  for (let below = reach; below.length > 1; ) {
    const level = new Float64Array(Math.ceil(below.length / fanout));
    for (let i = 0; i < below.length; i++) {
      const at = Math.floor(i / fanout);
      if (below[i]! > level[at]!) level[at] = below[i]!;
    }
    levels.push((below = level));
  }
  return levels;
}

/** The first box from a number on that reaches at least so far, but at most `end`. */
export function nextReaching({ reach }: Layout, from: number, end: number, least: number): number {
  let at = from;
  let level = 0;
  while (at < end) {
    // Up, as long as whole blocks can be skipped; then down to the box.
    const value = reach[level]?.[Math.floor(at / fanout ** level)] ?? Infinity;
    if (value >= least) {
      if (level === 0) return at;
      level--;
      continue;
    }
    at = (Math.floor(at / fanout ** level) + 1) * fanout ** level;
    while (level + 1 < reach.length && at % fanout ** (level + 1) === 0) level++;
  }
  return end;
}

/** The first box of a row that ends to the right of a place; the end of the row, if none does. */
export function boxAt({ rowStart, right }: Layout, row: number, place: number): number {
  let low = rowStart[row] ?? right.length;
  let high = rowStart[row + 1] ?? right.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (right[middle]! > place) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The row of a box. */
export function rowOf({ rowStart }: Layout, box: number): number {
  let [low, high] = [0, rowStart.length - 1];
  while (low + 1 < high) {
    const middle = (low + high) >>> 1;
    if (rowStart[middle]! <= box) low = middle;
    else high = middle;
  }
  return low;
}

/** What of the layout is seen: from `left` to `right`, as shares of the root, over so many pixels. */
export interface Window {
  left: number;
  right: number;
  pixels: number;
}

/**
 * Calls `draw` for what a row shows: boxes of at least half a pixel one by one, and neighbours that are smaller as one.
 * These end where a gap of half a pixel is, so no more is drawn than there is room for, however many boxes there are.
 */
export function visitRow(
  layout: Layout,
  row: number,
  window: Window,
  draw: (from: number, to: number, left: number, right: number) => void,
): void {
  const end = layout.rowStart[row + 1] ?? 0;
  const scale = window.pixels / (window.right - window.left);
  const least = 0.5 / scale;
  const { left, right } = layout;
  let at = boxAt(layout, row, window.left);
  while (at < end && left[at]! < window.right) {
    const to = right[at]! - left[at]! >= least ? at + 1 : nextReaching(layout, at + 1, end, least);
    draw(at, to, (left[at]! - window.left) * scale, (right[to - 1]! - window.left) * scale);
    at = to;
  }
}
