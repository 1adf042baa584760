// Dragging on the timeline: what a pointer takes hold of, and what becomes of the ranges as it moves.
import type { Span } from "./time.ts";
import { clamp, toPixel, toTime, type Axis, type Ranges } from "./timeline.ts";

export type Which = "a" | "b";

/** What the pointer has taken hold of. */
export type Grip =
  | { kind: "new"; which: Which; anchorNs: number }
  | { kind: "edge"; which: Which; fixedNs: number; offset: number }
  | { kind: "middle"; which: Which; span: Span; startNs: number };

/** How near to an edge takes hold of it, in pixels: a finger is wider than a mouse's pointer. */
export const reach = { mouse: 5, touch: 16 };

/** How far a pointer must move before that is a drag. */
export const slop = { mouse: 3, touch: 8 };

/** A part of a range. */
export interface Hit {
  which: Which;
  part: "begin" | "end" | "middle";
}

/** What is at a place: an edge or the middle of a range; undefined: nothing. The range that is narrower wins. */
export function hit(ranges: Ranges, axis: Axis, x: number, near: number): Hit | undefined {
  const list = (["a", "b"] as const).flatMap((which) => {
    const span = ranges[which];
    return span ? [{ which, begin: toPixel(axis, span.begin), end: toPixel(axis, span.end) }] : [];
  });
  list.sort((p, q) => p.end - p.begin - (q.end - q.begin));
  // Of a narrow range, a third is left as the middle, so that it can be moved.
  let best: Hit | undefined;
  let least = Infinity;
  for (const { which, begin, end } of list) {
    const inside = Math.min(near, (end - begin) / 3);
    for (const [part, edge, direction] of [["begin", begin, 1], ["end", end, -1]] as const) {
      const distance = (x - edge) * direction; // positive: inside the range
      if (distance > inside || distance < -near || Math.abs(distance) >= least) continue;
      least = Math.abs(distance);
      best = { which, part };
    }
  }
  if (best) return best;
  const around = list.find(({ begin, end }) => x >= begin && x <= end);
  return around && { which: around.which, part: "middle" };
}

/** Takes hold of what is at a place. With `second` (shift), a second range begins; without a first one, that one. */
export function grip(ranges: Ranges, axis: Axis, x: number, near: number, second: boolean): Grip {
  const found = hit(ranges, axis, x, near);
  const span = found && ranges[found.which];
  if (found && span && (!second || found.part !== "middle")) {
    const { which } = found;
    if (found.part === "middle") return { kind: "middle", which, span, startNs: toTime(axis, x) };
    const [edge, fixed] = found.part === "begin" ? [span.begin, span.end] : [span.end, span.begin];
    return { kind: "edge", which, fixedNs: fixed, offset: toPixel(axis, edge) - x };
  }
  return { kind: "new", which: second && ranges.a ? "b" : "a", anchorNs: toTime(axis, x) };
}

/** The ranges when the pointer is at a place. Without shift, a new range takes the place of all. */
export function drag(held: Grip, ranges: Ranges, axis: Axis, x: number): Ranges {
  const { begin, end } = axis.span;
  const at = (pixel: number) => clamp(toTime(axis, pixel), begin, end);
  if (held.kind === "middle") {
    const { span } = held;
    // A range that reaches out of what is shown may stay there, but not be moved out further.
    const by = clamp(toTime(axis, x) - held.startNs, Math.min(0, begin - span.begin), Math.max(0, end - span.end));
    return { ...ranges, [held.which]: { begin: span.begin + by, end: span.end + by } };
  }
  const span = held.kind === "new" ? between(held.anchorNs, at(x)) : between(held.fixedNs, at(x + held.offset));
  if (held.kind === "new" && held.which === "a") return { a: span };
  return { ...ranges, [held.which]: span };
}

function between(a: number, b: number): Span {
  return a < b ? { begin: a, end: b } : { begin: b, end: a };
}

/** Ranges whose ends are moved to moments that are known exactly, without ranges that have become empty. */
export function settled(ranges: Ranges, snap: (ns: number) => number): Ranges {
  const result: Ranges = {};
  for (const which of ["a", "b"] as const) {
    const span = ranges[which];
    if (!span) continue;
    const [begin, end] = [Math.round(snap(span.begin)), Math.round(snap(span.end))];
    if (begin < end) result[which] = { begin, end };
  }
  return result.a || !result.b ? result : { a: result.b };
}

/** The pointer that shows what a drag would do. */
export function pointerFor(ranges: Ranges, axis: Axis, x: number, near: number): string {
  const found = hit(ranges, axis, x, near);
  if (!found) return "crosshair";
  return found.part === "middle" ? "grab" : "ew-resize";
}
