// How the timeline of another recording is laid over that of the one that is shown: by time, by share of the run, or so
// that their marks coincide.
import { parseSpan, timeText, type Run, type Span } from "./time.ts";
import { spanOf, type Steps } from "./timeline.ts";

export const overlays = ["time", "mark", "share"] as const;
export type Overlay = (typeof overlays)[number];

/** Moments of both recordings that belong together, in order. Between two of them, time is stretched. */
export interface Alignment {
  other: readonly number[];
  shown: readonly number[];
}

/** The marks that both have, in the order of both: the n-th of a name is the n-th of that name. */
function commonMarks(other: Steps, shown: Steps): [number, number][] {
  const at = new Map(other.marks.map(({ text, atNs }) => [text, atNs]));
  const pairs: [number, number][] = [];
  for (const { text, atNs } of [...shown.marks].sort((a, b) => a.atNs - b.atNs)) {
    const there = at.get(text);
    if (there !== undefined && there > (pairs.at(-1)?.[0] ?? -Infinity)) pairs.push([there, atNs]);
  }
  return pairs;
}

/** In which ways two recordings can be laid over each other. */
export function possible(other: Steps, shown: Steps): Overlay[] {
  return overlays.filter((how) => how !== "mark" || commonMarks(other, shown).length > 0);
}

/** How the moments of two recordings belong together. What is after the last pair follows in time. */
export function align(other: Steps, shown: Steps, how: Overlay): Alignment {
  const [a, b] = [spanOf(other), spanOf(shown)];
  const pairs: [number, number][] = [[a.begin, b.begin]];
  if (how === "share") pairs.push([a.end, b.end]);
  if (how === "mark") {
    for (const pair of commonMarks(other, shown)) {
      if (pair[0] > a.begin && pair[1] > b.begin) pairs.push(pair);
    }
  }
  return { other: pairs.map(([x]) => x), shown: pairs.map(([, y]) => y) };
}

function along(from: readonly number[], to: readonly number[], ns: number): number {
  let i = 1;
  while (i < from.length && (from[i] ?? 0) < ns) i++;
  const [x, y] = [from[i - 1] ?? 0, to[i - 1] ?? 0];
  if (i >= from.length) return y + ns - x;
  const [nextX, nextY] = [from[i] ?? 0, to[i] ?? 0];
  return nextX > x ? y + ((ns - x) / (nextX - x)) * (nextY - y) : y;
}

/** The moment of the other recording that belongs to one of that which is shown. */
export function momentOfOther({ other, shown }: Alignment, ns: number): number {
  return along(shown, other, ns);
}

/** The other's steps at the times of the recording that is shown. */
export function laidOver(steps: Steps, { other, shown }: Alignment): Steps {
  return { ...steps, timesNs: steps.timesNs.map((ns) => along(other, shown, ns)) };
}

/** Repeated runs of both sides, at the times of the recording that is shown. */
export interface Repeats {
  /** All runs of side A; one if there are no more. */
  a: readonly Steps[];
  /** All runs of side B: the recording that is shown, and those beside it. */
  b: readonly Steps[];
}

/** What several runs had at each place of a picture: the least, the middle one, and the most. */
export interface Spread {
  least: Float64Array;
  median: Float64Array;
  most: Float64Array;
}

/** The spread of lists of the same length. A run counts where it has a value; where none does, there is none. */
export function spreadOf(lists: readonly Float64Array[]): Spread {
  const empty = () => new Float64Array(lists[0]?.length ?? 0).fill(NaN);
  const spread: Spread = { least: empty(), median: empty(), most: empty() };
  for (let i = 0; i < spread.median.length; i++) {
    const values = lists.map((list) => list[i] ?? NaN).filter((value) => !Number.isNaN(value)).sort((x, y) => x - y);
    if (values.length === 0) continue;
    spread.least[i] = values[0] ?? NaN;
    spread.median[i] = middleOf(values);
    spread.most[i] = values.at(-1) ?? NaN;
  }
  return spread;
}

/** The median of numbers in order; of none, not a number. */
export function middleOf(values: readonly number[]): number {
  const half = values.length >> 1;
  const [low = NaN, high = NaN] = [values[half - 1], values[half]];
  return values.length % 2 === 1 ? high : (low + high) / 2;
}

/** The range of the other recording that belongs to a selected one, as the address has it; of none, none. */
export function rangeOfOther(alignment: Alignment, steps: Steps, range: Span | undefined) {
  if (!range) return { from2: undefined, to2: undefined };
  const { begin, end } = spanOf(steps);
  const at = (ns: number) => timeText(Math.max(begin, Math.min(end, momentOfOther(alignment, ns))));
  return { from2: at(range.begin), to2: at(range.end) };
}

/** The selected range of a place; undefined: none. */
export function selectedIn(place: { from: string | undefined; to: string | undefined }, run: Run): Span | undefined {
  return place.from === undefined && place.to === undefined ? undefined : parseSpan(place.from, place.to, run);
}
