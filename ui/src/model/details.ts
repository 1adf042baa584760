// What the right side says about what the reader has picked: a function, a call stack or a line.
import type { MetricName } from "../api.ts";
import { literally, type Filters } from "./filters.ts";
import { plural } from "./format.ts";
import { metricOf, type Unit } from "./metrics.ts";
import type { Picked } from "./place.ts";

/** Whose code a frame is; "": not known. What a thread begins with is told by its name, the rest by the server. */
export type Kind = "" | "own" | "library" | "wrapper" | "other" | "start";
export const kinds: readonly Kind[] = ["own", "library", "wrapper", "other"];

/** A frame of a call stack. */
export interface StackFrame {
  name: string;
  file: string;
  line: number;
  module: string;
  kind: Kind;
}

/** Values by metric; NaN: not known. */
export type Values = Readonly<Partial<Record<MetricName, number>>>;

export interface Details {
  picked: Picked;
  /** Its name: of a stack, that of its last function; of a line, the first function on it. */
  name: string;
  module: string;
  /** Where it is in the source: the line of the largest call stack. */
  file: string;
  line: number;
  total: Values;
  self: Values;
  /** The metrics that the answer has, and what all together have of them. */
  whole: Values;
  /** The largest call stack through it, leaf first. */
  stack: readonly StackFrame[];
  /** The index in it of what is picked; -1: it is not there. */
  at: number;
  /** How much of the first metric belongs to that stack, and to how many stacks there are. */
  share: { value: number; stacks: number; counted: MetricName };
}

/** Numbers that come later. */
export interface MoreValues {
  total: Values;
  self: Values;
}

/** Which threads allocated it: that needs the events of the range. */
export interface ByThread {
  threads: readonly { name: string; only: string; value: number }[];
  /** What all threads have together. */
  whole: number;
  /** What the threads are of: a call stack cannot be told from others through its last function. */
  of: "picked" | "function" | "unnamed";
  /** What is counted of them: bytes, where there is nothing of the metric. */
  counted: MetricName;
  /** Threads that are not listed. */
  more: number;
  /** Not all events were read. */
  estimated: boolean;
}

/** Lines of a source file around one. */
export interface Excerpt {
  file: string;
  first: number;
  lines: readonly string[];
  /** The file was changed after the program was recorded. */
  newer: boolean;
  /** What is wrong with the text; empty if nothing is. */
  note: string;
}

/** Metrics that summaries have, so that they are there at once for any range. */
export const quick: readonly MetricName[] = ["peak", "live", "bytes", "allocations", "freed", "temporary"];

/** Metrics of what stays of a range: most recordings have sums of it. */
export const lasting: readonly MetricName[] = ["leaked", "leaked-blocks", "live-blocks"];

/** Metrics that need the events of a range. */
export const slow: readonly MetricName[] = ["mean-lifetime"];

/** Whether all metrics are there at once: nothing selects events or blocks. */
export function isWhole(filters: Filters, at?: string): boolean {
  const { from, to, thread, "freed-by": freedBy, region, size, "old-size": oldSize, lifetime } = filters;
  return [from, to, thread, freedBy, region, size, oldSize, lifetime, at].every((value) => value === undefined);
}

/** What is stored of the whole run: it is asked for where nothing selects blocks. */
export const mappings: readonly MetricName[] = ["mapped", "mapped-peak", "mapped-resident"];

/** A row of numbers: what is said of a metric, in the words of the selection. */
export interface NumberRow {
  metric: MetricName;
  label: string;
  unit: Unit;
  warm?: true;
}

const rows: readonly NumberRow[] = [
  { metric: "peak", label: "live at the peak", unit: "bytes" },
  { metric: "live", label: "live", unit: "bytes" },
  { metric: "bytes", label: "allocated", unit: "bytes" },
  { metric: "freed", label: "freed", unit: "bytes" },
  { metric: "leaked", label: "never freed", unit: "bytes", warm: true },
  { metric: "allocations", label: "allocations", unit: "count" },
  { metric: "live-blocks", label: "blocks", unit: "count" },
  { metric: "leaked-blocks", label: "blocks never freed", unit: "count", warm: true },
  { metric: "mean-lifetime", label: "mean lifetime of those that were freed", unit: "time" },
  { metric: "temporary", label: "temporary", unit: "count" },
];

/**
 * The rows of numbers: what the page counts first. What only maps memory has rows about that instead of zeros.
 * @param moment of which live bytes are: "at 12.4 s"
 */
export function rowsOf(lead: MetricName, total: Values, moment: string): NumberRow[] {
  const mapped = mappings.filter((name) => (total[name] ?? 0) > 0).map(rowOf);
  const blocks = (total.allocations ?? 0) > 0 || (total.live ?? 0) > 0 || (total.peak ?? 0) > 0;
  const usual = rows.map((row) => (/^live/.test(row.metric) ? { ...row, label: `${row.label} ${moment}` } : row));
  const all = mapped.length > 0 && !blocks ? mapped : [...usual, ...mapped];
  const other = rowOf(lead);
  if (/^kept/.test(lead)) other.label += ` ${moment}`;
  const first = all.find(({ metric }) => metric === lead) ?? other;
  if (mapped.length > 0 && !blocks && !mappings.includes(lead)) return all;
  return [first, ...all.filter(({ metric }) => metric !== lead)];
}

function rowOf(metric: MetricName): NumberRow {
  const { label, unit } = metricOf(metric) ?? { label: metric, unit: "count" };
  return { metric, label, unit };
}

const starts = /^(_start|__libc_start\w*|_dl_start\w*|start_thread|_*clone3?|execute_native_thread_routine)(\(|$)/;
const wrappers = new RegExp(
  "^(_*(libc_|GI_+)?x?((m|c|re)alloc|memalign|aligned_alloc|posix_memalign|strn?dup)|" +
    "operator new(\\[\\])?|g_(malloc|realloc|strdup)\\w*)(\\(|$)",
);
const libraryNames = /^(std|__gnu_cxx|__cxxabiv1|core|alloc|hashbrown|__rustc?|__rdl?_?\w*|boost)::/;
const libraryFiles =
  /(^|\/)(lib(c|m|dl|pthread|rt|stdc\+\+|c\+\+(abi)?|gcc_s)|ld-(linux|musl)[\w-]*)[-.\d]*\.so/;

/**
 * Whose code a frame is: as the server says or, where it does not, as its name looks. What a thread begins with is
 * told from other library code.
 */
export function kindOf(frame: StackFrame): Kind {
  // The program's own file has its _start.
  if ((frame.kind !== "own" || frame.name === "_start") && starts.test(frame.name)) return "start";
  if (frame.kind !== "") return frame.kind;
  if (wrappers.test(frame.name)) return "wrapper";
  if (libraryNames.test(bare(frame.name)) || libraryFiles.test(frame.module)) return "library";
  return "";
}

/** A name without the type that a template's name begins with: std::x of "void std::x<int>(int)". */
function bare(name: string): string {
  const open = name.search(/[<(]/);
  const head = open < 0 ? name : name.slice(0, open);
  return name.slice(head.startsWith("operator") ? 0 : head.lastIndexOf(" ") + 1);
}

/** What a stack shows: frames, and folded runs of others' frames. */
export type Fold =
  | { kind: "frame"; index: number; frame: StackFrame; strong: boolean }
  | { kind: "fold"; index: number; label: string; frames: readonly StackFrame[] };

/**
 * Folds runs of frames that are not the user's, also those of one frame. What is picked stays; a stack of nothing else
 * is not folded.
 * @param open the indexes of the runs that are shown
 */
export function fold(stack: readonly StackFrame[], at = -1, open: ReadonlySet<number> = new Set()): Fold[] {
  const kinds = stack.map(kindOf);
  const shown = kinds.map((kind, i) => i === at || kind === "own" || kind === "other" || kind === "");
  const foldable = kinds.some((kind, i) => shown[i] && kind !== "library" && kind !== "wrapper" && kind !== "start");
  const marked = kinds.includes("own"); // where nothing is known to be own, nothing is stronger than the rest
  const list: Fold[] = [];
  for (let i = 0; i < stack.length; ) {
    let end = i;
    while (foldable && end < stack.length && !shown[end]) end++;
    if (end > i && !open.has(i)) {
      const frames = stack.slice(i, end);
      list.push({ kind: "fold", index: i, label: labelOf(frames, kinds.slice(i, end)), frames });
      i = end;
      continue;
    }
    for (end = Math.max(end, i + 1); i < end; i++) {
      const frame = stack[i];
      const strong = shown[i] === true && (marked ? kinds[i] === "own" : true);
      if (frame) list.push({ kind: "frame", index: i, frame, strong });
    }
  }
  return list;
}

/** What a folded run is: "operator new · std:: 3 frames", "std:: 1 frame". */
function labelOf(frames: readonly StackFrame[], kinds: readonly Kind[]): string {
  const families: string[] = [];
  frames.forEach((frame, i) => {
    const family = kinds[i] === "start" ? "start" : familyOf(frame.name);
    if (!families.includes(family)) families.push(family);
  });
  const few = families.length > 3 ? [...families.slice(0, 2), "…"] : families;
  return `${few.join(" · ")} ${plural(frames.length, "frame")}`;
}

/** The namespace of a name, or the name without its parameters. */
function familyOf(name: string): string {
  const short = bare(name);
  const space = /^(\w+)::/.exec(short)?.[1];
  if (space !== undefined) return `${space}::`;
  return (/^operator [^(]*|^[^(<]*/.exec(short)?.[0] ?? short).trim() || short;
}

/**
 * The index of the frame that ends a path, in a stack, leaf first; -1 if the path does not lead along it. Frames that
 * the path lacks may be hidden there.
 * @param texts all that may be written of a frame, as `below` has it
 * @param up whether the path begins at the leaf
 */
export function along(path: readonly string[], texts: readonly (readonly string[])[], up: boolean): number {
  const step = up ? 1 : -1;
  let at = up ? -1 : texts.length;
  for (const name of path) {
    do at += step;
    while (at >= 0 && at < texts.length && !texts[at]?.includes(name));
    if (at < 0 || at >= texts.length) return -1;
  }
  return at;
}

/** A source file's path without "." and ".." elements, as the API's list has it. */
export function cleanPath(path: string): string {
  if (path === "") return "";
  const rooted = path.startsWith("/");
  const parts: string[] = [];
  for (const part of path.split("/")) {
    if (part === "" || part === ".") continue;
    if (part !== "..") parts.push(part);
    else if (parts.length > 0 && parts.at(-1) !== "..") parts.pop();
    else if (!rooted) parts.push(part);
  }
  return (rooted ? "/" : "") + parts.join("/") || (rooted ? "/" : ".");
}

/** The pattern of `focus` that finds what goes through a line. */
export function lineFocus(file: string, line: number): string {
  return literally(`${cleanPath(file)}:${line}`);
}
