// The metrics, as they are shown: what each is, and in which unit.
import type { MetricName } from "../api.ts";

export type Unit = "bytes" | "count" | "time" | "rate" | "ratio";

export interface Metric {
  name: MetricName;
  label: string;
  unit: Unit;
  /** The values of parts add up to that of the whole. */
  adds: boolean;
}

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
  return { name, label, unit, adds };
}

const byName = new Map<string, Metric>(metrics.map((m) => [m.name, m]));

/** The metric of a name; undefined: there is none. */
export function metricOf(name: string): Metric | undefined {
  return byName.get(name);
}
