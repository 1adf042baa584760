// The questions that the page asks, and what it makes of the answers.
import type { Answers, Report, RunProgramColumns, Session } from "../api.ts";
import { decode } from "../columns.ts";
import type { Gap, Peak, Recording, Run } from "../model/answers.ts";
import { plural } from "../model/format.ts";
import { base } from "../model/names.ts";
import type { Ask } from "./lanes.ts";

/** Lists the recordings, and what cannot be read. */
export async function askRuns(ask: Ask): Promise<Run[]> {
  return runsOf(decode<Session>(await ask("session")).answer);
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
export function residentPeak(report: Report): Peak | undefined {
  const read = report.resident?.peak;
  if (read) return { bytes: read.resident_bytes, atNs: read.time_ns };
  const { peak_rss_bytes: bytes, peak_rss_time_ns: atNs } = report.samples;
  return bytes === null || atNs === null ? undefined : { bytes, atNs };
}

/** What stands for the name of a function that is not known: python3.11+0x4fea6a. */
export function placeOf(module: string, offset: string): string {
  return module !== "" && offset !== "" ? `${base(module)}+${offset}` : "unknown function";
}

export function gapsOf(lacks: Answers["about"]["lacks"]): Gap[] {
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
