// The metrics, as they are shown: what each is, in which unit, and whether a place can have it.
import type { MetricName } from "../api.ts";
import type { Place } from "./place.ts";

export type Unit = "bytes" | "count" | "time" | "rate" | "ratio";

export interface Metric {
  name: MetricName;
  label: string;
  /** In the heading of a column. */
  short: string;
  unit: Unit;
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

export const metrics: readonly Metric[] = [
  metric("peak", "live at the peak", "bytes"),
  metric("peak-blocks", "blocks at the peak", "count"),
  metric("live", "live at the end of the range", "bytes"),
  metric("live-blocks", "blocks live at the end of the range", "count"),
  metric("leaked", "never freed", "bytes"),
  metric("leaked-blocks", "blocks never freed", "count"),
  metric("bytes", "allocated", "bytes"),
  metric("allocations", "allocations", "count"),
  metric("freed", "freed", "bytes"),
  metric("deallocations", "deallocations", "count"),
  metric("temporary", "temporary allocations", "count"),
  metric("temporary-bytes", "temporary bytes", "bytes"),
  metric("own-peak", "own peak", "bytes", false),
  metric("churn", "allocated per second", "rate"),
  metric("reallocations", "reallocations", "count"),
  metric("copied", "copied by reallocations", "bytes"),
  metric("slack", "slack", "bytes"),
  metric("zero-size", "allocations of 0 bytes", "count"),
  metric("min-size", "smallest allocation", "bytes", false),
  metric("mean-size", "mean allocation", "bytes", false),
  metric("max-size", "largest allocation", "bytes", false),
  metric("min-lifetime", "shortest lifetime", "time", false),
  metric("mean-lifetime", "mean lifetime", "time", false),
  metric("max-lifetime", "longest lifetime", "time", false),
  metric("recycling", "allocated over own peak", "ratio", false),
  metric("time", "time since the allocation before", "time"),
  metric("depth", "deepest call stack", "count", false),
  metric("mapped", "mapped by the program", "bytes"),
  metric("mapped-peak", "mapped when most were", "bytes"),
  metric("mapped-resident", "mapped, in the largest resident set", "bytes"),
];

function metric(name: MetricName, label: string, unit: Unit, adds = true): Metric {
  return { name, label, short: shorts[name] ?? label, unit, adds };
}

const byName = new Map<string, Metric>(metrics.map((m) => [m.name, m]));

/** The metric of a name; undefined: there is none. */
export function metricOf(name: string): Metric | undefined {
  return byName.get(name);
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
  for (const kind of ["thread", "region"] as const) {
    if (place[kind].length === 0) continue;
    words.push(`the filter by ${kind}`);
    without[kind] = [];
  }
  for (const kind of ["size", "lifetime"] as const) {
    if (place[kind] === undefined) continue;
    words.push(`the filter by ${kind}`);
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

/** The moment that a question about these metrics has: live bytes and blocks alone are of one. */
export function atOf(place: Pick<Place, "at">, asked: readonly string[]): { at?: string } {
  const of = asked.some((name) => name === "live" || name === "live-blocks");
  return place.at !== undefined && of ? { at: place.at } : {};
}
