// The questions of the source page.
import type { MetricName, Parameters, SourceText, Top } from "../api.ts";
import { cleanPath, kindOf, kinds } from "../model/details.ts";
import type { Filters } from "../model/filters.ts";
import { base } from "../model/names.ts";
import { type Call, type Entry, type Sheet, type SourceColumn } from "../model/source.ts";
import type { Question } from "./ask.ts";
import { put } from "./details.ts";
import type { Ask } from "./lanes.ts";

/** The lines of a file. */
export function sourceQuestion(
  filters: Filters,
  file: string,
  metric: readonly MetricName[],
  at?: string,
): Question<"source", Sheet | undefined> {
  const parameters: Parameters["source"] = {
    ...filters,
    function: file,
    metric: [...metric],
    calls: true,
    limit: 1,
    ...(at !== undefined && { at }),
  };
  return { name: "source", parameters, read: (answer) => sheetOf(answer, metric) };
}

/** A file's sheet; undefined: the selection has nothing of it. */
export function sheetOf(answer: SourceText, metric: readonly MetricName[]): Sheet | undefined {
  const { pages, calls } = answer;
  if (pages.rows === 0) return undefined;
  const end = pages.lines.end(0);
  const { line, total, self } = pages.lines.of;
  const part = (values: Float64Array | undefined) => values?.subarray(0, end) ?? new Float64Array(end);
  const columns = metric.map((name): SourceColumn => {
    const [whole, own] = [part(total[name]), part(self[name])];
    const largest = whole.reduce((max, value) => (value > max ? value : max), 0);
    return { metric: name, total: whole, self: own, hasSelf: own.some((value) => value > 0), largest };
  });
  const byLine = new Map<number, Call[]>();
  for (let i = 0; i < calls.rows; i++) {
    const [at, name, offset] = [calls.line[i] ?? 0, calls.function.at(i), calls.offset.at(i)];
    const module = calls.module.at(i);
    const call = {
      name: name || (module ? `${base(module)}+${offset}` : "unknown function"),
      module,
      named: name !== "",
      values: metric.map((m) => calls.total[m]?.[i] ?? NaN),
    };
    const list = byLine.get(at);
    if (list) list.push(call);
    else byLine.set(at, [call]);
  }
  const found = pages.source.at(0);
  return {
    file: pages.file.at(0),
    found: found === "" ? undefined : found,
    newer: pages.newer[0] === 1,
    note: pages.note.at(0),
    text: found === "" ? undefined : (answer.text ?? []),
    cut: answer.cut,
    columns,
    rows: line.subarray(0, end),
    calls: byLine,
    whole: metric.map((name) => pages.total[name]?.[0] ?? NaN),
    all: metric.map((name) => answer.total[name] ?? NaN),
  };
}

/** The list of the left side: files, then functions, each with what it counts. */
export interface Entries {
  files: Entry[];
  functions: Entry[];
  /** How many there are besides. */
  moreFiles: number;
  moreFunctions: number;
  all: number;
}

const most = 200;

export async function askEntries(
  ask: Ask,
  recording: string,
  filters: Filters & { rough?: string; at?: string },
  metric: MetricName,
  match: string,
): Promise<Entries> {
  const common = { ...filters, metric: [metric], limit: most, ...(match !== "" && { match }) };
  const files = await put(ask, recording, "top", { ...common, by: "file" });
  const functions = await put(ask, recording, "top", { ...common, by: "function" });
  return {
    files: merged(entriesOf(files, "file", metric)),
    functions: entriesOf(functions, "function", metric),
    moreFiles: files.more,
    moreFunctions: functions.more,
    all: files.total[metric] ?? 0,
  };
}

function entriesOf(top: Top, kind: Entry["kind"], metric: MetricName): Entry[] {
  const { group, total, rows } = top.rows;
  const entries = Array.from({ length: rows }, (_, i): Entry => {
    const name = kind === "file" ? cleanPath(group.file.at(i)) : group.function.at(i);
    const module = group.module.at(i);
    const frame = { name, file: name, line: 0, module, kind: kinds.find((k) => k === group.kind.at(i)) ?? "" };
    const own = kindOf(frame) === "own";
    return { kind, name, module, value: total[metric]?.[i] ?? 0, own };
  });
  return entries.filter(({ name }) => name !== "");
}

/** One entry for each name: the debug information may write a path in several ways. */
function merged(entries: readonly Entry[]): Entry[] {
  const first = new Map<string, Entry>();
  for (const entry of entries) if (!first.has(entry.name)) first.set(entry.name, entry);
  return [...first.values()];
}

/** Where a function is: its file, and its first line that counts; undefined: that is not known. */
export async function askPlace(
  ask: Ask,
  recording: string,
  name: string,
): Promise<{ file: string; line: number } | undefined> {
  const answer = await put(ask, recording, "source", { function: name, metric: ["bytes"], limit: 1, line: 0 });
  if (answer.pages.rows === 0) return undefined;
  return { file: answer.pages.file.at(0), line: answer.pages.lines.of.line[0] ?? 1 };
}
