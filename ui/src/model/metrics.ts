// The metrics, as they are shown: what each is, in which unit, and whether a place can have it.
import type { MetricName } from "../api.ts";
import type { Clock } from "./clock.ts";
import { nameOfRange, ranges } from "./filters.ts";
import type { Place } from "./place.ts";

export type Unit = "bytes" | "count" | "time" | "rate" | "ratio";

export interface Metric {
  name: MetricName;
  label: string;
  /** In the heading of a column. */
  short: string;
  unit: Unit;
  /** What is counted, in a line. */
  about: string;
  /** The values of parts add up to that of the whole. */
  adds: boolean;
}

/** Of labels that are too long for a column. */
const shorts: Partial<Record<MetricName, string>> = {
  peak: "at the peak",
  "peak-blocks": "blocks at the peak",
  live: "live",
  "live-blocks": "live blocks",
  leaked: "leaked",
  "leaked-blocks": "leaked blocks",
  temporary: "temporary",
  churn: "allocated /s",
  copied: "copied",
  "zero-size": "of 0 bytes",
  "min-size": "smallest",
  "mean-size": "mean size",
  "max-size": "largest",
  recycling: "recycling",
  time: "time before",
  depth: "deepest stack",
  mapped: "mapped",
  "mapped-peak": "mapped at its peak",
  "mapped-resident": "mapped, resident",
};

/** How metrics are listed: groups with headings. */
export const metricGroups: readonly { title: string; metrics: readonly Metric[] }[] = [
  group("At a moment", [
    metric("peak", "live at the peak", "bytes", "not yet freed when the process had most bytes live"),
    metric("peak-blocks", "blocks at the peak", "count", "how many blocks were live then"),
    metric("live", "live at the end", "bytes", "not yet freed at the end of the selected time, or at its moment"),
    metric("live-blocks", "blocks live at the end", "count", "how many blocks were live then"),
    metric("kept", "kept", "bytes", "allocated in the range, and live at its end or at the chosen moment"),
    metric("kept-blocks", "blocks kept", "count", "how many blocks of the range are live then"),
    metric("own-peak", "own peak", "bytes", "the most that each row had live at once, at its own time", false),
  ]),
  group("Over the range", [
    metric("bytes", "allocated", "bytes", "all that was requested, freed or not"),
    metric("freed", "freed", "bytes", "of blocks that were freed, whenever allocated"),
    metric("leaked", "never freed", "bytes", "allocated in the range, and still live when the recording ends"),
    metric("leaked-blocks", "blocks never freed", "count", "how many are still live when it ends"),
    metric("temporary-bytes", "temporary bytes", "bytes", "of blocks that were freed before the thread's next one"),
    metric("copied", "copied by reallocations", "bytes", "what was moved to make blocks larger or smaller"),
    metric("slack", "slack", "bytes", "what the allocator gave beyond what was asked for"),
  ]),
  group("Rates and counts", [
    metric("allocations", "allocations", "count", "how many blocks were allocated"),
    metric("deallocations", "deallocations", "count", "how many blocks were freed"),
    metric("temporary", "temporary allocations", "count", "freed before the thread's next allocation"),
    metric("reallocations", "reallocations", "count", "allocations that changed the size of a block"),
    metric("zero-size", "allocations of 0 bytes", "count", "they take memory, too"),
    metric("churn", "allocated per second", "rate", "bytes allocated, divided by the length of the range"),
    metric("recycling", "allocated over own peak", "ratio", "how often the same memory could have been reused", false),
  ]),
  group("Sizes and times of blocks", [
    metric("min-size", "smallest allocation", "bytes", "its size", false),
    metric("mean-size", "mean allocation", "bytes", "bytes divided by allocations", false),
    metric("max-size", "largest allocation", "bytes", "its size", false),
    metric("min-lifetime", "shortest lifetime", "time", "of blocks that were freed", false),
    metric("mean-lifetime", "mean lifetime", "time", "of blocks that were freed", false),
    metric("max-lifetime", "longest lifetime", "time", "of blocks that were freed", false),
    metric("time", "time since the allocation before", "time", "what the same thread did meanwhile, in sum"),
    metric("depth", "deepest call stack", "count", "in frames, inlined functions not counted", false),
  ]),
  group("Mapped by the program itself", [
    metric("mapped", "mapped by the program", "bytes", "by mmap, brk and the like, without the allocator's"),
    metric("mapped-peak", "mapped when most were", "bytes", "what was mapped at that moment"),
    metric("mapped-resident", "mapped, in the largest resident set", "bytes", "what of it was in memory then"),
  ]),
];

export const metrics: readonly Metric[] = metricGroups.flatMap((one) => one.metrics);

function group(title: string, metrics: readonly Metric[]) {
  return { title, metrics };
}

function metric(name: MetricName, label: string, unit: Unit, about: string, adds = true): Metric {
  return { name, label, short: shorts[name] ?? label, unit, about, adds };
}

const byName = new Map<string, Metric>(metrics.map((m) => [m.name, m]));

/** The metric of a name; undefined: there is none. */
export function metricOf(name: string): Metric | undefined {
  return byName.get(name);
}

/** What a metric is called at a place: with the moment that it is of. */
export function labelAt(name: string, { at }: Pick<Place, "at">, clock: Clock): string {
  const label = metricOf(name)?.label ?? name;
  if (!/^kept/.test(name)) return label;
  return `${label} at ${at === undefined ? "the end of the range" : at === "end" ? "the end" : clock.text(at)}`;
}

/** A range of time, as questions take it. */
export interface Times {
  from?: string | undefined;
  to?: string | undefined;
}

export function isRange({ from, to }: Times): boolean {
  return from !== undefined || to !== undefined;
}

/**
 * The metric that counts first, on every page: the one that the reader has chosen. Without one, it is what was live at
 * the peak; in a range, at its end: what was live at the highest moment is mostly from before the range.
 * @param range the selected range, which is not yet in the place while the reader drags
 */
export function metricAt({ metric }: Pick<Place, "metric">, range: Times): string {
  return metric[0] ?? (isRange(range) ? "live" : "peak");
}

/** The metrics of a page's columns: those that the reader has chosen; of less than two, also the page's own. */
export function metricsAt(place: Pick<Place, "metric">, range: Times, others: readonly MetricName[]): MetricName[] {
  const all = [...place.metric, ...(place.metric.length > 1 ? [] : [metricAt({ metric: [] }, range), ...others])];
  return [...new Set(all.flatMap((name) => metricOf(name)?.name ?? []))];
}

/** What is stored of the whole run only, by call stack: what the program mapped itself. */
const ofWhole: readonly string[] = ["mapped", "mapped-peak", "mapped-resident"];

/** Groupings that are about blocks, which mappings are not. */
const ofBlocks = ["thread", "size", "allocator", "region", "region-name"];

/** What a metric does not go with, and the place without it. */
export interface Hindrance {
  words: string[];
  without: Partial<Place>;
}

/** What a place has that a metric does not go with; undefined: nothing. */
export function hindrance(place: Place, name: string): Hindrance | undefined {
  if (!ofWhole.includes(name)) return undefined;
  const words: string[] = [];
  const without: Partial<Place> = {};
  if (place.from !== undefined || place.to !== undefined) {
    words.push("the range of time");
    Object.assign(without, { from: undefined, to: undefined });
  }
  for (const kind of ["thread", "freed-by", "region"] as const) {
    if (place[kind].length === 0) continue;
    words.push(kind === "freed-by" ? "the filter by who freed" : `the filter by ${kind}`);
    without[kind] = [];
  }
  for (const kind of ranges) {
    if (place[kind] === undefined) continue;
    words.push(`the filter by ${nameOfRange(kind)}`);
    without[kind] = undefined;
  }
  if (place.page === "table" && place.by !== undefined && ofBlocks.includes(place.by)) {
    words.push(`the grouping by ${place.by}`);
    without.by = undefined;
  }
  return words.length === 0 ? undefined : { words, without };
}

/** Why a place cannot have a metric; undefined: it can. */
export function whyNot(place: Place, name: string): string | undefined {
  const found = hindrance(place, name);
  return found && `known of the whole run only: it does not go with ${found.words.join(", ")}`;
}

/** The moment that a question about these metrics has: what is live or kept alone is of one. */
export function atOf(place: Pick<Place, "at">, asked: readonly string[]): { at?: string } {
  const of = asked.some((name) => /^(live|kept)/.test(name));
  return place.at !== undefined && of ? { at: place.at } : {};
}
