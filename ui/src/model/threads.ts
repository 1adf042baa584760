// What each thread allocated, who freed it, and how deep the threads' stacks became.
import type { StackTimeline, Threads, Timeline } from "../api.ts";
import { StackGroups, threadAt, threadText, type ThreadName } from "./blocks.ts";
import { groupsOf, type Frame, type Group } from "./group.ts";

/** So many threads have rows of their own, and the server tells so many apart in who freed what: others are summed. */
export const mostThreads = 64;

/** What a thread did; the sum of several, if they have no rows of their own. NaN: not known. */
export interface ThreadRow {
  group: Group | undefined;
  /** Undefined: the other threads together. */
  thread: ThreadName | undefined;
  allocations: number;
  bytes: number;
  /** Bytes per second of the range. */
  rate: number;
  /** Live at the end of the range. */
  live: number;
  ownPeak: number;
  temporary: number;
  /** Bytes of the blocks that it freed, whoever allocated them. */
  freed: number;
  depth: number;
  /** When it ended, in ns; NaN: it did not, or that is not known. */
  ended: number;
}

/** What was allocated through one function. */
export interface CallRow {
  name: string;
  allocations: number;
  bytes: number;
  live: number;
  temporary: number;
}

/** How deep the stack of a thread became. */
export interface StackDepth {
  thread: ThreadName;
  deepest: number;
  atNs: number;
  /** NaN: not known. */
  touched: number;
  size: number;
  /** Leaf first. */
  frames: readonly Frame[];
  /** How much of the stack each of the frames takes. 0: it is inlined into the next one; NaN: not known. */
  frameBytes: Float64Array;
  /** What these leave of the deepest. */
  unknown: number;
}

export interface ThreadAnswer {
  rows: readonly ThreadRow[];
  /** Threads without a row of their own. */
  others: number;
  calls: readonly CallRow[];
  heat: Heat;
  stacks: readonly StackDepth[];
  /** Why sizes of frames are not known. */
  frameNotes: readonly string[];
  /** The length of the range. */
  spanNs: number;
  total: Readonly<Record<string, number>>;
  missing: string | undefined;
}

export function threadsOf(answer: Threads): ThreadAnswer {
  const { rows, more, total, range, frames } = answer;
  const seconds = range.span_ns / 1e9;
  const heat = heatOf(answer);
  const groups = groupsOf(rows.group, frames);
  const { row: threadRow, of: threads } = rows.group.thread;
  const value = (name: string, i: number) => rows.total[name]?.[i] ?? NaN;
  const list: ThreadRow[] = groups.map((group, i) => {
    const thread = threadAt(threads, threadRow[i] ?? -1);
    return {
      group, thread,
      allocations: value("allocations", i),
      bytes: value("bytes", i),
      rate: seconds > 0 ? value("bytes", i) / seconds : NaN,
      live: value("live", i),
      ownPeak: value("own-peak", i),
      temporary: value("temporary", i),
      freed: answer.freed.bytes[i] ?? NaN,
      depth: value("depth", i),
      ended: answer.ended_ns[i] ?? NaN,
    };
  });
  const whole = Object.fromEntries(Object.entries(total).map(([name, of]) => [name, of ?? NaN]));
  if (more > 0) {
    const rest = (name: string, own: (row: ThreadRow) => number) =>
      (whole[name] ?? NaN) - list.reduce((sum, row) => sum + own(row), 0);
    const bytes = rest("bytes", (row) => row.bytes);
    const all = heat.freed.reduce((sum, { key, bytes }) => sum + (key === nobody ? 0 : bytes), 0);
    list.push({
      group: undefined, thread: undefined, bytes,
      allocations: rest("allocations", (row) => row.allocations),
      rate: seconds > 0 ? bytes / seconds : NaN,
      live: rest("live", (row) => row.live),
      ownPeak: NaN, // each at a time of its own
      temporary: rest("temporary", (row) => row.temporary),
      freed: all - list.reduce((sum, { freed }) => sum + freed, 0),
      depth: NaN,
      ended: NaN,
    });
  }
  return {
    rows: list, others: more, heat, calls: callsOf(answer), stacks: stacksOf(answer),
    frameNotes: answer.frame_notes, spanNs: range.span_ns, total: whole, missing: answer.missing,
  };
}

function callsOf({ calls, frames }: Threads): CallRow[] {
  const value = (name: string, i: number) => calls.total[name]?.[i] ?? NaN;
  return groupsOf(calls.group, frames).map(({ name }, i) => ({
    name,
    allocations: value("allocations", i),
    bytes: value("bytes", i),
    live: value("live", i),
    temporary: value("temporary", i),
  }));
}

/** What calls of a function by a thread were counted. */
export interface CountRow {
  thread: string;
  function: string;
  calls: number;
  failed: number;
  /** Requested; of calls that free, 0. */
  bytes: number;
}

/** The calls of a recording that has only counts, most bytes first. */
export function countsOf({ counts }: Threads): CountRow[] {
  if (!counts) return [];
  const list = Array.from({ length: counts.rows }, (_, i): CountRow => ({
    thread: threadText({ index: i, tid: counts.tid[i] ?? 0, name: counts.name.at(i) }),
    function: counts.function.at(i),
    calls: counts.calls[i] ?? 0,
    failed: counts.failed[i] ?? 0,
    bytes: counts.bytes[i] ?? 0,
  }));
  return list.sort((a, b) => b.bytes - a.bytes || b.calls - a.calls);
}

/** The stacks of the threads, deepest first. */
export function stacksOf(answer: Pick<Threads, "stack_memory" | "frames">): StackDepth[] {
  const { stack_memory: memory, frames } = answer;
  const stacks = new StackGroups(memory.frames, frames);
  const list = Array.from({ length: memory.rows }, (_, i): StackDepth => ({
    thread: threadAt(memory.thread, i),
    deepest: memory.deepest_bytes[i] ?? 0,
    atNs: memory.deepest_ns[i] ?? 0,
    touched: memory.touched_bytes[i] ?? NaN,
    size: memory.size_bytes[i] ?? NaN,
    frames: stacks.at(i).stack,
    frameBytes: frameBytesOf(answer, i),
    unknown: memory.unknown_bytes[i] ?? NaN,
  }));
  return list.sort((a, b) => b.deepest - a.deepest);
}

function frameBytesOf(answer: Pick<Threads, "stack_memory" | "frames">, row: number): Float64Array {
  const { stack_memory: memory, frames } = answer;
  const { frame_bytes: lists } = memory;
  const bytes = lists.of.slice(lists.start(row), lists.end(row));
  memory.frames.frames(row).forEach((frame, i) => {
    if (frames?.inlined[frame] === 1) bytes[i] = 0;
  });
  return bytes;
}

/** A row or a column of the table of who freed what. */
export interface Side {
  key: string;
  /** Undefined: several threads together, or nobody that was seen. */
  thread: ThreadName | undefined;
  name: string;
  bytes: number;
  blocks: number;
}

/** What went from one thread to another. */
export interface HeatCell {
  bytes: number;
  blocks: number;
}

/** Which threads freed what which threads allocated. */
export interface Heat {
  /** Who allocated, most bytes first. */
  allocated: readonly Side[];
  /** Who freed. */
  freed: readonly Side[];
  at: (allocated: Side, freed: Side) => HeatCell | undefined;
  /** The largest cell. */
  most: number;
}

const rest = "other threads";
const nobody = "nobody that was seen";
type Missing = typeof rest | typeof nobody;

export function heatOf({ matrix }: Pick<Threads, "matrix">): Heat {
  const { allocated_by: by, freed_by: freers, freed_by_others: together, blocks, bytes } = matrix;
  const sides = [new Map<string, Side>(), new Map<string, Side>()] as const;
  const cells = new Map<string, HeatCell>();
  let largest = 0;
  for (let i = 0; i < matrix.rows; i++) {
    const cell = { bytes: bytes[i] ?? 0, blocks: blocks[i] ?? 0 };
    const [from, to] = [by.row[i] ?? -1, freers.row[i] ?? -1];
    const missing = together[i] === 1 ? rest : nobody;
    const ways = [
      add(sides[0], from < 0 ? undefined : threadAt(by.of, from), rest, cell),
      add(sides[1], to < 0 ? undefined : threadAt(freers.of, to), missing, cell),
    ];
    cells.set(ways.join(" "), cell);
    if (cell.bytes > largest) largest = cell.bytes;
  }
  return {
    allocated: sorted(sides[0]), freed: sorted(sides[1]), most: largest,
    at: (from, to) => cells.get(`${from.key} ${to.key}`),
  };
}

/** Counts a cell on one side, and returns the key there. */
function add(side: Map<string, Side>, thread: ThreadName | undefined, missing: Missing, cell: HeatCell): string {
  const key = thread ? String(thread.index) : missing;
  const at = side.get(key) ?? { key, thread, name: thread ? threadText(thread) : missing, bytes: 0, blocks: 0 };
  at.bytes += cell.bytes;
  at.blocks += cell.blocks;
  side.set(key, at);
  return key;
}

/** Most bytes first, and what stands for several threads last. */
function sorted(side: ReadonlyMap<string, Side>): Side[] {
  const byName = (a: Side, b: Side) => a.name.localeCompare(b.name, undefined, { numeric: true });
  const last = ({ key }: Side) => Number(key === rest);
  return [...side.values()].sort((a, b) => last(a) - last(b) || b.bytes - a.bytes || byName(a, b));
}

/** How a thread's stack grew. */
export interface StackCurve {
  thread: ThreadName;
  /** How deep it was at most, up to each time. NaN: not known. */
  deepest: Float64Array;
}

export interface StackCurves {
  times: Float64Array;
  threads: readonly StackCurve[];
  /** Threads that were not sent. */
  more: number;
  /** The deepest of all. */
  most: number;
}

export function stackCurvesOf(answer: Timeline | StackTimeline): StackCurves {
  if (!("threads" in answer)) throw new TypeError("this timeline has no stacks");
  const { times_ns: times, threads: columns, more } = answer;
  const { deepest_bytes: lists } = columns;
  const threads = Array.from({ length: columns.rows }, (_, i): StackCurve => ({
    thread: threadAt(columns.thread, i),
    deepest: lists.of.slice(lists.start(i), lists.end(i)),
  }));
  const mostOf = ({ deepest }: StackCurve) => deepest.reduce((a, b) => (b > a ? b : a), 0);
  threads.sort((a, b) => mostOf(b) - mostOf(a));
  const most = threads[0] ? mostOf(threads[0]) : 0;
  return { times, threads, more, most };
}

/** A curve of steps as the path of a picture of 100 x 100; empty if there is nothing to draw. */
export function stepPath(times: Float64Array, values: Float64Array, most: number): string {
  const [begin = 0, end = 0] = [times[0], times.at(-1)];
  if (values.length < 2 || times.length !== values.length || !(most > 0) || end <= begin) return "";
  let path = "";
  for (let i = 0; i < values.length; i++) {
    const value = values[i] ?? NaN;
    if (Number.isNaN(value)) continue;
    const x = ((100 * ((times[i] ?? 0) - begin)) / (end - begin)).toFixed(2);
    const y = (100 - (100 * value) / most).toFixed(2);
    path += path === "" ? `M${x} ${y}` : `H${x}V${y}`;
  }
  return path.includes("H") ? path : "";
}
