// What the page shows, as data. src/net/questions.ts makes these of the server's answers.
import type { Node } from "./tree.ts";

/** A recording of the session: one process of a run. */
export interface Recording extends Node {
  command: string;
  pid: number;
  /** Unix time in nanoseconds. */
  startedNs: number;
  durationNs: number;
  /** How the process ended: "exit status 0", "killed by SIGSEGV", "still running". */
  end: string;
  failed: boolean;
  /** The most live requested bytes. */
  livePeak: number;
  /** The most resident bytes; undefined if it was not measured. */
  residentPeak: number | undefined;
  /** Why the recording cannot be opened; empty if it can. */
  problem: string;
}

/** The programs of one run. */
export interface Run {
  label: string;
  recordings: Recording[];
}

/** A moment with its size. */
export interface Peak {
  bytes: number;
  /** Nanoseconds from the start of the recording. */
  atNs: number;
}

/** A function with what it holds at the peak. */
export interface Holder {
  name: string;
  file: string;
  line: number;
  module: string;
  bytes: number;
  blocks: number;
}

/** A question that the recording cannot answer. */
export interface Gap {
  question: string;
  why: string;
  /** What records it next time, for example --threads; empty if nothing does. */
  remedy: string;
}

/** Levels over time. All lists have one entry for each step. */
export interface Levels {
  seconds: number[];
  /** The most live bytes within each step. */
  live: number[];
  /** Resident bytes, or null where none were measured; undefined: never. */
  resident: (number | null)[] | undefined;
}

/** The first answer about a recording. */
export interface FirstAnswer {
  recording: Recording;
  live: Peak & { blocks: number };
  resident: Peak | undefined;
  /** What was live at the end. */
  leaked: { bytes: number; blocks: number };
  allocated: { bytes: number; allocations: number };
  temporary: number; // allocations
  holders: Holder[];
  levels: Levels;
  gaps: Gap[];
  /** What is wrong with the recording: lost events, damage, cut stacks. */
  warnings: string[];
  /** The same question on the command line. */
  command: string;
  tookMs: number;
}
