// What of a place the timeline shows and changes.
import type { Place } from "./place.ts";
import { parseSpan, parseTime, timeText, type Run, type Span } from "./time.ts";
import type { State } from "./timeline-moves.ts";
import { spanOf, type Ranges, type Steps } from "./timeline.ts";

/** The parts of a place that are the timeline's. */
export type Times = Pick<Place, "from" | "to" | "from2" | "to2" | "at" | "zoom">;

/** What times of a place may refer to. */
export function runOf(whole: Steps, peakNs: number | undefined): Run {
  return { ...spanOf(whole), peak: peakNs, marks: new Map(whole.marks.map(({ text, atNs }) => [text, atNs])) };
}

/** Between the two ends of a zoom. */
const dots = "..";

export function stateOf(place: Times, run: Run): State {
  const ranges: Ranges = {};
  const a = rangeOf(place.from, place.to, run);
  if (a) ranges.a = a;
  const b = rangeOf(place.from2, place.to2, run);
  if (b) ranges.b = b;
  const [from, to] = place.zoom?.split(dots) ?? [];
  const view = rangeOf(from, to, run);
  const all = view?.begin === run.begin && view.end === run.end;
  return {
    view: all ? undefined : view,
    cursor: place.at === undefined ? undefined : parseTime(place.at, run),
    ranges,
  };
}

/** The part of the run between two texts; undefined if it is all of it or nothing. */
function rangeOf(from: string | undefined, to: string | undefined, run: Run): Span | undefined {
  if (!from && !to) return undefined;
  const span = parseSpan(from, to, run);
  const begin = Math.max(span.begin, run.begin);
  const end = Math.min(span.end, run.end);
  return begin < end ? { begin, end } : undefined;
}

/** Of two ranges, the later one is what counts, and the earlier one what it is compared with. */
export function ordered({ a, b }: Ranges): Ranges {
  if (!a || !b) return { ...(a && { a }), ...(b && { b }) };
  return a.begin < b.begin || (a.begin === b.begin && a.end < b.end) ? { a: b, b: a } : { a, b };
}

/** The parts of a place for ranges. */
export function rangeTimes(ranges: Ranges): Pick<Times, "from" | "to" | "from2" | "to2"> {
  const { a, b } = ordered(ranges);
  return {
    from: a && timeText(a.begin),
    to: a && timeText(a.end),
    from2: b && timeText(b.begin),
    to2: b && timeText(b.end),
  };
}

/** The parts of a place for what is shown, and for the chosen moment. */
export function viewTimes({ view, cursor }: Pick<State, "view" | "cursor">): Pick<Times, "at" | "zoom"> {
  return {
    at: cursor === undefined ? undefined : timeText(cursor),
    zoom: view && `${timeText(view.begin)}${dots}${timeText(view.end)}`,
  };
}
