// Which part of the picture is seen, and how that changes: zooming, panning, and what happens when another answer
// arrives while the reader looks at a part.
import { boxAt, rowOf, visitRow, type Layout } from "./layout.ts";

/** The part that is seen: from `left` to `right`, as shares of the root's width, and from a number of pixels down. */
export interface View {
  left: number;
  right: number;
  top: number;
}

export const whole: View = { left: 0, right: 1, top: 0 };

/** No smaller share can be zoomed to: below, the numbers of the layout have too few digits. */
const smallest = 1e-11;

/** A view within the picture. `rows` and `height` are pixels: of all rows, and of what is seen. */
export function clamp(view: View, rows: number, height: number): View {
  const span = Math.min(1, Math.max(smallest, view.right - view.left));
  const left = Math.min(1 - span, Math.max(0, view.left));
  return { left, right: left + span, top: Math.max(0, Math.min(view.top, rows - height)) };
}

/** Zooms by a factor, so that what is at a place (a share of the window's width) stays there. */
export function zoomAt(view: View, factor: number, place: number): View {
  const span = view.right - view.left;
  const next = Math.min(1, Math.max(smallest, span * factor));
  const left = view.left + place * (span - next);
  return { left, right: left + next, top: view.top };
}

/** A place on the picture, in pixels. */
export interface Point {
  x: number;
  y: number;
}

/** The view when two fingers have moved: as much nearer as they are farther apart; what was between them still is. */
export function pinched(
  view: View,
  width: number,
  [a, b]: readonly [Point, Point],
  [c, d]: readonly [Point, Point],
  upwards: boolean,
): View {
  const apart = (one: Point, other: Point) => Math.max(10, Math.hypot(one.x - other.x, one.y - other.y));
  const from = (a.x + b.x) / 2 / width;
  const to = (c.x + d.x) / 2 / width;
  const down = (a.y + b.y - c.y - d.y) / 2;
  const next = zoomAt(view, apart(a, b) / apart(c, d), from);
  return pan(next, from - to, upwards ? -down : down);
}

export function pan(view: View, share: number, down: number): View {
  const by = share * (view.right - view.left);
  return { left: view.left + by, right: view.right + by, top: view.top + down };
}

/** The view of a box and what is below it, with the rows above it in sight. */
export function zoomTo(layout: Layout, box: number, rowHeight: number): View {
  const top = Math.max(0, rowOf(layout, box) - 2) * rowHeight;
  return { left: layout.left[box]!, right: layout.right[box]!, top };
}

/** Between two views: the edges move so that the zoom is steady, not the speed. `t` is from 0 to 1. */
export function between(a: View, b: View, t: number): View {
  const s = t * (2 - t);
  const [spanA, spanB] = [a.right - a.left, b.right - b.left];
  const span = spanA * (spanB / spanA) ** s;
  // The point that stays where it is while the one becomes the other.
  const share = Math.abs(spanA - spanB) < 1e-15 ? s : (spanA - span) / (spanA - spanB);
  const left = a.left + share * (b.left - a.left);
  return { left, right: left + span, top: a.top + s * (b.top - a.top) };
}

/** The innermost box that is as wide as the window, or wider. What is seen is below it. */
export function anchorOf(layout: Layout, view: View): number {
  const slack = (view.right - view.left) * 1e-6;
  const middle = (view.left + view.right) / 2;
  let anchor = 0;
  for (let row = 1; row + 1 < layout.rowStart.length; row++) {
    const box = boxAt(layout, row, middle);
    if (box >= layout.rowStart[row + 1]!) break;
    if (layout.left[box]! > view.left + slack || layout.right[box]! < view.right - slack) break;
    anchor = box;
  }
  return anchor;
}

/** A view by frames instead of places: what fills the window, and what is seen of it. It holds for other answers. */
export interface Mark {
  /** The frame that fills the window, and its callers. */
  keys: number[];
  /** The view in widths of that frame, from its beginning. */
  left: number;
  right: number;
  top: number;
}

/** Callers beyond this are so far above what is seen that they fill the window anyway. */
const mostCallers = 64;

export function markOf(view: View, layout: Layout, parent: Int32Array): Mark {
  // The whole stays the whole, even if a frame that was as wide is not any more.
  const box = view.left <= 0 && view.right >= 1 ? 0 : anchorOf(layout, view);
  const [from, width] = [layout.left[box]!, layout.right[box]! - layout.left[box]!];
  const keys: number[] = [];
  for (let node = layout.node[box]!; node > 0 && keys.length < mostCallers; node = parent[node]!) {
    keys.push(layout.key[node]!);
  }
  return { keys, left: (view.left - from) / width, right: (view.right - from) / width, top: view.top };
}

/** The view of a mark. If the frame that filled the window is gone, the nearest of its callers takes its place. */
export function viewOf(mark: Mark, layout: Layout): View {
  for (let i = 0; i <= mark.keys.length; i++) {
    const node = i === mark.keys.length ? 0 : layout.key.indexOf(mark.keys[i]!);
    if (node < 0) continue;
    const [from, to] = [layout.left[layout.box[node]!]!, layout.right[layout.box[node]!]!];
    const width = to - from;
    if (width < smallest) continue;
    if (i > 0) return { left: from, right: to, top: mark.top };
    return { left: from + mark.left * width, right: from + mark.right * width, top: mark.top };
  }
  return whole;
}

/**
 * The node whose subtree should be asked for: something in sight lacks children that would be wide enough to be seen.
 * It is the one that fills the window, so that one answer completes all that is seen, or else the widest. What was
 * asked for is not asked again. -1: none.
 */
export function lacking(
  layout: Layout,
  tree: { parent: Int32Array; folded: Int32Array; self: Float64Array; total: Float64Array },
  rest: (node: number) => number,
  asked: (node: number) => boolean,
  view: View,
  pixels: number,
  rows: [number, number],
): number {
  const scale = pixels / (view.right - view.left);
  let widest = -1;
  let most = 24; // pixels
  for (let row = rows[0]; row < rows[1]; row++) {
    visitRow(layout, row, { left: view.left, right: view.right, pixels }, (from, to) => {
      if (to > from + 1) return;
      const node = layout.node[from]!;
      if (tree.folded[node] === 0 || asked(node)) return;
      const total = tree.total[node]!;
      const width = total > 0 ? ((layout.right[from]! - layout.left[from]!) * scale * rest(node)) / total : 0;
      if (width > most) [widest, most] = [node, width];
    });
  }
  if (widest < 0) return -1;
  const anchor = layout.node[anchorOf(layout, view)]!;
  return anchor > 0 && !asked(anchor) ? anchor : widest;
}
