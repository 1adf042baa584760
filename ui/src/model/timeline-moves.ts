// Moves on the timeline without a mouse, and those of the palette: from one state to the next.
import { columnsOf, clamp, highest, nearestStep, spanOf, stepAt, stepsAt, toPixel, toTime } from "./timeline.ts";
import type { Axis, Mark, Ranges, Steps } from "./timeline.ts";
import { riseAround } from "./rise.ts";
import type { Span } from "./time.ts";

/** What a reader can change on the timeline. */
export interface State {
  /** What is shown; undefined: the whole run. */
  view: Span | undefined;
  /** The chosen moment. */
  cursor: number | undefined;
  ranges: Ranges;
}

/** What moves depend on. */
export interface Facts {
  whole: Steps;
  /** Steps of what is shown, if that is a part. */
  detail: Steps | undefined;
  /** The pixels on which it is shown. */
  width: number;
  /** When live and resident bytes were highest; undefined: as the steps say. */
  peakNs: number | undefined;
  residentPeakNs: number | undefined;
}

const section = "Timeline";

/** What the palette and keys offer for the timeline, wherever the reader is. `act` does it. */
export const timelineActions = [
  { id: "timeline.peak", keys: ["p"], title: "Go to the peak of live bytes", section },
  { id: "timeline.resident-peak", keys: ["r"], title: "Go to the peak of the resident set", section },
  { id: "timeline.previous-mark", keys: ["["], title: "Go to the mark before", section },
  { id: "timeline.next-mark", keys: ["]"], title: "Go to the mark after", section },
  { id: "timeline.zoom-in", keys: ["+"], title: "Show a shorter time", section },
  { id: "timeline.zoom-out", keys: ["-"], title: "Show a longer time", section },
  { id: "timeline.zoom-range", keys: [], title: "Show the selected time alone", section },
  { id: "timeline.whole", keys: [], title: "Show the whole run", section },
  { id: "timeline.rise", keys: [], title: "Select the rise at the chosen moment", section },
  {
    id: "timeline.compare",
    keys: ["c"],
    title: "Compare with the time before, or another recording; or stop",
    section,
  },
  { id: "timeline.back", keys: ["Escape"], title: "Clear the chosen moment, then the selected time", section },
  { id: "timeline.clear", keys: [], title: "Clear the selected time", section },
] as const;

export type TimelineAction = (typeof timelineActions)[number]["id"];

/** The state after an action; the same object if it changes nothing. */
export function act(action: TimelineAction, state: State, facts: Facts): State {
  const { whole } = facts;
  const run = spanOf(whole);
  switch (action) {
    case "timeline.peak":
      return goTo(state, run, facts.peakNs ?? timeOfHighest(whole, whole.most));
    case "timeline.resident-peak":
      return goTo(state, run, facts.residentPeakNs ?? (whole.resident && timeOfHighest(whole, whole.resident)));
    case "timeline.previous-mark":
      return goTo(state, run, markBeside(whole.marks, state.cursor ?? run.end, -1));
    case "timeline.next-mark":
      return goTo(state, run, markBeside(whole.marks, state.cursor ?? run.begin - 1, 1));
    case "timeline.zoom-in":
      return { ...state, view: zoomed(shown(state, run), run, anchor(state, run), 0.5) };
    case "timeline.zoom-out":
      return { ...state, view: zoomed(shown(state, run), run, anchor(state, run), 2) };
    case "timeline.zoom-range":
      return state.ranges.a ? { ...state, view: within(widened(state.ranges.a), run) } : state;
    case "timeline.whole":
      return state.view ? { ...state, view: undefined } : state;
    case "timeline.rise":
      return state.cursor === undefined ? state : selectRise(state, facts, state.cursor);
    case "timeline.compare":
      return compare(state, run);
    case "timeline.back":
      return stepBack(state) ?? state;
    case "timeline.clear":
      return state.ranges.a || state.cursor !== undefined ? { ...state, ranges: {}, cursor: undefined } : state;
  }
}

/** Adds as much time before the selected range as a second one, or after it, if there is more. */
function compare(state: State, run: Span): State {
  const { a, b } = state.ranges;
  if (!a || b) return state;
  const length = a.end - a.begin;
  const before = { begin: Math.max(run.begin, a.begin - length), end: a.begin };
  const after = { begin: a.end, end: Math.min(run.end, a.end + length) };
  const second = after.end - after.begin > before.end - before.begin ? after : before;
  return second.begin < second.end ? { ...state, ranges: { a, b: second } } : state;
}

/** What a state shows of a run. */
export function shown(state: State, run: Span): Span {
  return state.view ?? run;
}

function timeOfHighest(steps: Steps, list: Float64Array): number | undefined {
  const i = highest(list);
  return i === undefined ? undefined : steps.timesNs[i];
}

/** The nearest mark before or after a moment. */
function markBeside(marks: readonly Mark[], ns: number, direction: 1 | -1): number | undefined {
  let best: number | undefined;
  for (const { atNs } of marks) {
    if ((atNs - ns) * direction <= 0) continue;
    if (best === undefined || (best - atNs) * direction > 0) best = atNs;
  }
  return best;
}

function goTo(state: State, run: Span, ns: number | undefined): State {
  if (ns === undefined) return state;
  return { ...state, cursor: ns, view: including(state.view, run, ns) };
}

/** A view that includes a moment: moved, if it does not. */
function including(view: Span | undefined, run: Span, ns: number): Span | undefined {
  if (!view || (ns >= view.begin && ns <= view.end)) return view;
  return around(view, run, ns);
}

/** Where zooming holds still: at the chosen moment, if it is shown, or in the middle. */
function anchor(state: State, run: Span): number {
  const { begin, end } = shown(state, run);
  const { cursor } = state;
  return cursor !== undefined && cursor >= begin && cursor <= end ? cursor : (begin + end) / 2;
}

/** A range with a little of what is around it. */
function widened({ begin, end }: Span): Span {
  const margin = (end - begin) * 0.05;
  return { begin: begin - margin, end: end + margin };
}

/** The shortest time that can be shown. */
const shortest = 100;

/** The view after zooming by a factor: what is at a moment stays where it is. Undefined: the whole run. */
export function zoomed(view: Span, run: Span, atNs: number, factor: number): Span | undefined {
  const all = run.end - run.begin;
  const length = clamp((view.end - view.begin) * factor, Math.min(shortest, all), all);
  const share = (atNs - view.begin) / (view.end - view.begin);
  return within({ begin: atNs - share * length, end: atNs + (1 - share) * length }, run);
}

/**
 * The view when two fingers have moved, from two places to two others on a picture of a width: what was below them
 * still is.
 */
export function pinched(view: Span, run: Span, width: number, from: [number, number], to: [number, number]) {
  const axis: Axis = { span: view, width };
  const [a, b] = [toTime(axis, from[0]), toTime(axis, from[1])];
  const distance = Math.max(10, Math.abs(to[1] - to[0])); // fingers that meet
  const all = run.end - run.begin;
  const length = clamp((Math.abs(b - a) / distance) * width, Math.min(shortest, all), all);
  const middle = (a + b) / 2;
  const share = (to[0] + to[1]) / 2 / width;
  return within({ begin: middle - share * length, end: middle + (1 - share) * length }, run);
}

/** The view of the same length around a moment. */
export function around(view: Span, run: Span, atNs: number): Span | undefined {
  const half = (view.end - view.begin) / 2;
  return within({ begin: atNs - half, end: atNs + half }, run);
}

/** A view moved into the run; undefined if it is all of it. */
export function within({ begin, end }: Span, run: Span): Span | undefined {
  const length = end - begin;
  if (length >= run.end - run.begin) return undefined;
  const first = clamp(begin, run.begin, run.end - length);
  return { begin: Math.round(first), end: Math.round(first + length) };
}

/** Selects the rise around a moment, as a double click does. */
export function selectRise(state: State, facts: Facts, atNs: number): State {
  const run = spanOf(facts.whole);
  const axis: Axis = { span: shown(state, run), width: facts.width };
  const { live } = columnsOf(facts.whole, facts.detail, axis);
  const at = clamp(Math.floor(toPixel(axis, atNs)), 0, facts.width - 1);
  const rise = riseAround(live, at, 3);
  if (!rise) return state;
  // A column has the level of its end.
  const snap = snapper(facts);
  const span = { begin: snap(toTime(axis, rise.from + 1)), end: snap(toTime(axis, rise.to + 1)) };
  return span.begin < span.end ? { ...state, ranges: { a: span } } : state;
}

/** Moves a moment to the nearest one at which the live bytes are known exactly. */
export function snapper({ whole, detail }: Facts): (ns: number) => number {
  return (ns) => {
    const steps = stepsAt(whole, detail, ns);
    return steps.timesNs[nearestStep(steps, ns)] ?? ns;
  };
}

/** A key with its modifiers. */
export interface Key {
  key: string;
  shiftKey: boolean;
  ctrlKey: boolean;
}

/**
 * The state after a key; undefined if the key means nothing here. Arrows move the chosen moment by a pixel, or to the
 * next step where steps are wider; with shift they extend the selected range, with Ctrl and shift the second one.
 */
export function keyed(state: State, facts: Facts, { key, shiftKey, ctrlKey }: Key): State | undefined {
  const run = spanOf(facts.whole);
  if (key === "Escape") return stepBack(state);
  if (key === "Enter") return act("timeline.rise", state, facts);
  const view = shown(state, run);
  const to = target(state, facts, view, run, key);
  if (to === undefined) return undefined;
  const next: State = { ...state, cursor: to, view: including(state.view, run, to) };
  if (!shiftKey) return next;
  const at = state.cursor ?? to;
  const ends = (span: Span | undefined) => span !== undefined && (span.begin === at || span.end === at);
  const { a, b } = state.ranges;
  // The second one may have taken the place of the first, once it was chosen: then the cursor stands at its end.
  const which = ctrlKey && a && !(b && ends(a) && !ends(b)) ? "b" : "a";
  const range = state.ranges[which];
  // The end at which the cursor stands moves; elsewhere, a new range begins.
  const fixed = range?.end === at ? range.begin : range?.begin === at ? range.end : at;
  const { [which]: _, ...others } = state.ranges;
  const span = { begin: Math.min(fixed, to), end: Math.max(fixed, to) };
  return { ...next, ranges: span.begin < span.end ? { ...others, [which]: span } : others };
}

/** Where a key moves the chosen moment. */
function target(state: State, facts: Facts, view: Span, run: Span, key: string): number | undefined {
  const pixelNs = (view.end - view.begin) / facts.width;
  const page = (view.end - view.begin) / 20;
  const moves: Record<string, number> = { ArrowLeft: -pixelNs, ArrowRight: pixelNs, PageUp: -page, PageDown: page };
  const by = moves[key];
  if (key === "Home") return view.begin;
  if (key === "End") return view.end;
  if (by === undefined) return undefined;
  if (state.cursor === undefined) return by > 0 ? view.begin : view.end;
  const snap = snapper(facts);
  const moved = snap(clamp(state.cursor + by, run.begin, run.end));
  if ((moved - state.cursor) * by > 0) return moved;
  // The nearest moment is where it already is: the next one.
  const steps = stepsAt(facts.whole, facts.detail, state.cursor);
  const i = stepAt(steps, state.cursor);
  const beside = by > 0 ? i + ((steps.timesNs[i] ?? 0) > state.cursor ? 0 : 1) : i - 1;
  return steps.timesNs[clamp(beside, 0, steps.timesNs.length - 1)] ?? state.cursor;
}

/** One step back: first the chosen moment goes, then the ranges, then the zoom. Undefined: there is nothing to undo. */
function stepBack(state: State): State | undefined {
  if (state.cursor !== undefined) return { ...state, cursor: undefined };
  if (state.ranges.a) return { ...state, ranges: {} };
  return state.view && { ...state, view: undefined };
}
