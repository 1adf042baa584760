// The questions of the overview, and what it makes of the answers.
import type { About, FrameColumns, Insights, Memory, Report, Top } from "../api.ts";
import type { Gap } from "../model/answers.ts";
import type { Filters } from "../model/filters.ts";
import { duration, plural, size } from "../model/format.ts";
import { base } from "../model/names.ts";
import {
  mostMetrics,
  partOf,
  residentOf,
  type Change,
  type Holder,
  type Insight,
  type Most,
  type MostMetric,
  type Part,
  type Resident,
  type ResidentPart,
  type Rise,
} from "../model/overview.ts";
import type { Question } from "./ask.ts";
import { gapsOf, placeOf, residentPeak, warningsOf } from "./questions.ts";

export const insightsQuestion: Question<"insights", Insight[]> = {
  name: "insights",
  parameters: {},
  read: insightsOf,
};

export function insightsOf({ insights: all }: Insights): Insight[] {
  return Array.from({ length: all.rows }, (_, i) => {
    const parts = (of: typeof all.says): Part[] =>
      Array.from({ length: of.end(i) - of.start(i) }, (_, k) => {
        const at = of.start(i) + k;
        return partOf(of.of.part.at(at), of.of.value[at] || 0, of.of.unit.at(at));
      });
    return {
      rule: all.rule.at(i),
      code: {
        name: all.name.at(i),
        file: all.file.at(i),
        line: all.line[i] || 0,
        module: all.module.at(i),
      },
      saves: partOf("", all.saves[i] ?? 0, all.unit.at(i)),
      says: parts(all.says),
      basis: parts(all.how),
      measured: all.measured[i] === 1,
      confidence: all.confidence[i] ?? 0,
      show: {
        page: all.show.page.at(i),
        metric: all.show.metric.at(i),
        from: all.show.from.at(i),
        to: all.show.to.at(i),
        focus: all.show.focus.at(i),
      },
    };
  });
}

/** The changes of call stacks by the place that the reader can change, in the order of a waterfall. */
function byCode(changes: Change[]): Change[] {
  const places = new Map<string, Change>();
  for (const change of changes) {
    const key = JSON.stringify(change.code);
    const known = places.get(key);
    if (!known) places.set(key, { ...change });
    else {
      known.bytes += change.bytes;
      known.blocks += change.blocks;
    }
  }
  return [...places.values()].sort((a, b) => b.bytes - a.bytes);
}

/** Call stacks that the waterfall names, at most: more cannot be compared at a glance. */
const mostChanges = 8;

export function riseQuestion(filters: Filters, rough: boolean): Question<"rise", Rise> {
  return {
    name: "rise",
    parameters: { ...filters, limit: mostChanges, ...(rough && { rough: "pixel" as const }) },
    read: (answer) => {
      const { rows, range, others } = answer;
      const changes = Array.from({ length: rows.rows }, (_, i): Change => ({
        code: {
          name: rows.function.at(i),
          file: rows.file.at(i),
          line: rows.line[i] || 0,
          module: rows.module.at(i),
        },
        bytes: rows.bytes[i] ?? 0,
        blocks: rows.blocks[i] ?? 0,
      }));
      return {
        beginNs: range.begin_ns,
        endNs: range.begin_ns + range.span_ns,
        begin: answer.begin_bytes,
        end: answer.end_bytes,
        rows: byCode(changes),
        others: { groups: others.groups, grown: others.grown_bytes, shrunk: others.shrunk_bytes },
      };
    },
  };
}

/** @param at the moment; undefined: that of the largest resident set */
export function memoryQuestion(at: string | undefined): Question<"memory", Resident | undefined> {
  return { name: "memory", parameters: at === undefined ? {} : { at }, read: residentOfMemory };
}

/** The largest of a part that are named. */
const mostNamed = 3;

export function residentOfMemory(memory: Memory): Resident | undefined {
  if (memory.time_ns === null) return undefined;
  const parts = new Map<string, number>();
  for (let i = 0; i < memory.parts.rows; i++) {
    parts.set(memory.parts.kind.at(i), memory.parts.resident_bytes[i] ?? 0);
  }
  const { mappings, files, frames } = memory;
  const mapped = Array.from({ length: mappings.rows }, (_, i) => ({
    ...mapperOf(frames, mappings.heap.at(i), mappings.frames.frames(i)),
    hint: mappings.hint.at(i),
    function: mappings.heap.at(i) === "" && hasFunction(frames, mappings.frames.frames(i)),
    bytes: mappings.resident_bytes[i] ?? 0,
  }));
  const named = Array.from({ length: files.rows }, (_, i) => ({
    name: base(files.file.at(i)) || "several files",
    hint: "",
    function: false,
    file: "",
    line: 0,
    bytes: files.resident_bytes[i] ?? 0,
  }));
  const of = new Map<string, ResidentPart["of"]>();
  of.set("mapped", mapped.filter(({ bytes }) => bytes > 0).slice(0, mostNamed));
  of.set("files", named.filter(({ bytes }) => bytes > 0).slice(0, mostNamed));
  return residentOf(memory.time_ns, memory.resident_bytes, parts, of);
}

/** Who has mapped memory: a heap of its own, or the innermost function of the call stack that has a name. */
function mapperOf(frames: FrameColumns, heap: string, stack: number[]): { name: string; file: string; line: number } {
  const frame = stack.find((f) => frames.function.at(f) !== "");
  const [file, line] = frame === undefined ? ["", 0] : [frames.file.at(frame), frames.line[frame] ?? 0];
  if (heap !== "") return { name: heap, file: "", line: 0 };
  if (frame !== undefined) return { name: frames.function.at(frame), file, line };
  const first = stack[0];
  const name = first === undefined ? "several call stacks" : placeOf(frames.module.at(first), frames.offset.at(first));
  return { name, file, line };
}

function hasFunction(frames: FrameColumns, stack: number[]): boolean {
  return stack.some((frame) => frames.function.at(frame) !== "");
}

/** Rows of the table. */
const mostRows = 5;

/**
 * Asks for the functions with the most of a metric. Frames that only pass memory on are left out, unless the reader
 * wants them: what they allocate is their callers'.
 */
export function mostQuestion(
  metric: MostMetric,
  filters: Filters,
  unfolded: boolean,
  rough: boolean,
): Question<"top", Most> {
  // What was never freed takes all events of a range: only if the reader wants it.
  const others = mostMetrics.filter((name) => name !== metric && name !== "leaked");
  return {
    name: "top",
    parameters: {
      ...filters,
      ...(!unfolded && { fold: true }),
      by: "function",
      metric: [metric, ...others, "peak-blocks"],
      self: true,
      limit: mostRows,
      ...(rough && { rough: "pixel" as const }),
    },
    read: (answer) => mostOf(metric, answer),
  };
}

/** The name of what has no frame but those that are left out, or none at all. */
const foldedAway = "libraries alone, or unknown";

export function mostOf(metric: MostMetric, { rows, total, more }: Top): Most {
  const { group, self } = rows;
  const list = Array.from({ length: rows.rows }, (_, i): Holder => {
    const unknown = group.unknown[i] === 1;
    const values = Object.entries(self).map(([name, column]) => [name, column[i]]);
    return {
      name: unknown ? foldedAway : group.function.at(i) || placeOf(group.module.at(i), group.offset.at(i)),
      unknown,
      file: group.file.at(i),
      line: group.line[i] || 0,
      module: group.module.at(i),
      values: Object.fromEntries(values),
      withCallees: rows.total[metric]?.[i] ?? 0,
    };
  });
  const found = list.filter(({ values }) => (values[metric] ?? 0) > 0);
  return { metric, total: total[metric] ?? 0, rows: found, more: more + list.length - found.length };
}

/** Where functions are, by name and module: their lines that have the most. */
export type Places = ReadonlyMap<string, { file: string; line: number }>;

/** Of the lines with the most, those of the functions in the table are near the beginning. */
const mostLines = 200;

/** Asks for the lines of the functions with the most: a row of the table has none. */
export function placesQuestion(
  metric: MostMetric,
  filters: Filters,
  unfolded: boolean,
  rough: boolean,
): Question<"top", Places> {
  const { parameters } = mostQuestion(metric, filters, unfolded, rough);
  return {
    name: "top",
    parameters: { ...parameters, by: "line", metric: [metric], limit: mostLines },
    read: ({ rows: { rows, group } }) => {
      const places = new Map<string, { file: string; line: number }>();
      for (let i = 0; i < rows; i++) {
        const key = placeKey(group.function.at(i), group.module.at(i));
        if (!places.has(key)) places.set(key, { file: group.file.at(i), line: group.line[i] || 0 });
      }
      return places;
    },
  };
}

export function placeKey(name: string, module: string): string {
  return JSON.stringify([name, module]);
}

/** The figures at the top. */
export interface Figures {
  /** Of counted calls, only those of allocations are known. */
  counted: boolean;
  live: { bytes: number; blocks: number; atNs: number | undefined } | undefined;
  resident: { bytes: number; atNs: number | undefined } | undefined;
  leaked: { bytes: number; blocks: number; running: boolean } | undefined;
  allocated: { bytes: number; allocations: number };
  /** Temporary allocations; undefined if they are not known. */
  temporary: number | undefined;
  gaps: Gap[];
  warnings: string[];
}

export function figuresOf(about: About, report: Report): Figures {
  const { peak, leaked, totals, counts } = report;
  const common = { resident: residentPeak(report), gaps: gapsOf(about.lacks), warnings: allWarnings(about, report) };
  if (report.totals.events === 0 && counts && counts.rows > 0) {
    const allocated = { bytes: 0, allocations: 0 };
    for (let i = 0; i < counts.rows; i++) {
      if (counts.frees[i] === 1) continue;
      allocated.bytes += counts.bytes[i] ?? 0;
      allocated.allocations += counts.calls[i] ?? 0;
    }
    return { ...common, counted: true, live: undefined, leaked: undefined, allocated, temporary: undefined };
  }
  return {
    ...common,
    counted: false,
    live: { bytes: peak.bytes, blocks: peak.blocks, atNs: about.merged ? undefined : peak.time_ns },
    leaked: { bytes: leaked.bytes, blocks: leaked.blocks, running: about.growing },
    allocated: { bytes: totals.bytes, allocations: totals.allocations },
    temporary: report.temporary.allocations ?? undefined,
  };
}

/** What is wrong with the recording, and what its numbers are if they are not exact. */
function allWarnings(about: About, report: Report): string[] {
  const warnings = warningsOf(report);
  const { sampling, recording } = report;
  if (sampling) {
    const { mean_bytes: bytes, mean_calls: calls, samples } = sampling;
    const every = bytes ? `one for each ${size(bytes)}` : calls ? `one of ${calls}` : "";
    warnings.push(
      `Numbers are estimates from ${plural(samples, "sample")}${every && `, on average ${every}`}.`,
    );
  }
  if (about.folded) {
    warnings.push(
      `Events before ${duration(recording.folded_ns)} were folded into sums: their threads and order are not known.`,
    );
  }
  return warnings;
}
