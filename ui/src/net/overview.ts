// The questions of the overview, and what it makes of the answers.
import type { About, Insights, Report, Top } from "../api.ts";
import type { Gap } from "../model/answers.ts";
import type { Filters } from "../model/filters.ts";
import { duration, plural, size } from "../model/format.ts";
import { foldedAway } from "../model/group.ts";
import {
  mostMetrics,
  partOf,
  type Holder,
  type Insight,
  type Most,
  type MostMetric,
  type Part,
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
  /** Without what the runtime keeps, which is no leak. */
  leaked: { bytes: number; blocks: number; runtime: number; running: boolean } | undefined;
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
    leaked: { bytes: leaked.bytes, blocks: leaked.blocks, runtime: leaked.runtime_bytes, running: about.growing },
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
