// The questions of the right side.
import type { ByName, FrameColumns, GroupColumns, MetricName, Top, Tree } from "../api.ts";
import type { Records } from "../columns.ts";
import {
  along,
  cleanPath,
  isWhole,
  kinds,
  lasting,
  lineFocus,
  mappings,
  quick,
  slow,
  type ByThread,
  type Details,
  type Excerpt,
  type Kind,
  type MoreValues,
  type StackFrame,
  type Values,
} from "../model/details.ts";
import { estimable } from "../model/estimate.ts";
import type { Picked } from "../model/place.ts";
import { literally, type Filters } from "../model/filters.ts";
import { atOf } from "../model/metrics.ts";
import { base, offsetOf } from "../model/names.ts";
import { put } from "./ask.ts";
import { Fault } from "./fault.ts";
import type { Ask } from "./lanes.ts";

/** What the right side is asked about. */
export interface DetailsAsked {
  picked: Picked;
  filters: Filters;
  /** By what the page groups; undefined: by function. */
  by?: ByName;
  /** What the page counts: it decides which call stack is the largest. */
  metric: MetricName;
  /** The moment of live bytes; undefined: the end of the range. */
  at?: string;
  /** What libraries allocate counts for the code that calls them. */
  fold?: boolean;
  /** The reader still drags. */
  rough?: boolean;
}

/** Asks for what is there at once; undefined: nothing of it is in the selection. */
export async function askDetails(ask: Ask, recording: string, asked: DetailsAsked): Promise<Details | undefined> {
  const { picked, filters, by, metric, at, rough } = asked;
  const more = [...(isWhole(filters, at) ? [...lasting, ...slow] : []), ...(isWhole(filters) ? mappings : [])];
  const some = [...new Set([metric, ...quick, ...more])];
  const common = { ...filters, metric: some, ...(at !== undefined && { at }), ...(rough && { rough: "pixel" }) };
  const found = await numbers(ask, recording, picked, by, common, asked.fold);
  if (!found) return undefined;
  const { at: _, ...others } = common;
  // What has nothing of the metric has stacks, threads and a place all the same.
  const counted = (found.total[metric] ?? 0) !== 0 ? metric : "bytes";
  const stacks = await put(ask, recording, "top", {
    ...others,
    ...atOf({ at }, [counted]),
    metric: [counted],
    by: "stack",
    match: `/${pattern(found.name, found.file, found.line)}/`,
    // The largest one, unless it must lead along a path.
    limit: picked.kind === "stack" ? 200 : 1,
  });
  const stack = largest(stacks, picked, found);
  const frame = stack.frames[stack.at];
  return {
    picked,
    ...found,
    file: found.file || (frame?.file ?? ""),
    line: found.line || (frame?.line ?? 0),
    module: found.module || (frame?.module ?? ""),
    stack: stack.frames,
    at: stack.at,
    share: { value: stack.value, stacks: stacks.more + stacks.rows.rows, counted },
  };
}

/** An answer; undefined if the server says that there is nothing of what a parameter names. */
async function known<T>(answer: Promise<T>, parameter: string): Promise<T | undefined> {
  try {
    return await answer;
  } catch (thrown) {
    if (thrown instanceof Fault && thrown.kind === "refused" && thrown.where.endsWith(parameter)) return undefined;
    throw thrown;
  }
}

interface Found {
  name: string;
  module: string;
  file: string;
  line: number;
  total: Values;
  self: Values;
  whole: Values;
}

type Common = Filters & { metric: MetricName[]; at?: string };

async function numbers(
  ask: Ask,
  recording: string,
  picked: Picked,
  by: ByName = "function",
  common: Common,
  fold = false,
): Promise<Found | undefined> {
  switch (picked.kind) {
    case "function": {
      const name = `/^${literally(offsetOf(picked.name) ?? picked.name).slice(1, -1)}( |$)/`;
      const asked = { ...common, ...(fold && { fold }), by, match: name, limit: 50 };
      const top = await put(ask, recording, "top", asked);
      const { group } = top.rows;
      const row = indexOf(top.rows.rows, (i) => textsOf(group, i).includes(picked.name));
      // One that is folded itself has numbers, too.
      if (row < 0) return fold ? await numbers(ask, recording, picked, by, common) : undefined;
      return {
        ...placeAt(group, row),
        total: valuesAt(top.rows.total, row, common.metric),
        self: valuesAt(top.rows.self, row, common.metric),
        whole: wholeOf(top.total),
      };
    }
    case "stack": {
      const { path, up } = picked;
      const node = { ...common, by, below: [...path], ...(up && { up }), depth: 1, nodes: 1, threshold: "0%" };
      const tree = (await known(put(ask, recording, "tree", node), "below")) as Tree | undefined;
      if (!tree || tree.nodes.rows === 0) return undefined;
      const { nodes } = tree;
      return {
        ...placeAt(nodes.group.of, nodes.group.row[0] ?? -1),
        name: nameAt(nodes.group.of, nodes.group.row[0] ?? -1) || (path.at(-1) ?? ""),
        total: valuesAt(nodes.total, 0, common.metric),
        self: valuesAt(nodes.self, 0, common.metric),
        whole: wholeOf(tree.total),
      };
    }
    case "line": {
      const { file, line } = picked;
      // The answer adds up the functions on the line, and counts each call stack once.
      const asked = { ...plain(common), function: cleanPath(file), line, context: 1, limit: 1 };
      const source = await known(put(ask, recording, "source", asked), "function");
      const lines = source?.pages.lines;
      if (!lines || lines.of.line.length === 0) return undefined;
      return {
        name: `${base(file)}:${line}`,
        module: "",
        file,
        line,
        total: valuesAt(lines.of.total, 0, common.metric),
        self: valuesAt(lines.of.self, 0, common.metric),
        whole: wholeOf(source.total),
      };
    }
  }
}

/** The parameters that `source` has, too. */
function plain(common: Common & { rough?: string }): Common {
  const { rough: _, ...rest } = common;
  return rest;
}

/** Asks for more metrics, unless askDetails has them already. */
export async function askMoreValues(
  ask: Ask,
  recording: string,
  { picked, filters, by, at, fold }: DetailsAsked,
  metric: readonly MetricName[],
): Promise<MoreValues> {
  if (isWhole(filters, at)) return { total: {}, self: {} };
  const common = { ...filters, ...(at !== undefined && { at }), metric: [...metric] };
  const found = await numbers(ask, recording, picked, by, common, fold);
  return { total: found?.total ?? {}, self: found?.self ?? {} };
}

/**
 * Asks which threads allocated what is picked.
 * @param estimated estimates will do: of bytes, if the metric is no sum over events
 */
export async function askThreads(
  ask: Ask,
  recording: string,
  { picked, filters, metric, at }: DetailsAsked,
  estimated: boolean,
): Promise<ByThread> {
  const focus = [...(filters.focus ?? []), focusOf(picked)];
  const of = picked.kind === "stack" ? "function" : "picked";
  // A focus is a name.
  if (picked.kind !== "line" && offsetOf(nameOf(picked)) !== undefined) {
    return { threads: [], whole: NaN, of: "unnamed", counted: metric, more: 0, estimated: false };
  }
  // Threads have no mappings, and their own peaks do not add up.
  const byThread = (counted: MetricName) =>
    put(ask, recording, "top", {
      ...filters,
      ...atOf({ at }, [counted]),
      focus,
      by: "thread" as const,
      metric: [counted],
      limit: 4,
      ...(estimated && { rough: "pixel" }),
    });
  const [sum] = estimated ? estimable([metric]) : [metric];
  let sums: MetricName = sum === undefined || [...mappings, "own-peak", "recycling"].includes(sum) ? "bytes" : sum;
  let top = await byThread(sums);
  if (top.rows.rows === 0 && sums !== "bytes") top = await byThread((sums = "bytes"));
  const { group, total } = top.rows;
  const threads = Array.from({ length: top.rows.rows }, (_, i) => {
    const at = group.thread.row[i] ?? -1;
    const tid = group.thread.of.tid[at] ?? 0;
    const name = group.thread.of.name.at(at) || `thread ${tid}`;
    return { name, only: String(tid), value: total[sums]?.[i] ?? NaN };
  });
  const whole = top.total[sums] ?? NaN;
  return { threads, whole, of, counted: sums, more: top.more, estimated: (top.estimate ?? null) !== null };
}

/** The pattern of what is picked: of a call stack, that of its last function. */
function focusOf(picked: Picked): string {
  if (picked.kind === "line") return lineFocus(picked.file, picked.line);
  return literally(nameOf(picked).replace(/ \/\S*$/, ""));
}

function nameOf(picked: Exclude<Picked, { kind: "line" }>): string {
  return picked.kind === "function" ? picked.name : (picked.path.at(-1) ?? "");
}

/** How many lines before and after one are shown. */
const context = 6;

/** Asks for the lines around one; undefined: the recording does not know the file. */
export async function askExcerpt(
  ask: Ask,
  recording: string,
  file: string,
  line: number,
): Promise<Excerpt | undefined> {
  if (line <= 0) return undefined;
  const asked = { function: cleanPath(file), line, context, metric: ["bytes" as const], limit: 1 };
  const source = await known(put(ask, recording, "source", asked), "function");
  if (!source) return undefined;
  const { pages } = source;
  return { file, first: source.first, lines: source.text ?? [], newer: pages.newer[0] === 1, note: pages.note.at(0) };
}

/** A regular expression for rows of a name or, for those of a line, a place. */
function pattern(name: string, file: string, line: number): string {
  const inner = (text: string) => literally(text).slice(1, -1);
  return line > 0 && file !== "" ? inner(`${file}:${line}`) + "( |$)" : inner(offsetOf(name) ?? name);
}

/** The largest stack that leads through what is picked. */
function largest(
  { rows, frames: table }: Top,
  picked: Picked,
  found: Found,
): { frames: StackFrame[]; at: number; value: number } {
  const empty = { frames: [], at: -1, value: 0 };
  if (!table) return empty;
  const value = (row: number) => Object.values(rows.total)[0]?.[row] ?? 0;
  for (let row = 0; row < rows.rows; row++) {
    const ids = rows.group.stack.frames(row);
    const frames = ids.map((id) => frameAt(table, id));
    const texts = ids.map((id) => textsOfFrame(table, id));
    const at =
      picked.kind === "stack" ? along(picked.path, texts, picked.up)
      : picked.kind === "line" ? frames.findIndex((f) => cleanPath(f.file) === picked.file && f.line === picked.line)
      : texts.findIndex((t) => t.includes(picked.name) || t.includes(found.name));
    if (at >= 0) return { frames, at, value: value(row) };
  }
  return empty;
}

function frameAt(table: FrameColumns, row: number): StackFrame {
  return {
    name: named(table.function.at(row), table.module.at(row), table.offset.at(row)),
    file: table.file.at(row),
    line: table.line[row] || 0,
    module: table.module.at(row),
    kind: kindAt(table, row),
  };
}

/** Whose code a frame is. */
function kindAt(table: FrameColumns, row: number): Kind {
  const kind = table.kind.at(row);
  return kinds.find((k) => k === kind) ?? "";
}

/** All that `below` and `match` call a frame: by its function, or by function or place and module. */
function textsOfFrame(table: FrameColumns, row: number): string[] {
  const [name, module] = [table.function.at(row), table.module.at(row)];
  const [file, line] = [cleanPath(table.file.at(row)), table.line[row] || 0];
  return texts(name || table.offset.at(row), module, file, line).concat(table.file.at(row));
}

function textsOf(group: GroupColumns, row: number): string[] {
  const name = group.function.at(row) || group.offset.at(row);
  return texts(name, group.module.at(row), group.file.at(row), group.line[row] || 0);
}

function texts(name: string, module: string, file: string, line: number): string[] {
  const place = file !== "" && line > 0 ? `${file}:${line}` : file;
  const join = (...parts: string[]) => parts.filter((part) => part !== "").join(" ");
  return [name, join(name, module), join(name, place, module), place, module, named("", module, name)];
}

/** What stands for a function: its name, or python3.11+0x4fea6a. */
function named(name: string, module: string, offset: string): string {
  if (name !== "") return name;
  return module !== "" && offset !== "" ? `${base(module)}+${offset}` : "unknown function";
}

function nameAt(group: GroupColumns, row: number): string {
  const [name, module, offset] = [group.function.at(row), group.module.at(row), group.offset.at(row)];
  return name || offset ? named(name, module, offset) : base(group.file.at(row) || module);
}

function placeAt(group: GroupColumns, row: number): Pick<Found, "name" | "module" | "file" | "line"> {
  const [file, line] = [group.file.at(row), group.line[row] || 0];
  return { name: nameAt(group, row), module: group.module.at(row), file, line };
}

function valuesAt(records: Records, row: number, metrics: readonly MetricName[]): Values {
  return Object.fromEntries(metrics.map((name) => [name, records[name]?.[row] ?? NaN]));
}

function wholeOf(total: Record<string, number | null>): Values {
  return Object.fromEntries(Object.entries(total).map(([name, value]) => [name, value ?? NaN]));
}

function indexOf(rows: number, is: (row: number) => boolean): number {
  for (let i = 0; i < rows; i++) if (is(i)) return i;
  return -1;
}
