// What the overview shows, as data: sentences, and the functions with the most.
import type { MetricName } from "../api.ts";
import type { Code } from "./explain.ts";
import type { Filters } from "./filters.ts";
import { count, duration, exactSize, percent, shortCount, size } from "./format.ts";
import type { Action } from "./keys.ts";
import { isRange, metricAt, metricOf, type Times } from "./metrics.ts";
import { home, pageNames, placeOf, type Place } from "./place.ts";
import { rows, type Node, type Row } from "./tree.ts";

const inOverview = { section: "Overview", page: "overview" } as const;

/** The actions of the page. */
export const overviewActions: readonly Action[] = [
  { id: "overview.show", keys: ["f"], title: "Show me what stands out most", ...inOverview },
  { id: "overview.metric", keys: ["m"], title: "List the functions by the next metric", ...inOverview },
];

/** A part of a sentence: text, or a value with the same in full. */
export interface Part {
  text: string;
  exact?: string;
  /** Of a moment, which is written as all moments of the run are. */
  atNs?: number;
}

/** Something that stands out. */
export interface Insight {
  rule: string;
  code: Code;
  /** What a fix would save. */
  saves: Part;
  /** The sentence after the name, and how it was determined. */
  says: Part[];
  basis: Part[];
  measured: boolean;
  confidence: number;
  show: { page: string; metric: string; from: string; to: string; focus: string };
}

/** A value of a sentence, by its unit. */
export function partOf(text: string, value: number, unit: string): Part {
  switch (unit) {
    case "bytes":
      return { text: size(Math.round(value)), exact: exactSize(Math.round(value)) };
    case "bytes/s":
      return { text: perTime(value), exact: `${count(Math.round(value))} bytes per second` };
    case "count":
      return { text: shortCount(Math.round(value)), exact: count(Math.round(value)) };
    case "count/s":
      return { text: `${shortCount(Math.round(value))} per second` };
    case "time":
      return { text: "", exact: `${count(Math.round(value))} ns`, atNs: Math.round(value) };
    case "ns":
      return { text: duration(Math.round(value)), exact: `${count(Math.round(value))} ns` };
    case "share":
      return { text: percent(value, 1) };
    default:
      return { text };
  }
}

/** Bytes per second, minute or hour: the first that makes them at least a KiB. */
function perTime(bytes: number): string {
  for (const [name, seconds] of [
    ["second", 1],
    ["minute", 60],
  ] as const) {
    if (bytes * seconds >= 1024) return `${size(Math.round(bytes * seconds))} per ${name}`;
  }
  return `${size(Math.round(bytes * 3600))} per hour`;
}

/** The place that shows the evidence: a fresh selection in the same recording, with nothing that it does not need. */
export function placeOfInsight(recording: string, { show, code, rule }: Insight): Place {
  const page = pageNames.find((name) => name === show.page) ?? "flame";
  const [from, to] = [show.from || undefined, show.to || undefined];
  const needsMetric = page !== "leaks" && metricOf(show.metric) && show.metric !== metricAt(home, { from, to });
  return {
    ...placeOf(recording),
    page,
    from,
    to,
    metric: needsMetric ? [show.metric] : [],
    focus: show.focus === "" ? [] : [show.focus],
    picked: code.name === "" || rule === "mappings" ? [] : [code.name],
  };
}

/** Which of the range and the filters do not apply to what is shown of the whole run; empty if none is on. */
export function wholeRun({ from, to, ...others }: Filters): string {
  return notApplied(from !== undefined || to !== undefined, Object.keys(others).length > 0, "of the whole run");
}

/** The same of what is shown of a moment, whatever allocated it. */
export function wholeProcess({ from: _from, to: _to, ...others }: Filters): string {
  return notApplied(false, Object.keys(others).length > 0, "of the whole process");
}

function notApplied(ranged: boolean, filtered: boolean, scope: string): string {
  if (!ranged && !filtered) return "";
  if (ranged && filtered) return `${scope}: the range and the filters do not apply`;
  return ranged ? `${scope}: the range does not apply` : `${scope}: the filters do not apply`;
}

/** The metrics by which the functions with the most are listed. */
export const mostMetrics = ["peak", "live", "leaked", "bytes", "allocations", "temporary"] as const;
export type MostMetric = (typeof mostMetrics)[number];

export const mostLabels: Record<MostMetric, string> = {
  peak: "live at the peak",
  live: "live at the end",
  leaked: "never freed",
  bytes: "allocated",
  allocations: "allocations",
  temporary: "temporary",
};

/** The metric of a place, if the table has it. */
export function mostMetric(place: Place, range: Times): MostMetric {
  const chosen = mostMetrics.find((name) => name === metricAt(place, range));
  return chosen ?? (isRange(range) ? "live" : "peak");
}

/** The metric after one, and after the last the first. */
export function nextMetric(metric: MostMetric): MostMetric {
  return mostMetrics[(mostMetrics.indexOf(metric) + 1) % mostMetrics.length] ?? metric;
}

/** Functions with the most of a metric. */
export interface Most {
  metric: MostMetric;
  total: number;
  rows: Holder[];
  more: number;
}

/** A function with its numbers: by metric, what it allocated without those that it calls. */
export interface Holder extends Code {
  /** It stands for what has no function that could be named. */
  unknown: boolean;
  values: Partial<Record<MetricName, number>>;
  /** Of the metric of the list, with those that it calls. */
  withCallees: number;
}

/** A number of a metric in few characters, and in full. */
export function metricPart(name: MetricName, value: number | undefined): Part {
  if (value === undefined || Number.isNaN(value)) return { text: "–", exact: "not known" };
  return partOf("", value, metricOf(name)?.unit === "bytes" ? "bytes" : "count");
}

/**
 * The rows of a tree around one of them: it and what is next to it, in the order of the tree.
 * @returns how many rows are left out, too
 */
export function around<T extends Node>(
  nodes: readonly T[],
  id: string,
  most: number,
): { rows: Row<T>[]; left: number } {
  const all = rows(nodes);
  if (all.length <= most) return { rows: all, left: 0 };
  const at = Math.max(0, all.findIndex(({ node }) => node.id === id));
  const first = Math.min(Math.max(0, at - Math.floor(most / 2)), all.length - most);
  return { rows: all.slice(first, first + most), left: all.length - most };
}
