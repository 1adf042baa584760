// How sizes and lifetimes of blocks are distributed, as the page Sizes shows it: classes, what they count, and the
// filters that they stand for.
import type { HeatClassColumns, HeatMap as HeatAnswer, Hist } from "../api.ts";
import type { Lists, Numbers } from "../columns.ts";
import type { Clock } from "./clock.ts";
import { estimateOf, intervalText, type Estimate } from "./estimate.ts";
import type { RangeName } from "./filters.ts";
import { count, duration, exactSize, percent, plural, shortCount, size } from "./format.ts";
import type { Place } from "./place.ts";
import { timeText } from "./time.ts";

/** What bars of sizes show. */
export const sizeMetrics = ["allocations", "bytes", "live", "slack"] as const;
export type SizeMetric = (typeof sizeMetrics)[number];

/** The metric of a place. */
export function sizeMetricOf(place: Place): SizeMetric {
  return sizeMetrics.find((name) => name === place.order) ?? "allocations";
}

/** A class of sizes or lifetimes, or a step of time, in bytes or ns. Bounds are included, except for a step's end. */
export interface Class {
  min: number;
  max: number;
  /** Blocks that were never freed: without bounds. */
  never: boolean;
}

/** What was requested of sizes of a class. */
export interface SizeRow extends Class {
  /** Allocations in the range, and the bytes that they asked for. */
  allocations: number;
  bytes: number;
  /** Of these, what is live at the end of the range. */
  live: number;
  liveBlocks: number;
  /** What the allocator gave beyond, and the bytes that were asked for there. */
  slack: number;
  slackOf: number;
  /** Of an estimate: by how much the allocations may be off; NaN: not known. */
  margin?: number;
}

/** A size that was requested. */
export interface ExactRow {
  size: number;
  count: number;
  slack: number;
}

/** Blocks whose lifetimes are of a class. */
export interface AgeRow extends Class {
  count: number;
  bytes: number;
  /** Of an estimate: by how much the count may be off; NaN: not known. */
  margin?: number;
}

/** Which distributions a heat map crosses. */
export type HeatKind = "time" | "lifetime" | "reallocs";

/** How many blocks are in each class of one distribution (down) and of another (across). */
export interface Heat {
  kind: HeatKind;
  down: Class[];
  across: Class[];
  /** By down and across: see `cellOf`. */
  counts: Numbers[];
  bytes: Numbers[];
  inPlace: Numbers[] | undefined;
  /** The least and the greatest count of a cell that has any; 0: none has. */
  least: number;
  most: number;
  total: number;
}

export interface Sizes {
  allocations: number;
  bytes: number;
  deallocations: number;
  sizes: SizeRow[];
  exact: ExactRow[];
  /** Further sizes, and allocations of sizes that were not told apart because there were too many. */
  more: number;
  others: number;
  lifetimes: AgeRow[];
  percentiles: { percent: number; size: number }[];
  reallocs: { count: number; inPlace: number };
  heats: Heat[];
  /** From what the numbers were estimated; undefined: all events were counted. */
  estimate: Estimate | undefined;
  /** What could not be read. */
  missing: string | undefined;
}

/** Makes of an answer what the page shows. */
export function sizesOf(answer: Hist): Sizes {
  const rows = new Map<number, SizeRow>();
  const row = (min: number, max: number): SizeRow => {
    const found = rows.get(min);
    if (found) return found;
    const made = {
      min, max, never: false, allocations: 0, bytes: 0, live: 0, liveBlocks: 0, slack: 0, slackOf: 0,
    };
    rows.set(min, made);
    return made;
  };
  const { sizes, live, slack, exact, lifetimes_ns: ages, percentiles, margins } = answer;
  const marginAt = (list: Numbers | undefined, i: number) => {
    if (!list) return {};
    const margin = list[i] ?? -1;
    return { margin: margin < 0 ? NaN : margin };
  };
  for (let i = 0; i < sizes.rows; i++) {
    const one = row(sizes.min[i] ?? 0, sizes.max[i] ?? 0);
    one.allocations = sizes.count[i] ?? 0;
    one.bytes = sizes.bytes[i] ?? 0;
    Object.assign(one, marginAt(margins?.sizes, i));
  }
  for (let i = 0; i < live.rows; i++) {
    const one = row(live.min[i] ?? 0, live.max[i] ?? 0);
    one.live = live.bytes[i] ?? 0;
    one.liveBlocks = live.count[i] ?? 0;
  }
  for (let i = 0; i < slack.rows; i++) {
    const one = row(slack.min[i] ?? 0, slack.max[i] ?? 0);
    one.slack = slack.slack[i] ?? 0;
    one.slackOf = slack.requested[i] ?? 0;
  }
  const lifetimes: AgeRow[] = Array.from({ length: ages.rows }, (_, i) => ({
    min: ages.min[i] ?? 0, max: ages.max[i] ?? 0, never: false, count: ages.count[i] ?? 0, bytes: ages.bytes[i] ?? 0,
    ...marginAt(margins?.lifetimes_ns, i),
  }));
  const { never_freed: never } = answer;
  if (never.count > 0) lifetimes.push({ min: 0, max: 0, never: true, count: never.count, bytes: never.bytes });
  const list = filled([...rows.values()].sort((a, b) => a.min - b.min), row);
  const heats: Heat[] = [];
  for (const kind of ["time", "lifetime", "reallocs"] as const) {
    const map = answer.heat?.[kind];
    if (map) heats.push(heatOf(kind, map));
  }
  return {
    allocations: answer.allocations,
    bytes: list.reduce((sum, one) => sum + one.bytes, 0),
    deallocations: answer.deallocations,
    sizes: list,
    exact: Array.from({ length: exact.rows }, (_, i) => ({
      size: exact.size[i] ?? 0, count: exact.count[i] ?? 0, slack: exact.slack[i] ?? 0,
    })),
    more: answer.more_sizes,
    others: answer.other_sizes,
    lifetimes,
    percentiles: Array.from({ length: percentiles.rows }, (_, i) => ({
      percent: percentiles.percent[i] ?? 0, size: percentiles.size[i] ?? 0,
    })),
    reallocs: { count: answer.reallocations.count, inPlace: answer.reallocations.in_place },
    heats,
    estimate: answer.estimate ?? undefined,
    missing: answer.missing || undefined,
  };
}

/** With the classes between them that count nothing, but those between 0 bytes and the next one. */
function filled(list: SizeRow[], row: (min: number, max: number) => SizeRow): SizeRow[] {
  const all: SizeRow[] = [];
  for (const one of list) {
    const last = all.at(-1);
    if (last && last.max > 0) {
      for (let min = last.max + 1; min < one.min; min *= 2) all.push(row(min, 2 * min - 1));
    }
    all.push(one);
  }
  return all;
}

function heatOf(kind: HeatKind, map: HeatAnswer): Heat {
  let [least, most, total] = [Infinity, 0, 0];
  const [counts, bytes] = [rowsOf(map.down.counts, map.down.rows), rowsOf(map.down.bytes, map.down.rows)];
  for (const row of counts) {
    for (const n of row) {
      if (n === 0) continue;
      least = Math.min(least, n);
      most = Math.max(most, n);
      total += n;
    }
  }
  const inPlace = kind === "reallocs" ? rowsOf(map.down.in_place, map.down.rows) : undefined;
  return {
    kind, counts, bytes, inPlace, least: most > 0 ? least : 0, most, total,
    down: classesOf(map.down),
    across: classesOf(map.across),
  };
}

/** The cells of each row. */
function rowsOf(cells: Lists<Numbers>, rows: number): Numbers[] {
  return Array.from({ length: rows }, (_, i) => cells.of.subarray(cells.start(i), cells.end(i)));
}

function classesOf({ rows, min, max, never }: HeatClassColumns): Class[] {
  return Array.from({ length: rows }, (_, i) => ({ min: min[i] ?? 0, max: max[i] ?? 0, never: never[i] === 1 }));
}

/** What a cell of a heat map counts. */
export function cellOf({ counts, bytes, inPlace }: Heat, down: number, across: number) {
  return {
    count: counts[down]?.[across] ?? 0,
    bytes: bytes[down]?.[across] ?? 0,
    inPlace: inPlace?.[down]?.[across] ?? 0,
  };
}

/** What a row of a heat map counts. */
export function rowTotal({ counts }: Heat, down: number): number {
  let sum = 0;
  for (const n of counts[down] ?? []) sum += n;
  return sum;
}

/** How strong a cell's colour is: 0 is nothing, 1 the most; each doubling makes it as much stronger. */
export function strengthOf({ least, most }: Heat, n: number): number {
  if (n <= 0) return 0;
  const weakest = 0.14;
  if (most <= least) return 1;
  return weakest + (1 - weakest) * (Math.log(n / least) / Math.log(most / least));
}

/** Above this, sizes and times are not exact in JavaScript: such a class has no upper bound. */
const largest = 2 ** 53;

/** A class of sizes as a filter: 16..31, 64. */
export function sizeFilter({ min, max }: Pick<Class, "min" | "max">): string {
  if (min === max) return `${min}`;
  return `${min}..${max < largest ? max : ""}`;
}

/** A class of lifetimes as a filter: 1024ns..2047ns, never. */
export function ageFilter({ min, max, never }: Class): string {
  if (never) return "never";
  return `${min}ns..${max < largest ? `${max}ns` : ""}`;
}

/** The name of a class of sizes: 16 to 31 B, 2 to <4 KiB. */
export function sizeName({ min, max }: Pick<Class, "min" | "max">): string {
  if (min === max) return byteLabel(min);
  if (max >= largest) return `${byteLabel(min)} or more`;
  if (max < 1024) return `${min} to ${max} B`;
  const [low, high] = [byteLabel(min), byteLabel(max + 1)];
  const unit = high.split(" ")[1] ?? "";
  return `${low.endsWith(` ${unit}`) ? low.slice(0, -unit.length - 1) : low} to <${high}`;
}

/** A power of two as a size: 16 B, 4 KiB. */
function byteLabel(bytes: number): string {
  let [n, unit] = [bytes, 0];
  for (; n >= 1024 && unit < units.length - 1; unit++) n /= 1024;
  return `${n} ${units[unit] ?? ""}`;
}

const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/** Where a class of sizes begins, for an axis. */
function startName({ min }: Class): string {
  return byteLabel(min);
}

/** The name of a class of lifetimes: 1.02 to 2.05 µs. */
export function ageName({ min, max, never }: Class): string {
  if (never) return "never freed";
  if (max >= largest) return `${duration(min)} or more`;
  const [low, high] = [duration(min), duration(max)];
  const unit = high.split(" ")[1] ?? "";
  const alike = low.split(" ").length === 2 && low.endsWith(` ${unit}`);
  return min === max ? low : `${alike ? low.slice(0, -unit.length - 1) : low} to ${high}`;
}

/** The parts of a place that are filters which this page sets. */
export type Choice = Partial<Pick<Place, RangeName | "from" | "to">>;

/** The choice that a cell of a heat map stands for. */
export function choiceOf(heat: Heat, down: number, across: number): Choice {
  const [row, column] = [heat.down[down], heat.across[across]];
  if (!row || !column) return {};
  switch (heat.kind) {
    case "time":
      return { size: sizeFilter(row), from: timeText(column.min), to: timeText(column.max) };
    case "lifetime":
      return { lifetime: ageFilter(row), size: sizeFilter(column) };
    case "reallocs":
      return { "old-size": sizeFilter(row), size: sizeFilter(column) };
  }
}

/** Whether a place has all that a choice sets. */
export function isChosen(place: Place, choice: Choice): boolean {
  const entries = Object.entries(choice) as [keyof Choice, string | undefined][];
  return entries.length > 0 && entries.every(([name, value]) => place[name] === value);
}

/** What a choice replaces in a place: with it, the place is as it was. */
export function before(place: Place, choice: Choice): Choice {
  const names = Object.keys(choice) as (keyof Choice)[];
  return Object.fromEntries(names.map((name) => [name, place[name]]));
}

/** A choice, or its removal if the place has it already. */
export function toggled(place: Place, choice: Choice): Choice {
  if (!isChosen(place, choice)) return choice;
  return Object.fromEntries(Object.keys(choice).map((name) => [name, undefined]));
}

/** The flame graph of a place: of what a bar or a cell counts, by a metric. */
export function flameOf(place: Place, choice: Choice, metric: SizeMetric): Place {
  return { ...place, ...choice, page: "flame", metric: [metric], order: undefined, picked: [], below: [] };
}

/** What the rows and the columns of a heat map are, and how their classes are written. */
export interface HeatWords {
  title: string;
  /** What a cell counts. */
  about: string;
  down: string;
  across: string;
  downName: (row: Class) => string;
  acrossName: (column: Class) => string;
  /** A class of across in short, for an axis. */
  axisName: (column: Class) => string;
}

export function heatWords(kind: HeatKind, clock: Clock): HeatWords {
  switch (kind) {
    case "time":
      return {
        title: "Size by time", about: "allocations by requested size and by time", down: "size", across: "time",
        downName: sizeName, acrossName: ({ min, max }) => clock.span({ begin: min, end: max }),
        axisName: ({ min, max }) => clock.moment(min, max - min),
      };
    case "lifetime":
      return {
        title: "Lifetime by size", about: "freed blocks by lifetime and size, and those that were never freed",
        down: "lifetime", across: "size", downName: ageName, acrossName: sizeName, axisName: startName,
      };
    case "reallocs":
      return {
        title: "Reallocations", about: "reallocations by the sizes before and after",
        down: "from", across: "to", downName: sizeName, acrossName: sizeName, axisName: startName,
      };
  }
}

/** What a cell says: its classes, its numbers and its share. */
export function cellText(heat: Heat, words: HeatWords, down: number, across: number): string {
  const [row, column] = [heat.down[down], heat.across[across]];
  if (!row || !column) return "";
  const { count: n, bytes, inPlace } = cellOf(heat, down, across);
  const [what, share] = [counted(heat.kind, n), percent(n, heat.total)];
  if (heat.kind === "reallocs") {
    const where = `from ${sizeName(row)} to ${sizeName(column)}`;
    return `${where}: ${what}, ${share}, ${count(inPlace)} in place, ${size(bytes)} copied`;
  }
  const where = heat.kind === "time" ? `at ${words.acrossName(column)}` : sizeName(column);
  return `${words.downName(row)}, ${where}: ${what}, ${share}, ${size(bytes)}`;
}

/** What a heat map counts: 1 block, 2,000 reallocations. */
export function counted(kind: HeatKind, n: number): string {
  return plural(n, kind === "time" ? "allocation" : kind === "reallocs" ? "reallocation" : "block");
}

/** What a heat map is of, for those who do not see it. */
export function describe(heat: Heat, words: HeatWords): string {
  const axis = (of: string, list: Class[], name: (one: Class) => string) => {
    const [first, last] = [list[0], list.at(-1)];
    return first && last ? `${of} from ${name(first)} to ${name(last)}` : of;
  };
  const { down, across } = strongest(heat);
  return (
    `Rows are ${axis(words.down, heat.down, words.downName)}, columns ` +
    `${axis(words.across, heat.across, words.acrossName)}. Most are in ${cellText(heat, words, down, across)}. ` +
    "Arrows move from cell to cell, Enter filters by one."
  );
}

/** Which of so many columns have a label, if each takes some pixels: every second, fifth, tenth ... */
export function labelled(columns: number, cell: number, pixels: number): number[] {
  const step = [1, 2, 3, 5, 10, 15, 20, 30, 60].find((n) => n * cell >= pixels) ?? columns;
  const list: number[] = [];
  for (let i = 0; i < columns; i += Math.max(1, step)) list.push(i);
  return list;
}

/** A number of a row of sizes as it is shown, and in full. */
export function sizeCell(row: SizeRow, metric: SizeMetric): { text: string; exact: string; unsure?: boolean } {
  const n = row[metric];
  if (metric === "allocations") return countCell(n, row.margin, "allocation");
  const exact = exactSize(n);
  return { text: size(n), exact: metric === "live" ? `${exact} in ${plural(row.liveBlocks, "block")}` : exact };
}

/** A number of things, which may be an estimate. */
export function countCell(n: number, margin: number | undefined, of: string) {
  if (margin === undefined) return { text: shortCount(n), exact: plural(n, of) };
  return { ...estimateOf(shortCount(n), n, margin), exact: intervalText(n, margin, (value) => plural(value, of)) };
}

/** What the allocator gave beyond, as a share of what was asked for: of small blocks, it may be more than that. */
export function slackShare({ slack, slackOf }: Pick<SizeRow, "slack" | "slackOf">): string {
  return slack > slackOf && slackOf > 0 ? `${count(Math.round((100 * slack) / slackOf))} %` : percent(slack, slackOf);
}

/** The first sentence: how many allocations of which sizes. */
export function summaryOf({ allocations, bytes, percentiles, sizes, others }: Sizes): string {
  const at = (percent: number) => percentiles.find((one) => one.percent === percent)?.size;
  const [half, most, nearly] = [at(50), at(90), at(99)];
  const parts = [`${plural(allocations, "allocation")} of ${size(bytes)}`];
  if (half !== undefined && most !== undefined && nearly !== undefined) {
    parts.push(`half are at most ${size(half)}, 90 % ${size(most)}, 99 % ${size(nearly)}`);
  } else if (others > 0) parts.push("of too many different sizes to tell all apart");
  const sum = (of: (row: SizeRow) => number) => sizes.reduce((all, row) => all + of(row), 0);
  const [slack, slackOf] = [sum((row) => row.slack), sum((row) => row.slackOf)];
  if (slackOf > 0) parts.push(`slack ${size(slack)}, ${slackShare({ slack, slackOf })} of what was asked for`);
  return parts.join(" · ");
}

/** Where the current cell of a heat map is. */
export interface Cell {
  down: number;
  across: number;
}

/** Where a key leads from a cell; undefined: it leads nowhere. */
export function stepTo({ down, across }: Cell, key: string, heat: Heat): Cell | undefined {
  const [lastDown, lastAcross] = [heat.down.length - 1, heat.across.length - 1];
  const to = (d: number, a: number): Cell => ({
    down: Math.min(Math.max(d, 0), lastDown),
    across: Math.min(Math.max(a, 0), lastAcross),
  });
  switch (key) {
    case "ArrowUp":
      return to(down - 1, across);
    case "ArrowDown":
      return to(down + 1, across);
    case "ArrowLeft":
      return to(down, across - 1);
    case "ArrowRight":
      return to(down, across + 1);
    case "Home":
      return to(down, 0);
    case "End":
      return to(down, lastAcross);
    case "PageUp":
      return to(0, across);
    case "PageDown":
      return to(lastDown, across);
  }
  return undefined;
}

/** The cell with the most: where the reader begins. */
export function strongest(heat: Heat): Cell {
  for (const [down, row] of heat.counts.entries()) {
    const across = row.indexOf(heat.most);
    if (across >= 0 && heat.most > 0) return { down, across };
  }
  return { down: 0, across: 0 };
}
