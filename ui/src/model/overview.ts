// What the overview shows, as data: sentences, a waterfall that adds up, the parts of the resident set.
import type { MetricName } from "../api.ts";
import type { Filters } from "./filters.ts";
import { count, digits, duration, exactSize, percent, shortCount, size } from "./format.ts";
import type { Action } from "./keys.ts";
import { metricOf } from "./metrics.ts";
import { pageNames, placeOf, type Place } from "./place.ts";
import { parseTime, timeText, type Run } from "./time.ts";
import { rows, type Node, type Row } from "./tree.ts";

const inOverview = { section: "Overview", page: "overview" } as const;

/** The actions of the page. */
export const overviewActions: readonly Action[] = [
  { id: "overview.show", keys: ["g"], title: "Show me what stands out most", ...inOverview },
  { id: "overview.metric", keys: ["m"], title: "List the functions by the next metric", ...inOverview },
];

/** A function in its source. */
export interface Code {
  name: string;
  file: string;
  line: number;
  module: string;
}

/** A part of a sentence: text, or a value with the same in full. */
export interface Part {
  text: string;
  exact?: string;
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
    case "ns":
    case "time":
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

/** The place that shows the evidence: a fresh selection in the same recording. */
export function placeOfInsight(recording: string, { show, code, rule }: Insight): Place {
  const page = pageNames.find((name) => name === show.page) ?? "flame";
  return {
    ...placeOf(recording),
    page,
    from: show.from || undefined,
    to: show.to || undefined,
    metric: page === "leaks" || !metricOf(show.metric) ? [] : [show.metric],
    focus: show.focus === "" ? [] : [show.focus],
    picked: code.name === "" || rule === "mappings" ? [] : [code.name],
  };
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
}

export interface Change {
  code: Code;
  bytes: number;
  blocks: number;
}

/** A bar of a waterfall. */
export interface Bar {
  kind: "begin" | "change" | "others" | "end";
  /** The change; of the first and the last bar, the level. */
  bytes: number;
  /** Where the bar begins and ends, from 0 to 1 of the width. */
  from: number;
  to: number;
  row?: Change;
}

export interface Waterfall {
  bars: Bar[];
  /** The axis does not begin at 0: the changes are small beside the levels. */
  cut: boolean;
  /** The share of the change that the named rows make up. */
  explained: number | undefined;
}

/** Changes below this share of the level are drawn on an axis that is cut. */
const smallChange = 0.25;

/** The bars of a rise: the first level, each change from where the one before ended, the last level. */
export function waterfall(rise: Rise): Waterfall {
  const { begin, end, rows: changes, others } = rise;
  const rest = others.grown - others.shrunk;
  let level = begin;
  const steps: { kind: Bar["kind"]; bytes: number; from: number; to: number; row?: Change }[] = [];
  for (const row of changes) {
    steps.push({ kind: "change", bytes: row.bytes, from: level, to: level + row.bytes, row });
    level += row.bytes;
  }
  if (others.groups > 0) steps.push({ kind: "others", bytes: rest, from: level, to: level + rest });
  const ends = steps.flatMap(({ from, to }) => [from, to]);
  const most = Math.max(begin, end, ...ends, 1);
  const least = Math.min(begin, end, ...ends);
  const cut = least > 0 && most > least && most - least < smallChange * most;
  const base = cut ? Math.max(0, least - (most - least) * 0.5) : 0;
  const x = (bytes: number) => (bytes - base) / Math.max(most - base, 1);
  const bars: Bar[] = [
    { kind: "begin", bytes: begin, from: 0, to: x(begin) },
    ...steps.map((s) => ({ ...s, from: x(Math.min(s.from, s.to)), to: x(Math.max(s.from, s.to)) })),
    { kind: "end", bytes: end, from: 0, to: x(end) },
  ];
  const change = end - begin;
  const named = changes.reduce((sum, row) => sum + row.bytes, 0);
  return { bars, cut, explained: change === 0 ? undefined : named / change };
}

/** A change with its sign. */
export function signed(bytes: number): string {
  return `${bytes > 0 ? "+" : bytes < 0 ? "−" : "±"}${size(Math.abs(bytes))}`;
}

/** In words, how much of the change is named; empty if that says nothing. */
export function explanation({ rows, others }: Rise, explained: number | undefined): string {
  if (rows.length === 0 || explained === undefined) return "";
  const places = rows.length === 1 ? "one place" : `${rows.length} places`;
  if (others.groups === 0) return `all from ${places}`;
  if (explained < 0 || explained > 1.2) return `${places} changed most`;
  return `${percent(Math.min(explained, 1), 1)} from ${places}`;
}

/** Below this share of the level, a change is none that anybody would look for. */
const flatChange = 0.001;

/** Whether live bytes neither rose nor fell, and nothing that is named did: then there is nothing to explain. */
export function isFlat({ begin, end, rows: changes, others }: Rise): boolean {
  const most = Math.max(begin, end);
  const change = Math.max(Math.abs(end - begin), ...changes.map(({ bytes }) => Math.abs(bytes)));
  return change <= flatChange * most && Math.max(others.grown, others.shrunk) <= 10 * flatChange * most;
}

/** What a rise is called. */
export function riseTitle(rise: Rise | undefined, ranged: boolean): string {
  if (!ranged) return "What rose to the peak";
  if (!rise) return "Explain this rise";
  if (Math.abs(rise.end - rise.begin) <= flatChange * Math.max(rise.begin, rise.end)) return "What changed";
  return rise.end < rise.begin ? "Explain this fall" : "Explain this rise";
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

/** A moment to the millisecond: 0.965 s. */
export function moment(ns: number): string {
  return `${(ns / 1e9).toFixed(3)} s`;
}

/** The moment whose resident set is shown: its name, and as a parameter; no parameter: that of the largest. */
export interface Asked {
  title: string;
  at?: string;
  atNs?: number;
}

/**
 * The cursor, if it is in the selected range; else the end of the range; without one, the largest resident set.
 * @param run what is known of it; a text that means nothing there (a mark) is taken as it is
 */
export function residentMoment(at: string | undefined, { from, to }: Filters, run: Run): Asked {
  const ns = at === undefined ? undefined : parseTime(at, run);
  const begin = parseTime(from ?? "start", run) ?? run.begin;
  const end = to === undefined ? undefined : parseTime(to, run); // a run that goes on has none yet
  const within = ns === undefined || (ns >= begin && (end === undefined || ns <= end));
  if (at !== undefined && within) return asked(at === "peak" ? "the live peak" : undefined, at, ns);
  if (from === undefined && to === undefined) return { title: "at its most" };
  return asked("the end of the range", to ?? "end", end ?? parseTime(to ?? "end", run));
}

function asked(name: string | undefined, at: string, atNs: number | undefined): Asked {
  const when = atNs === undefined || !Number.isFinite(atNs) ? at : moment(atNs);
  return { title: `at ${name ? `${name}, ${when}` : when}`, at, ...(atNs !== undefined && { atNs }) };
}

/** When a resident set was read, in words: it is read now and then only. */
export function readAt(atNs: number, askedNs: number | undefined): string {
  const exact = askedNs === undefined || moment(askedNs) === moment(atNs);
  return exact ? `read at ${moment(atNs)}` : `the nearest reading: ${moment(atNs)}`;
}

/** What the resident set consisted of. */
export interface Resident {
  atNs: number;
  bytes: number;
  parts: ResidentPart[];
}

export interface ResidentPart {
  kind: string;
  label: string;
  bytes: number;
  /** The largest of what it consists of: mappings, files. */
  of: PartOf[];
}

export interface PartOf {
  name: string;
  hint: string;
  bytes: number;
  /** It is a function, by that name. */
  function: boolean;
  /** The line of the source that has made it; "" and 0: not known, or none has. */
  file: string;
  line: number;
}

/** Where a part of a resident set, or a function of it, is seen in detail; undefined: nowhere. */
export function placeOfPart(
  recording: string,
  { atNs }: Resident,
  { kind }: ResidentPart,
  of?: PartOf,
): Place | undefined {
  const start = placeOf(recording);
  if (kind === "live") return { ...start, page: "flame", to: timeText(atNs), metric: ["live"] };
  if (kind !== "mapped" || (of && !of.function)) return undefined;
  return { ...start, page: "table", metric: ["mapped-resident"], picked: of ? [of.name] : [] };
}

const residentLabels: Record<string, string> = {
  live: "live blocks",
  slack: "free in the allocator, and slack",
  mapped: "mapped by the program",
  stacks: "stacks of the threads",
  static: "static data",
  files: "code and files",
  heaptap: "heaptap’s own",
  rest: "rest",
};

/** What parts mean, where their names do not say it. */
export const residentMeanings: Record<string, string> = {
  live: "Pages of blocks that are allocated and not freed. Of small blocks, the bytes that were requested.",
  slack:
    "Free: blocks that were freed, which the allocator keeps to use them again. Slack: bytes that it adds to a block " +
    "beyond those requested, and its own tables. How much is which was not measured.",
  mapped: "What the program mapped itself with mmap, past the allocator: arenas, pools, caches.",
  stacks: "Local variables and calls of all threads.",
  static: "Global variables of the program and of its libraries.",
  files: "Pages of the program, of its libraries and of other files. Other processes may share them.",
  heaptap: "heaptap’s library and tables: the process would not have them without heaptap.",
  rest: "What nobody has recorded: the loader’s, the kernel’s.",
};

/** The kinds of parts, in the order of the bar. */
export const residentKinds = Object.keys(residentLabels);

/**
 * The parts of a resident set in the order of the bar. What no kind names is rest, so that they add up.
 * @param parts bytes by kind
 */
export function residentOf(
  atNs: number,
  bytes: number,
  parts: ReadonlyMap<string, number>,
  of: ReadonlyMap<string, ResidentPart["of"]> = new Map(),
): Resident {
  let left = bytes;
  const list = residentKinds.map((kind): ResidentPart => {
    const n = kind === "rest" ? left : (parts.get(kind) ?? 0);
    left -= n;
    return { kind, label: residentLabels[kind] ?? kind, bytes: n, of: of.get(kind) ?? [] };
  });
  return { atNs, bytes, parts: list.filter((part) => part.bytes > 0) };
}

/** Resident sets of so many times the live blocks are said to be. */
const worthSaying = 1.5;

const residentReasons: Record<string, string> = {
  slack: "freed blocks stay on pages that others still use",
  mapped: "memory that the program takes from the kernel by itself",
  stacks: "each thread keeps what its stack has ever needed",
  files: "code and constants, which other programs share",
  heaptap: "only while it records",
};

/** Why a resident set is much larger than what the program has asked for; "": it is not. */
export function residentInWords({ bytes, parts }: Resident): string {
  const live = parts.find(({ kind }) => kind === "live")?.bytes ?? 0;
  const most = parts
    .filter(({ kind }) => kind !== "live")
    .reduce<ResidentPart | undefined>((best, part) => (best && best.bytes >= part.bytes ? best : part), undefined);
  if (live <= 0 || !most || bytes < worthSaying * live) return "";
  const reason = residentReasons[most.kind];
  return (
    `${digits(bytes / live)} times the live blocks. Most of the rest is ${most.label}` +
    (reason === undefined ? "." : `: ${reason}.`)
  );
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
export function mostMetric(place: Place): MostMetric {
  return mostMetrics.find((name) => name === place.metric[0]) ?? (place.from || place.to ? "live" : "peak");
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
