// What is compared with what: two ranges, two moments, two recordings or several runs of each, on every page.
import type { ByName, MetricName, Parameters } from "../api.ts";
import { find, type Recording, type Run } from "./answers.ts";
import type { Filters } from "./filters.ts";
import { isRange, type Times } from "./metrics.ts";
import { base, shellQuote, shorten, visible } from "./names.ts";
import type { PageName, Place } from "./place.ts";

export interface Comparison {
  /** The recordings on side A, by id; empty: the one that is shown, which is also on side B. */
  with: readonly string[];
  /** More runs on side B. */
  also: readonly string[];
  /** The times of A, and of B. */
  before: Times;
  after: Times;
  /** The end of the selected range is compared with its beginning: only what is live differs. */
  moments: boolean;
}

/**
 * What a place compares; undefined: nothing.
 * @param range the selected range, which is not yet in the place while the reader drags
 */
export function comparisonOf(place: Place, range: Times = place): Comparison | undefined {
  if (!place.compare) return undefined;
  const { with: others, also } = place;
  const second = { from: place.from2, to: place.to2 };
  const after = { from: range.from, to: range.to };
  if (others.length > 0 || also.length > 0 || isRange(second)) {
    return { with: others, also, before: second, after, moments: false };
  }
  if (!isRange(range)) return undefined;
  // What was live when the range began: at the end of all that was before it.
  const [first, last] = [range.from ?? "start", range.to];
  const upTo = (to: string | undefined): Times => ({ from: undefined, to });
  return { with: [], also: [], before: upTo(first), after: upTo(last), moments: true };
}

/** Why nothing is compared, although the reader wants that; undefined: it is, or they do not. */
export function lacking(place: Place, range: Times = place): string | undefined {
  if (!place.compare || comparisonOf(place, range)) return undefined;
  return (
    "To compare, select a range on the timeline: its end is compared with its beginning. " +
    "Drag over a second one with Shift, or choose another recording at the left."
  );
}

/** How a page shows a comparison. */
export interface Shown {
  /** A table or a tree of changes; else the page does it itself, or says that it does not. */
  kind: "table" | "tree" | "own" | "none";
  /** What the rows are, and what they count, where the reader does not choose that. */
  by?: ByName;
  metrics?: readonly MetricName[];
  /** What both sides have in all stands above. */
  totals?: boolean;
  /** Only rows of the file that is shown, with the page itself below. */
  source?: boolean;
  /** The page itself shows the table, where the reader has chosen it. */
  within?: boolean;
}

const shownOn: Readonly<Record<PageName, Shown>> = {
  overview: { kind: "table", by: "stack", totals: true },
  flame: { kind: "own" },
  table: { kind: "table" },
  tree: { kind: "tree" },
  leaks: { kind: "table", by: "stack", metrics: ["leaked", "leaked-blocks"] },
  source: { kind: "table", by: "line", source: true },
  generations: { kind: "table", by: "stack", metrics: ["kept", "kept-blocks"] },
  timeline: { kind: "table", metrics: ["peak", "live"] },
  sizes: { kind: "table", by: "size", metrics: ["allocations", "bytes"] },
  threads: { kind: "table", by: "thread", metrics: ["allocations", "bytes", "live", "temporary"] },
  blocks: { kind: "none" },
  events: { kind: "none" },
  more: { kind: "own" },
  sql: { kind: "none" },
  heap: { kind: "none" },
};

/** The sections of the page More that are tables of changes, by `order`; static data has an answer of its own. */
const sectionsOfMore: Readonly<Record<string, Shown>> = {
  regions: { kind: "table", by: "region-name", metrics: ["bytes", "allocations", "live"], within: true },
  mappings: { kind: "table", by: "stack", metrics: ["mapped", "mapped-peak", "mapped-resident"], within: true },
  pools: { kind: "none" },
  mismatches: { kind: "none" },
  replay: { kind: "none" },
};

/** What a page shows while it compares. */
export function shownOf(place: Pick<Place, "page" | "order">): Shown {
  return (place.page === "more" && sectionsOfMore[place.order ?? ""]) || shownOn[place.page];
}

export type DiffParameters = Parameters["diff"];

/** The parameters that say what is compared. */
export function sidesOf(place: Place, compared: Comparison, filters: Filters): DiffParameters {
  const { from: _, to: __, ...rest } = filters;
  const { before, after } = compared;
  return {
    ...rest,
    ...(compared.with.length > 0 && { with: [...compared.with] }),
    ...(compared.also.length > 0 && { also: [...compared.also] }),
    ...(before.from !== undefined && { from2: before.from }),
    ...(before.to !== undefined && { to2: before.to }),
    ...(after.from !== undefined && { from: after.from }),
    ...(after.to !== undefined && { to: after.to }),
    ...(place.scale && { scale: true }),
  };
}

/** Of two moments, what is live alone can be compared. */
export function metricsFor({ moments }: Comparison, wanted: readonly MetricName[]): MetricName[] {
  const live = wanted.filter((name) => name === "live" || name === "live-blocks");
  return moments ? [...new Set<MetricName>([...live, "live", "live-blocks"])] : [...wanted];
}

/** A recording in few words: its file and, of several programs, which. */
export function nameOfRun(runs: readonly Run[], id: string): string {
  const found = find(runs, id);
  if (!found) return id;
  const { run, recording } = found;
  const file = shorten(visible(base(run.path)), 40);
  return run.recordings.length > 1 ? `${file}, ${shorten(visible(recording.command), 30)} ${recording.pid}` : file;
}

/** The command that answers as the question `diff` does. */
export function diffCommand(
  runs: readonly Run[],
  run: Run,
  recording: Recording,
  compared: Comparison,
  values: DiffParameters & { tree?: boolean; static?: boolean },
): string {
  const words = ["heaptap", "diff"];
  const { with: _, also: __, from: ___, to: ____, from2: _____, to2: ______, skip: _______, ...rest } = values;
  for (const [name, value] of Object.entries(rest)) {
    if (value === undefined || value === false || ["nodes", "below"].includes(name)) continue;
    if (name === "limit") words.push("--limit 0");
    else if (value === true) words.push(`--${name}`);
    else if (Array.isArray(value) && name === "metric") words.push("--metric", value.join(","));
    else for (const one of Array.isArray(value) ? value : [value]) words.push(`--${name}`, shellQuote(String(one)));
  }
  const side = (ids: readonly string[], { from, to }: Times) =>
    ids.map((id) => {
      const found = find(runs, id) ?? { run, recording };
      // Of several programs, each side names its own.
      const path = found.run.path + (found.run.recordings.length > 1 ? `#${found.recording.pid}` : "");
      return shellQuote(isRange({ from, to }) ? `${path}@${from ?? ""}..${to ?? ""}` : path);
    });
  const before = side(compared.with.length > 0 ? compared.with : [recording.id], compared.before);
  const after = side([...compared.also, recording.id], compared.after);
  const several = before.length > 1 || after.length > 1;
  return [...words, ...before, ...(several ? ["--"] : []), ...after].join(" ");
}
