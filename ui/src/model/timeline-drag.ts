// Dragging on the timeline: what a pointer takes hold of, and what becomes of the ranges as it moves.
import type { Span } from "./time.ts";
import { snapper, type Facts } from "./timeline-moves.ts";
import { clamp, firstAtLeast, maximum, stepsAt, toPixel, toTime, type Axis, type Ranges } from "./timeline.ts";

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
  // Of a narrow range, a third is left as the middle.
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

/** How a pointer takes hold. */
export interface Holding {
  /** A second range begins (shift); without a first one, that one. */
  second?: boolean;
  /** A range is moved (alt, or below the curves, where its words are). Else a drag within one selects anew. */
  moves?: boolean;
}

/** Takes hold of what is at a place. */
export function grip(ranges: Ranges, axis: Axis, x: number, near: number, { second, moves }: Holding = {}): Grip {
  const found = hit(ranges, axis, x, near);
  const span = found && ranges[found.which];
  if (found && span && (found.part !== "middle" || (moves && !second))) {
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

/** How near to a maximum a drag ends at it, in pixels. */
const peakReach = 4;

/** By which share of the highest value a maximum stands out, on both sides: about two pixels of the picture. */
const prominent = 1 / 40;

/** The maximum near a moment at which a drag is meant to end: the peak, or one that stands out; undefined: none. */
export function peakNear(facts: Facts, axis: Axis, ns: number): number | undefined {
  const reachNs = (peakReach * (axis.span.end - axis.span.begin)) / axis.width;
  const { peakNs } = facts;
  if (peakNs !== undefined && Math.abs(peakNs - ns) <= reachNs) return peakNs;
  const { timesNs, live } = stepsAt(facts.whole, facts.detail, ns);
  let best = firstAtLeast(timesNs, ns - reachNs);
  let i = best;
  for (; i < timesNs.length && (timesNs[i] ?? 0) <= ns + reachNs; i++) if ((live[i] ?? 0) > (live[best] ?? 0)) best = i;
  const at = timesNs[best];
  if (i === best || at === undefined) return undefined;
  // On each side, as far again, it falls before it rises above this one.
  const least = (live[best] ?? 0) - prominent * maximum(facts.whole.most);
  const falls = (direction: 1 | -1) => {
    for (let k = best + direction; Math.abs((timesNs[k] ?? Infinity) - at) <= 2 * reachNs; k += direction) {
      if ((live[k] ?? 0) > (live[best] ?? 0)) return false;
      if ((live[k] ?? 0) <= least) return true;
    }
    return false;
  };
  if (!falls(1) || !falls(-1)) return undefined;
  return peakNs !== undefined && Math.abs(peakNs - at) <= reachNs ? peakNs : at;
}

/**
 * The ranges when the pointer is at a place, with ends at moments that are known exactly. Ends that are drawn are at a
 * maximum that is near; those that stay are where they were.
 */
export function dragged(held: Grip, ranges: Ranges, axis: Axis, x: number, facts: Facts): Ranges {
  const exact = snapper(facts);
  const stay = new Set([ranges.a, ranges.b].flatMap((span) => (span ? [span.begin, span.end] : [])));
  return settled(drag(held, ranges, axis, x), (ns) => {
    if (stay.has(ns)) return ns;
    return (held.kind === "middle" ? undefined : peakNear(facts, axis, ns)) ?? exact(ns);
  });
}

/** The pointer that shows what a drag would do. */
export function pointerFor(ranges: Ranges, axis: Axis, x: number, near: number, moves: boolean): string {
  const found = hit(ranges, axis, x, near);
  if (!found || (found.part === "middle" && !moves)) return "crosshair";
  return found.part === "middle" ? "grab" : "ew-resize";
}
