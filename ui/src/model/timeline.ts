// How the memory of a process developed, and how that becomes columns of pixels.
//
// A column has the true extremes of its time: however narrow a peak is, it is as high as it was.

import type { Span } from "./time.ts";

/** The selected ranges: one that counts, and perhaps an earlier one to compare it with. */
export interface Ranges {
  a?: Span;
  b?: Span;
}

/** A moment that the program has named. */
export interface Mark {
  name: string;
  atNs: number;
  /** The moment as questions and the command line take it: names may come again. */
  text: string;
}

/** One time that a thread was in a region. */
export interface Region extends Span {
  name: string;
}

/**
 * The memory of a process in steps of time. Lists have an entry for each step, about the time since the entry before;
 * the first entry is the beginning. NaN: not known.
 */
export interface Steps {
  /** The ends of the steps, ascending. */
  timesNs: Float64Array;
  /** Live bytes at the end of the step. */
  live: Float64Array;
  /** The most and the fewest live bytes in the step. */
  most: Float64Array;
  fewest: Float64Array;
  /** Bytes that were allocated in the step. */
  bytes: Float64Array;
  /** 1: fewest and bytes are exact; 0: the fewest may be less, and the bytes more. */
  exact: Uint8Array;
  /** What the kernel said; undefined if it was never asked. */
  resident: Float64Array | undefined;
  mapped: Float64Array | undefined;
  marks: readonly Mark[];
  regions: readonly Region[];
  /** A better answer can be had. */
  rough: boolean;
}

/** The live bytes of one function over the run: its curve's entries belong to the ends of steps. */
export interface Ribbon {
  name: string;
  timesNs: Float64Array;
  /** The most in each step. */
  most: Float64Array;
}

/** The time that steps are about. */
export function spanOf(steps: Steps): Span {
  const last = steps.timesNs.length - 1;
  return { begin: steps.timesNs[0] ?? 0, end: steps.timesNs[last] ?? 0 };
}

/** Where times are on a picture: `span` is drawn on `width` pixels. */
export interface Axis {
  span: Span;
  width: number;
}

export function toPixel({ span, width }: Axis, ns: number): number {
  return ((ns - span.begin) / (span.end - span.begin)) * width;
}

export function toTime({ span, width }: Axis, pixel: number): number {
  return span.begin + (pixel / width) * (span.end - span.begin);
}

export function clamp(value: number, least: number, most: number): number {
  return Math.max(least, Math.min(most, value));
}

/** The index of the first entry of an ascending list that is not below a value; its length if all are. */
export function firstAtLeast(list: Float64Array, value: number): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((list[middle] ?? Infinity) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The step that contains a moment: the number of its entry. */
export function stepAt(steps: Steps, ns: number): number {
  return clamp(firstAtLeast(steps.timesNs, ns), 0, steps.timesNs.length - 1);
}

/** The entry whose end is nearest to a moment: there, the live bytes are known exactly. */
export function nearestStep(steps: Steps, ns: number): number {
  const after = stepAt(steps, ns);
  const before = Math.max(0, after - 1);
  const distance = (i: number) => Math.abs((steps.timesNs[i] ?? 0) - ns);
  return distance(before) <= distance(after) ? before : after;
}

/** The steps that tell most about a moment: those of the part that is shown, if it is in them. */
export function stepsAt(whole: Steps, detail: Steps | undefined, ns: number): Steps {
  if (!detail) return whole;
  const { begin, end } = spanOf(detail);
  return ns >= begin && ns <= end ? detail : whole;
}

/** The most live bytes, and when that was, if it is known exactly. */
export interface Highest {
  bytes: number;
  atNs: number | undefined;
}

/** What was live at the end of a step that is nearest to a moment, or at the peak, if that is the moment. */
export function liveAt(whole: Steps, detail: Steps | undefined, ns: number, peak?: Highest): number {
  if (peak?.atNs === ns) return peak.bytes;
  // A moment that was chosen at another zoom is where a step of that zoom ends.
  const i = nearestStep(whole, ns);
  const k = detail ? nearestStep(detail, ns) : 0;
  const closer = detail && Math.abs((detail.timesNs[k] ?? 0) - ns) <= Math.abs((whole.timesNs[i] ?? 0) - ns);
  return (closer ? detail.live[k] : whole.live[i]) ?? 0;
}

/** By how much the live bytes changed over a span. */
export function changeOver(whole: Steps, detail: Steps | undefined, { begin, end }: Span, peak?: Highest): number {
  return liveAt(whole, detail, end, peak) - liveAt(whole, detail, begin, peak);
}

/** What was allocated over a span, by the steps that are mostly in it, and how long these are. */
export function allocatedOver(steps: Steps, { begin, end }: Span): { bytes: number; seconds: number; exact: boolean } {
  const [first, last] = [nearestStep(steps, begin), nearestStep(steps, end)];
  let bytes = 0;
  let exact = true;
  for (let i = first + 1; i <= last; i++) {
    bytes += steps.bytes[i] ?? 0;
    if (steps.exact[i] !== 1) exact = false;
  }
  return { bytes, exact, seconds: ((steps.timesNs[last] ?? 0) - (steps.timesNs[first] ?? 0)) / 1e9 };
}

/** The highest entry of a list: its first; undefined if none is known. */
export function highest(list: Float64Array): number | undefined {
  let best: number | undefined;
  for (let i = 0; i < list.length; i++) {
    const value = list[i] ?? NaN;
    if (!Number.isNaN(value) && (best === undefined || value > (list[best] ?? 0))) best = i;
  }
  return best;
}

/** What is drawn: a value for each column of pixels. NaN: not known. */
export interface Columns {
  most: Float64Array;
  fewest: Float64Array;
  /** Live bytes at the end of the column. */
  live: Float64Array;
  /** Bytes allocated per second. */
  rate: Float64Array;
  /** 0 where fewest and rate are bounds. */
  exact: Uint8Array;
  resident: Float64Array;
  mapped: Float64Array;
}

/**
 * Merges steps into columns. Where there are steps of the shown part only, they count; elsewhere those of the whole run
 * do, so that a picture is there at once when the part changes.
 */
export function columnsOf(whole: Steps, detail: Steps | undefined, axis: Axis): Columns {
  const { width } = axis;
  const list = () => new Float64Array(width).fill(NaN);
  const columns: Columns = {
    most: list(),
    fewest: list(),
    live: list(),
    rate: list(),
    exact: new Uint8Array(width).fill(1),
    resident: list(),
    mapped: list(),
  };
  const part = detail ? spanOf(detail) : { begin: 0, end: 0 };
  // A little tolerance: a step may end up to an eighth of its length beside its share of the time.
  const begin = detail ? clamp(Math.ceil(toPixel(axis, part.begin) - 0.3), 0, width) : 0;
  const end = detail ? clamp(Math.floor(toPixel(axis, part.end) + 0.3), begin, width) : 0;
  merge(columns, whole, axis, 0, begin);
  if (detail) merge(columns, detail, axis, begin, end);
  merge(columns, whole, axis, end, width);
  return columns;
}

/** Steps that reach less than this into a column, of its width, are left to their other column. */
const slack = 0.15;

function merge(columns: Columns, steps: Steps, axis: Axis, begin: number, end: number): void {
  if (begin >= end) return;
  const { timesNs } = steps;
  const pixelNs = (axis.span.end - axis.span.begin) / axis.width;
  columns.rate.fill(0, begin, end);
  const first = Math.max(1, firstAtLeast(timesNs, toTime(axis, begin)));
  for (let i = first; i < timesNs.length; i++) {
    const from = toPixel(axis, timesNs[i - 1] ?? 0);
    if (from >= end) break;
    const to = toPixel(axis, timesNs[i] ?? 0);
    const middle = (from + to) / 2;
    const x0 = Math.max(begin, Math.floor(Math.min(from + slack, middle)));
    const x1 = Math.min(end - 1, Math.floor(Math.max(to - slack, middle)));
    const rate = ((steps.bytes[i] ?? 0) / pixelNs) * 1e9;
    for (let x = x0; x <= x1; x++) {
      columns.most[x] = larger(columns.most[x], steps.most[i]);
      columns.fewest[x] = smaller(columns.fewest[x], steps.fewest[i]);
      columns.live[x] = steps.live[i] ?? NaN;
      if (steps.resident) columns.resident[x] = larger(columns.resident[x], steps.resident[i]);
      if (steps.mapped) columns.mapped[x] = larger(columns.mapped[x], steps.mapped[i]);
      if (steps.exact[i] === 0) columns.exact[x] = 0;
    }
    // Bytes are divided by time alone: a column's rate is the mean of its time.
    for (let x = Math.max(begin, Math.floor(from)); x < Math.min(end, to); x++) {
      const within = Math.min(to, x + 1) - Math.max(from, x);
      if (within > 0) columns.rate[x] = (columns.rate[x] ?? 0) + (rate * within) / (to - from);
    }
    // A step without time: several events happened at once.
    if (to === from && x0 <= x1) columns.rate[x0] = (columns.rate[x0] ?? 0) + rate;
  }
}

/** The larger one of two values, of which one or both may be unknown. */
function larger(a: number | undefined, b: number | undefined): number {
  if (a === undefined || Number.isNaN(a)) return b ?? NaN;
  return b !== undefined && b > a ? b : a;
}

function smaller(a: number | undefined, b: number | undefined): number {
  if (a === undefined || Number.isNaN(a)) return b ?? NaN;
  return b !== undefined && b < a ? b : a;
}

/** The most of a function's curve in each column. */
export function ribbonColumns({ timesNs, most }: Ribbon, axis: Axis): Float64Array {
  const columns = new Float64Array(axis.width).fill(NaN);
  for (let i = Math.max(1, firstAtLeast(timesNs, axis.span.begin)); i < timesNs.length; i++) {
    const from = toPixel(axis, timesNs[i - 1] ?? 0);
    if (from >= axis.width) break;
    const to = toPixel(axis, timesNs[i] ?? 0);
    const middle = (from + to) / 2;
    const last = Math.min(axis.width - 1, Math.floor(Math.max(to - slack, middle)));
    for (let x = Math.max(0, Math.floor(Math.min(from + slack, middle))); x <= last; x++) {
      columns[x] = larger(columns[x], most[i]);
    }
  }
  return columns;
}

/** How far mapped memory may be above what is used, to be in the picture: far above, it would make the rest flat. */
const mostMapped = 1.25;

/** The value at the top of the picture. */
export function topOf({ most, resident, mapped }: Columns): number {
  const top = Math.max(maximum(most), maximum(resident), 1);
  const all = maximum(mapped);
  return all <= mostMapped * top ? Math.max(top, all) : top;
}

/** The largest value that is known; 0 if none is. */
export function maximum(list: Float64Array): number {
  const i = highest(list);
  return i === undefined ? 0 : (list[i] ?? 0);
}
