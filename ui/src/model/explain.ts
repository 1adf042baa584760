// Why live memory rose or fell over a range: a waterfall that adds up.
import { percent, plural, size } from "./format.ts";

/** A function in its source. */
export interface Code {
  name: string;
  file: string;
  line: number;
  module: string;
}

/** How live bytes changed over a range. */
export interface Rise {
  beginNs: number;
  endNs: number;
  /** Live bytes at the ends. */
  begin: number;
  end: number;
  rows: Change[];
  others: { groups: number; grown: number; shrunk: number };
  /** What is counted in others. */
  of: "call stack" | "place";
}

export interface Change {
  code: Code;
  bytes: number;
  blocks: number;
}

/** A bar of a waterfall. */
export interface Bar<R = Change> {
  kind: "begin" | "change" | "others" | "end";
  /** The change; of the first and the last bar, the level. */
  bytes: number;
  /** Where the bar begins and ends, from 0 to 1 of the width. */
  from: number;
  to: number;
  row?: R;
}

export interface Waterfall<R = Change> {
  bars: Bar<R>[];
  /** The axis does not begin at 0: the changes are small beside the levels. */
  cut: boolean;
}

/** A change between the first and the last bar of a waterfall; without a row, that of all others. */
export interface Step<R> {
  bytes: number;
  row?: R;
}

/** Changes below this share of the level are drawn on an axis that is cut. */
const smallChange = 0.25;

/** The bars of a waterfall: the first level, each change from where the one before ended, the last level. */
export function barsOf<R>(begin: number, end: number, steps: readonly Step<R>[]): Waterfall<R> {
  let level = begin;
  const changes = steps.map((step) => {
    const from = level;
    level += step.bytes;
    return { kind: "row" in step ? ("change" as const) : ("others" as const), ...step, from, to: level };
  });
  const ends = changes.flatMap(({ from, to }) => [from, to]);
  const most = Math.max(begin, end, ...ends, 1);
  const least = Math.min(begin, end, ...ends);
  const cut = least > 0 && most > least && most - least < smallChange * most;
  const base = cut ? Math.max(0, least - (most - least) * 0.5) : 0;
  const x = (bytes: number) => (bytes - base) / Math.max(most - base, 1);
  const bars: Bar<R>[] = [
    { kind: "begin", bytes: begin, from: 0, to: x(begin) },
    ...changes.map((s) => ({ ...s, from: x(Math.min(s.from, s.to)), to: x(Math.max(s.from, s.to)) })),
    { kind: "end", bytes: end, from: 0, to: x(end) },
  ];
  return { bars, cut };
}

/** The bars of a rise. */
export function waterfall({ begin, end, rows, others }: Rise): Waterfall {
  const rest = others.groups > 0 ? [{ bytes: others.grown - others.shrunk }] : [];
  return barsOf(begin, end, [...rows.map((row) => ({ bytes: row.bytes, row })), ...rest]);
}

/** The share of a change that the named rows make up; undefined if nothing changed. */
export function explained({ begin, end, rows }: Rise): number | undefined {
  const named = rows.reduce((sum, row) => sum + row.bytes, 0);
  return end === begin ? undefined : named / (end - begin);
}

/** A change with its sign. */
export function signed(bytes: number): string {
  return `${bytes > 0 ? "+" : bytes < 0 ? "−" : "±"}${size(Math.abs(bytes))}`;
}

/** In words, how much of the change is named; empty if that says nothing. */
export function explanation(rise: Rise): string {
  const { rows, others } = rise;
  const share = explained(rise);
  if (rows.length === 0 || share === undefined) return "";
  const places = rows.length === 1 ? "one place" : `${rows.length} places`;
  if (others.groups === 0) return `all from ${places}`;
  if (share < 0 || share > 1.2) return `${places} changed most`;
  return `${percent(Math.min(share, 1), 1)} from ${places}`;
}

/** Below this share of the level, a change is none that anybody would look for. */
const flatChange = 0.001;

/** Whether live bytes neither rose nor fell, and nothing that is named did: then there is nothing to explain. */
export function isFlat({ begin, end, rows: changes, others }: Rise): boolean {
  const most = Math.max(begin, end);
  const change = Math.max(Math.abs(end - begin), ...changes.map(({ bytes }) => Math.abs(bytes)));
  return change <= flatChange * most && Math.max(others.grown, others.shrunk) <= 10 * flatChange * most;
}

/**
 * What a rise is called.
 * @param merged the recording has only sums: without a range, the rise is that of the whole run
 */
export function riseTitle(rise: Rise | undefined, ranged: boolean, merged = false): string {
  if (!ranged) return merged ? "What rose up to the end" : "What rose to the peak";
  if (!rise) return "Explain this rise";
  if (Math.abs(rise.end - rise.begin) <= flatChange * Math.max(rise.begin, rise.end)) return "What changed";
  return rise.end < rise.begin ? "Explain this fall" : "Explain this rise";
}

/** Why the rise of a range is not known of a recording that has only sums. */
export function whyNoRange(processes: number): string {
  const sums = processes > 0 ? `the sums of ${plural(processes, "process")}` : "sums";
  return `This recording has only ${sums}, and no single events: nothing is known of a part of the time.`;
}
