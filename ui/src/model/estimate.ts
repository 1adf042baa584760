// Estimates: sums that need all events of a large recording are shown first as they follow from a part of these.
import type { ByName, MetricName } from "../api.ts";
import { ranges, type RangeName } from "./filters.ts";
import type { Place } from "./place.ts";

/** Of how many events a recording answers everything at once (query.QuickSample in Go). */
export const mostAtOnce = 2 ** 24;

/** What an answer says of how it was estimated. */
export interface Estimate {
  /** Of the events that were read. */
  share: number;
}

const sums: ReadonlySet<MetricName> = new Set<MetricName>([
  ...(["allocations", "bytes", "deallocations", "freed", "temporary", "temporary-bytes"] as const),
  ...(["zero-size", "slack", "reallocations", "churn"] as const),
]);

/** The metrics of a list that can be estimated: sums over events. */
export function estimable(metrics: readonly MetricName[]): MetricName[] {
  return metrics.filter((name) => sums.has(name));
}

/** Whether only events answer the questions of a place: it selects blocks, or groups are groups of blocks. */
export function needsEvents(place: Pick<Place, "thread" | "freed-by" | "region" | RangeName>): boolean {
  const listed = place.thread.length + place["freed-by"].length + place.region.length > 0;
  return listed || ranges.some((name) => place[name] !== undefined);
}

/** Whether an estimate comes before the exact answer, if there is something to estimate. */
export function isEstimated(place: Place, by: ByName, events: number | undefined): boolean {
  if (events === undefined || events <= mostAtOnce) return false;
  if (by === "allocator" || place["freed-by"].length > 0) return false;
  if (place.lifetime !== undefined || place["old-size"] !== undefined) return false;
  return needsEvents(place) || by === "thread" || by === "size" || by === "region" || by === "region-name";
}

/** A number as an estimate: its text, and whether it has no interval, because too little of it was seen. */
export function estimateOf(text: string, value: number, margin: number): { text: string; unsure: boolean } {
  if (Number.isNaN(value) || value === 0) return { text, unsure: false };
  if (Number.isNaN(margin)) return { text: `≈ ${text}`, unsure: true };
  return { text: `≈ ${text} ± ${marginText(value, margin)}`, unsure: false };
}

/** Half the width of an interval, as a share of the value. */
export function marginText(value: number, margin: number): string {
  if (margin === 0 || value === 0) return "0 %";
  const share = (100 * margin) / value;
  if (share < 1) return "<1 %";
  return share > 999 ? ">999 %" : `${Math.round(share)} %`;
}

/** The interval of an estimate, in words. */
export function intervalText(value: number, margin: number, text: (value: number) => string): string {
  if (Number.isNaN(margin)) return "an estimate from a few events: how far off it may be is not known";
  const least = text(Math.max(0, Math.round(value - margin)));
  return `an estimate: between ${least} and ${text(Math.round(value + margin))}, in 95 of 100 cases`;
}
