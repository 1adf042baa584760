// The questions that the page asks, and what it makes of the answers.
import type {
  About,
  Answers,
  CallCountColumns,
  MetricName,
  Parameters,
  Report,
  RunProgramColumns,
  Session,
  Top,
} from "../api.ts";
import { decode } from "../columns.ts";
import type { FirstAnswer, Gap, Holder, Part, Peak, Recording, Run } from "../model/answers.ts";
import type { Values } from "../model/commands.ts";
import { plural } from "../model/format.ts";
import { base } from "../model/names.ts";
import { pathOf } from "./ask.ts";
import { Fault } from "./fault.ts";
import type { Ask } from "./lanes.ts";

/** Lists the recordings, and what cannot be read. */
export async function askRuns(ask: Ask): Promise<Run[]> {
  return runsOf(decode<Session>(await ask("session")).answer);
}

/** Asks for the first answer about a recording. */
export async function askFirstAnswer(ask: Ask, recording: string): Promise<FirstAnswer> {
  const begin = performance.now();
  const put = async <Q extends keyof Parameters>(question: Q, parameters: Parameters[Q]): Promise<Answers[Q]> => {
    return decode<Answers[Q]>(await ask(pathOf(recording, question, parameters as Values))).answer;
  };
  const about = await put("about", {});
  const report = await put("report", { top: 0 });
  const counted = report.totals.events === 0 ? report.counts : undefined;
  if (counted && counted.rows > 0) return { ...ofCounts(about, report, counted), tookMs: performance.now() - begin };
  const metric: MetricName[] = ["peak", "peak-blocks"];
  // Frames that only pass memory on are left out: what they allocate is their callers'. The server knows them.
  const most = { metric, self: true, fold: true };
  const holders = await part(async () => {
    const functions = await put("top", { ...most, by: "function", limit: 5 });
    return holdersOf(functions, await put("top", { ...most, by: "line", limit: 200 }));
  });
  const { peak, leaked, totals } = report;
  return {
    basis: about.sampled ? "estimated" : "exact",
    live: { bytes: peak.bytes, atNs: about.merged ? undefined : peak.time_ns, blocks: peak.blocks },
    resident: residentPeak(report),
    leaked: { bytes: leaked.bytes, blocks: leaked.blocks },
    allocated: { bytes: totals.bytes, allocations: totals.allocations },
    temporary: report.temporary.allocations ?? undefined,
    holders,
    gaps: gapsOf(about.lacks),
    warnings: warningsOf(report),
    tookMs: performance.now() - begin,
  };
}

/** The answer about a recording of counted calls, which knows no blocks and no call stacks. */
function ofCounts(about: About, report: Report, counts: CallCountColumns): Omit<FirstAnswer, "tookMs"> {
  const gaps = gapsOf(about.lacks);
  const [gap] = gaps;
  const why = gap ? `${gap.question}: ${gap.why}` : "calls were only counted";
  const fault = new Fault("refused", why, "about", gap?.remedy ? `record with ${gap.remedy}` : "");
  const allocated = { bytes: 0, allocations: 0 };
  for (let i = 0; i < counts.rows; i++) {
    if (counts.frees[i] === 1) continue;
    allocated.bytes += counts.bytes[i] ?? 0;
    allocated.allocations += counts.calls[i] ?? 0;
  }
  return {
    basis: "counted",
    live: undefined,
    resident: residentPeak(report),
    leaked: undefined,
    allocated,
    temporary: undefined,
    holders: { fault },
    gaps,
    warnings: warningsOf(report),
  };
}

/** A part of an answer: what the server refuses to answer about this recording is no fault of the rest. */
async function part<T>(ask: () => Promise<T>): Promise<Part<T>> {
  try {
    return { value: await ask() };
  } catch (thrown) {
    if (thrown instanceof Fault && thrown.kind === "refused") return { fault: thrown };
    throw thrown;
  }
}

export function runsOf(session: Session): Run[] {
  return [...readable(session), ...unreadable(session)];
}

/** What the user has named and cannot be read: runs without recordings. */
function unreadable({ unreadable: list }: Session): Run[] {
  return Array.from({ length: list.rows }, (_, i) => ({
    path: list.argument.at(i),
    command: "",
    startedNs: 0,
    problem: `${list.what.at(i)}. What to do: ${list.do.at(i)}.`,
    main: "",
    mainWhy: "",
    recordings: [],
  }));
}

function readable({ runs }: Session): Run[] {
  return Array.from({ length: runs.rows }, (_, i) => {
    const first = runs.programs.start(i);
    const ids = runs.recordings.of.id;
    const firstId = runs.recordings.start(i);
    const id = (program: number) => ids.at(firstId + program);
    const programs = runs.programs.of;
    const recordings = Array.from({ length: runs.programs.end(i) - first }, (_, n) => {
      const parent = programs.parent[first + n] ?? -1;
      return recordingOf(programs, first + n, id(n), parent < 0 ? undefined : id(parent));
    });
    recordings.forEach((_, n) => {
      const executor = recordings[programs.executed[first + n] === 1 ? (programs.parent[first + n] ?? -1) : -1];
      if (executor) executor.end = "executed the next";
    });
    const command = Array.from({ length: runs.command.end(i) - runs.command.start(i) }, (_, n) =>
      runs.command.of.at(runs.command.start(i) + n),
    );
    return {
      path: runs.run.at(i),
      command: command.join(" "),
      startedNs: runs.started_ns[i] ?? 0,
      problem: runs.damage.at(i),
      main: runs.matters.at(i),
      mainWhy: runs.why.at(i),
      recordings,
    };
  });
}

function recordingOf(all: RunProgramColumns, row: number, id: string, parent: string | undefined): Recording {
  const number = (column: Float64Array) => column[row] ?? 0;
  const running = all.running[row] === 1;
  const [signal, status] = [number(all.signal), number(all.exit_code)];
  const known = all.exit_known[row] === 1;
  return {
    id,
    parent,
    command: titleOf(all.name.at(row) || all.exe.at(row), all.label.at(row)),
    pid: number(all.pid),
    durationNs: Math.max(0, number(all.ended_ns) - number(all.started_ns)),
    end: endOf(running, known, signal, status),
    failed: !running && known && (signal !== 0 || status !== 0),
    livePeak: number(all.peak_live_bytes),
    residentPeak: number(all.peak_resident_bytes) || undefined,
    lost: number(all.lost_events),
  };
}

/** A program and what it works on, as heaptap ps shows them. */
function titleOf(name: string, label: string): string {
  return label === "" || label === name ? name : `${name} ${label}`;
}

const signals: Record<number, string> = {
  1: "SIGHUP",
  2: "SIGINT",
  3: "SIGQUIT",
  4: "SIGILL",
  6: "SIGABRT",
  7: "SIGBUS",
  8: "SIGFPE",
  9: "SIGKILL",
  11: "SIGSEGV",
  13: "SIGPIPE",
  15: "SIGTERM",
};

/** How a process ended, in words. */
export function endOf(running: boolean, known: boolean, signal: number, status: number): string {
  if (running) return "still running";
  if (!known) return "end not seen";
  return signal === 0 ? `exit status ${status}` : `killed by ${signals[signal] ?? `signal ${signal}`}`;
}

/** The peak of the resident set: as the kernel counted it where heaptap read it, else of the samples. */
function residentPeak(report: Report): Peak | undefined {
  const read = report.resident?.peak;
  if (read) return { bytes: read.resident_bytes, atNs: read.time_ns };
  const { peak_rss_bytes: bytes, peak_rss_time_ns: atNs } = report.samples;
  return bytes === null || atNs === null ? undefined : { bytes, atNs };
}

/** The functions with the most; beside each, its line that has the most, if that is among the lines. */
function holdersOf({ rows: functions }: Top, { rows: lines }: Top): Holder[] {
  const key = (function_: string, module: string) => JSON.stringify([function_, module]);
  const lineOf = new Map<string, number>(); // the first row of a function, which has the most
  for (let i = 0; i < lines.rows; i++) {
    const of = key(lines.group.function.at(i), lines.group.module.at(i));
    if (!lineOf.has(of)) lineOf.set(of, i);
  }
  const holders = Array.from({ length: functions.rows }, (_, i) => {
    const name = functions.group.function.at(i);
    const module = functions.group.module.at(i);
    const line = name === "" ? -1 : (lineOf.get(key(name, module)) ?? -1);
    return {
      name: functions.group.unknown[i] === 1 ? foldedAway : name || placeOf(module, functions.group.offset.at(i)),
      file: lines.group.file.at(line),
      line: lines.group.line[line] || 0,
      module,
      bytes: functions.self["peak"]?.[i] || 0,
      blocks: functions.self["peak-blocks"]?.[i] || 0,
    };
  });
  return holders.filter(({ bytes }) => bytes > 0);
}

/** The name of what has no frame but those that are left out, or none at all. */
const foldedAway = "libraries alone, or unknown";

/** What stands for the name of a function that is not known: python3.11+0x4fea6a. */
function placeOf(module: string, offset: string): string {
  return module !== "" && offset !== "" ? `${base(module)}+${offset}` : "unknown function";
}

function gapsOf(lacks: Answers["about"]["lacks"]): Gap[] {
  return Array.from({ length: lacks.rows }, (_, i) => ({
    question: lacks.what.at(i),
    why: lacks.why.at(i),
    remedy: lacks.flag.at(i),
  }));
}

export function warningsOf(report: Report): string[] {
  const { recording, lost_events: lost, truncated_stacks: cut } = report;
  const warnings = [...recording.damage];
  if (!recording.complete) warnings.push("The recording has no end: the recorder was stopped, or still writes it.");
  if (lost > 0) warnings.push(`${plural(lost, "event")} ${lost === 1 ? "was" : "were"} lost: numbers are too low.`);
  if (cut === 1) warnings.push("1 call stack was cut: its outermost frames are missing.");
  if (cut > 1) warnings.push(`${plural(cut, "call stack")} were cut: their outermost frames are missing.`);
  return warnings;
}
