// What the page shows, as data. src/net/questions.ts makes these of the server's answers.
import type { Fault } from "../net/fault.ts";
import type { Node } from "./tree.ts";

/** A recording of the session: one program of a run. A process that executes another program has one of each. */
export interface Recording extends Node {
  command: string;
  pid: number;
  durationNs: number;
  /** How the program ended: "exit status 0", "killed by SIGSEGV", "still running", "executed the next". */
  end: string;
  failed: boolean;
  /** The most live requested bytes. */
  livePeak: number;
  /** The most resident bytes; undefined if it was not measured. */
  residentPeak: number | undefined;
  /** Events that were lost. */
  lost: number;
}

/** The programs of one run. */
export interface Run {
  /** Its file or folder. */
  path: string;
  /** What was run; empty if it is not known. */
  command: string;
  /** Unix time in nanoseconds; 0 if it is not known. */
  startedNs: number;
  /** What is wrong with it; empty if nothing is. */
  problem: string;
  /** The id of the recording that the reader most likely means, and why; empty if there is none. */
  main: string;
  mainWhy: string;
  recordings: Recording[];
}

/** The recording with an id, and its run. */
export function find(runs: readonly Run[], id: string): { run: Run; recording: Recording } | undefined {
  for (const run of runs) {
    const recording = run.recordings.find((r) => r.id === id);
    if (recording) return { run, recording };
  }
  return undefined;
}

/** A moment with its size. */
export interface Peak {
  bytes: number;
  /** Nanoseconds from the start of the recording; undefined for the sum of several processes' peaks. */
  atNs: number | undefined;
}

/** A question that the recording cannot answer. */
export interface Gap {
  question: string;
  why: string;
  /** The flag of heaptap run that provides it, for example --addresses; empty if none does. */
  remedy: string;
}

/** A part of an answer, or why the recording does not have it: counted and merged recordings lack some. */
export type Part<T> = { value: T } | { fault: Fault };
