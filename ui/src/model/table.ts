// Tables of numbers: rows of any groups with the self and the total of any metrics.
import type { MetricColumns, MetricName, Top } from "../api.ts";
import type { Estimate } from "./estimate.ts";
import { count, digits, duration, exactSize } from "./format.ts";
import { groupsOf, type Group } from "./group.ts";
import { metricOf } from "./metrics.ts";
import { visible } from "./names.ts";

export type Side = "total" | "self";

/** A metric of an answer. */
export interface Metric {
  name: MetricName;
  unit: string; // bytes, count, ns, ratio, bytes/s
  /** Whether values of different rows can be added, so that they are parts of a whole. */
  sums: boolean;
}

/** The rows of an answer, or of several pages of it. NaN: not known. */
export interface Sheet {
  by: string;
  metrics: Metric[];
  groups: readonly Group[];
  total: Readonly<Record<string, Float64Array>>;
  self: Readonly<Record<string, Float64Array>>;
  /** Rows that were not sent. */
  more: number;
  /** The values of everything together. */
  whole: Readonly<Record<string, number>>;
  /** What could not be read; undefined or empty if all was. */
  missing?: string | undefined;
  /** From what the values were estimated; undefined: they are exact. Their margins are NAME_margin beside NAME. */
  estimate?: Estimate | undefined;
}

/** The table of an answer. */
export function sheetOf(
  answer: Pick<Top, "by" | "metrics" | "rows" | "frames" | "more" | "total" | "missing" | "estimate">,
): Sheet {
  const { by, rows, more, missing } = answer;
  const estimate = answer.estimate ?? undefined;
  const whole = Object.fromEntries(Object.entries(answer.total).map(([name, value]) => [name, value ?? NaN]));
  const groups = groupsOf(rows.group, answer.frames);
  const { total, self } = rows;
  return { by, metrics: metricsOf(answer.metrics), groups, total, self, more, whole, missing, estimate };
}

export function metricsOf({ rows, name, unit, sums }: MetricColumns): Metric[] {
  const all = Array.from({ length: rows }, (_, i) => {
    const known = metricOf(name.at(i))?.name;
    return known && { name: known, unit: unit.at(i), sums: sums[i] === 1 };
  });
  return all.filter((metric) => metric !== undefined);
}

export interface Column {
  /** peak.total */
  key: string;
  metric: MetricName;
  side: Side;
  values: Float64Array;
  scale: Scale;
  /** What a full bar stands for; 0: the column has no bars. */
  full: number;
}

/** How the numbers of a column are written: in one unit, with the same digits. */
export interface Scale {
  unit: string;
  text: (value: number) => string;
  exact: (value: number) => string;
}

/** Whether rows of a grouping are code. */
export function isCode(by: string): boolean {
  return ["function", "line", "address", "file", "module"].includes(by);
}

/** What summaries have, so that rough answers come at once (docs/queries.md). */
const quickMetrics: ReadonlySet<MetricName> = new Set<MetricName>([
  ...(["allocations", "bytes", "mean-size", "deallocations", "freed"] as const),
  ...(["live", "peak", "temporary", "churn"] as const),
]);

/** The metrics of a list that summaries have; if there are none, all of the list. */
export function quickOf(metrics: readonly MetricName[]): MetricName[] {
  const quick = metrics.filter((name) => quickMetrics.has(name));
  return quick.length > 0 ? quick : [...metrics];
}

/**
 * A sheet with columns for all metrics, in their order, as far as they are known to it or to the one before. Those that
 * it does not have are not known.
 */
export function withMetrics(sheet: Sheet, names: readonly MetricName[], before: readonly Metric[]): Sheet {
  if (names.length === sheet.metrics.length) return sheet;
  const of = (name: MetricName) => [...sheet.metrics, ...before].find((metric) => metric.name === name);
  return { ...sheet, metrics: names.map(of).filter((metric) => metric !== undefined) };
}

/** Groups of which self and total are the same: no block belongs to two of them. */
export function onlySelf(by: string): boolean {
  return by === "stack" || by === "thread" || by === "size" || by === "allocator";
}

/**
 * The columns of a sheet. Those without numbers have the scale that they had before.
 * @param keep all have it, so that numbers do not change their unit in a drag
 */
export function columnsOf(sheet: Sheet, before: readonly Column[] = [], keep = false): Column[] {
  const scales = new Map(before.map(({ key, scale }) => [key, scale]));
  const sides: Side[] = onlySelf(sheet.by) ? ["total"] : ["total", "self"];
  return sheet.metrics.flatMap(({ name, unit, sums }): Column[] => {
    // Both sides have one scale and one length of bars, so that they can be compared.
    const most = Math.max(...sides.map((side) => largest((side === "total" ? sheet.total : sheet.self)[name])));
    const own = scaleOf(unit, most);
    return sides.map((side): Column => {
      const key = `${name}.${side}`;
      const given = (side === "total" ? sheet.total : sheet.self)[name];
      const values = given ?? new Float64Array(sheet.groups.length).fill(NaN);
      const scale = (keep || most === 0 ? scales.get(key) : undefined) ?? own;
      return { key, metric: name, side, values, scale, full: sums ? most : 0 };
    });
  });
}

function largest(values: Float64Array | undefined): number {
  let most = 0;
  for (const value of values ?? []) if (value > most) most = value;
  return most;
}

const bytes = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"] as const;
const times = ["ns", "µs", "ms", "s"] as const;

/** The scale of a column by its largest value. */
export function scaleOf(unit: string, most: number): Scale {
  switch (unit) {
    case "bytes":
      return stepped(bytes, 1024, most, exactSize);
    case "bytes/s":
      return stepped(bytes.map((u) => `${u}/s`), 1024, most, (v) => `${exactSize(Math.round(v))} per second`);
    case "ns":
      return stepped(times, 1000, most, (v) => (v < 1e3 ? duration(v) : `${duration(v)} (${count(v)} ns)`));
    case "ratio":
      return { unit: "×", text: (v) => known(v, () => digits(v)), exact: (v) => known(v, () => String(v)) };
    default:
      return { unit: "", text: (v) => known(v, () => count(Math.round(v))), exact: (v) => known(v, () => count(v)) };
  }
}

function stepped(units: readonly string[], step: number, most: number, exact: (value: number) => string): Scale {
  let i = 0;
  let one = 1;
  for (; most / one >= step && i < units.length - 1; i++) one *= step;
  const decimals = i === 0 ? 0 : most / one < 10 ? 2 : 1;
  const least = 0.5 * 10 ** -decimals;
  const text = (value: number) => {
    const scaled = value / one;
    if (value === 0 || Math.abs(scaled) >= least) {
      return value === 0 ? "0" : scaled.toFixed(decimals).replace(/\B(?=(\d{3})+(?!\d))(?<!\..*)/g, ",");
    }
    return `${value < 0 ? "-" : ""}<${(10 ** -decimals).toFixed(decimals)}`;
  };
  return { unit: units[i] ?? "", text: (v) => known(v, () => text(v)), exact: (v) => known(v, () => exact(v)) };
}

function known(value: number, text: () => string): string {
  return Number.isNaN(value) ? "–" : text();
}

/** How rows are sorted: by a column's key or "name". Numbers come largest first, names in their order. */
export interface Sort {
  key: string;
  reverse: boolean;
}

/** The rows in order. Rows with the same value stay in the order that they come in. */
export function sorted(groups: readonly Group[], sort: Sort, columns: readonly Column[]): Uint32Array {
  if (sort.key === "name") {
    const order = byName(groups).slice();
    return sort.reverse ? order.reverse() : order;
  }
  const values = columns.find(({ key }) => key === sort.key)?.values;
  return values ? byValue(values, groups.length, sort.reverse) : Uint32Array.from(groups, (_, i) => i);
}

/**
 * The order of n rows by their values. What is not known, a NaN, comes last in either order. There may be many rows:
 * numbers alone are sorted several times faster than rows that a function compares, and say where each row belongs.
 */
function byValue(values: Float64Array, n: number, ascending: boolean): Uint32Array {
  const numbers = new Float64Array(n).fill(NaN);
  numbers.set(values.subarray(0, n));
  numbers.sort();
  const known = numbers.findLastIndex((v) => !Number.isNaN(v)) + 1;
  const taken = new Uint32Array(n + 1); // of the places of equal values, at the first of them
  const order = new Uint32Array(n);
  for (let row = 0; row < n; row++) {
    const value = values[row] ?? NaN;
    const first = Number.isNaN(value)
      ? known
      : ascending
        ? firstFrom(numbers, known, value, false)
        : known - firstFrom(numbers, known, value, true);
    order[first + taken[first]!++] = row;
  }
  return order;
}

/** The index of the first of the n sorted numbers that is not below the value, or with after, that is above it. */
function firstFrom(numbers: Float64Array, n: number, value: number, after: boolean): number {
  let [from, to] = [0, n];
  while (from < to) {
    const middle = (from + to) >> 1;
    const at = numbers[middle]!;
    if (at < value || (after && at === value)) from = middle + 1;
    else to = middle;
  }
  return from;
}

/**
 * The rows without those of libraries, which are folded on the command line, too. Without own code, libraries are all
 * that there is.
 */
export function withoutLibraries(groups: readonly Group[], order: Uint32Array): Uint32Array {
  const owned = groups.some(({ kind }) => kind === "own");
  return order.filter((row) => {
    const kind = groups[row]?.kind ?? "";
    return kind !== "wrapper" && kind !== "start" && (kind !== "library" || !owned);
  });
}

const orders = new WeakMap<readonly Group[], Uint32Array>();

/** The order of names. It takes longer than that of numbers: a page asks for it while nothing happens. */
export function byName(groups: readonly Group[]): Uint32Array {
  let order = orders.get(groups);
  if (!order) {
    const names = groups.map((group) => group.name.toLowerCase());
    const at = (row: number) => names[row] ?? "";
    order = Uint32Array.from(groups, (_, i) => i);
    order.sort((a, b) => (at(a) < at(b) ? -1 : at(a) > at(b) ? 1 : a - b));
    orders.set(groups, order);
  }
  return order;
}

/** The rows of a page and those of the next one. */
export function joined(first: Sheet, next: Sheet): Sheet {
  const join = (a: Sheet["total"], b: Sheet["total"]) =>
    Object.fromEntries(
      first.metrics.map(({ name }) => {
        const values = new Float64Array(first.groups.length + next.groups.length).fill(NaN);
        values.set(a[name] ?? []);
        values.set(b[name] ?? [], first.groups.length);
        return [name, values];
      }),
    );
  return {
    ...first,
    groups: [...first.groups, ...next.groups],
    total: join(first.total, next.total),
    self: join(first.self, next.self),
    more: next.more,
  };
}

/**
 * The numbers of a rough answer in the rows of the answer before, in their order: rows that it does not have stay, with
 * numbers that are not known; rows that are new come at the end.
 */
export function inPlace(before: Sheet, now: Sheet): Sheet {
  if (before.by !== now.by) return now;
  const row = new Map(now.groups.map((group, i) => [group.key, i]));
  const from: number[] = [];
  for (const group of before.groups) {
    const at = row.get(group.key);
    from.push(at ?? -1);
    if (at !== undefined) row.delete(group.key);
  }
  const fresh = [...row.values()];
  from.push(...fresh);
  const { metrics } = before;
  const take = (values: Sheet["total"]) => {
    const names = new Set([...metrics.map(({ name }) => name as string), ...Object.keys(values)]);
    return Object.fromEntries(
      [...names].map((name) => [name, Float64Array.from(from, (at) => values[name]?.[at] ?? NaN)]),
    );
  };
  const groups = [...before.groups];
  for (const at of fresh) {
    const group = now.groups[at];
    if (group) groups.push(group);
  }
  return { ...now, metrics, groups, total: take(now.total), self: take(now.self), more: before.more };
}

/** A list with one element at another place. */
export function moved<T>(list: readonly T[], from: number, to: number): T[] {
  const rest = [...list];
  const taken = rest.splice(from, 1);
  rest.splice(Math.max(0, Math.min(to, rest.length)), 0, ...taken);
  return rest;
}

/** A cell of comma-separated values, with a ' in front of what a spreadsheet would take for a formula. */
function cell(text: string): string {
  let shown = visible(text);
  if (/^[ \u00a0]*[=+\-@]/.test(shown) && Number.isNaN(Number(shown))) shown = `'${shown}`;
  return /[",\n\r]/.test(shown) ? `"${shown.replaceAll('"', '""')}"` : shown;
}

/** Texts as comma-separated values. What is not known is empty. */
export function csvRows(rows: readonly (readonly string[])[]): string {
  return rows.map((row) => `${row.map((text) => (text === "NaN" ? "" : cell(text))).join(",")}\r\n`).join("");
}

/** A row as a table of Markdown. */
export function markdown(name: string, head: readonly string[], cells: readonly string[]): string {
  const line = (list: readonly string[]) => `| ${list.join(" | ")} |\n`;
  return line(["", ...head]) + line(["---", ...head.map(() => "---:")]) + line([code(name), ...cells]);
}

/** A name as code in Markdown, whatever is in it. */
export function code(name: string): string {
  const text = visible(name).replaceAll("|", "\\|");
  const ticks = "`".repeat(1 + Math.max(0, ...(text.match(/`+/g) ?? []).map(({ length }) => length)));
  const space = /^`|`$/.test(text) ? " " : "";
  return `${ticks}${space}${text}${space}${ticks}`;
}
