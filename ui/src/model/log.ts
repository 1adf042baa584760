// The log: events in their order, part by part, of which each has some hundred. Parts that follow each other are put
// together as the reader scrolls.
import type { Log, Parameters } from "../api.ts";
import { filtersOf } from "./filters.ts";
import { count, duration, exactSize, size } from "./format.ts";
import { hash, type Group } from "./group.ts";
import type { Place } from "./place.ts";
import { stackGroups } from "./stacks.ts";
import { timeText } from "./time.ts";

/** How many events are asked for at a time, and of how many parts the list consists at most, in each direction. */
export const partRows = 300;
export const mostParts = 20;

/** The kinds that can be chosen, and what they are. */
export const logKinds = [
  ["alloc", "allocations"],
  ["free", "deallocations"],
  ["realloc", "reallocations"],
  ["map", "mappings"],
  ["fail", "failed calls"],
  ["unmatched", "deallocations of what was not live"],
  ["inherited", "of what the parent allocated"],
  ["unrecorded", "of what may not be recorded"],
  ["mark", "marks"],
] as const;
export type LogKind = (typeof logKinds)[number][0];

/** The filters of the log, which shows whole call stacks: no frames are hidden. */
function logFilters(place: Place): Parameters["events"] {
  const { hide: _, ...filters } = filtersOf(place);
  const kind = logKinds.map(([name]) => name).filter((name) => place.kind.includes(name));
  return { ...filters, ...(kind.length > 0 && { kind }) };
}

/** The first part: from the event or the moment of the place on, from the beginning, or before the end. */
export function logParameters(place: Place): Parameters["events"] {
  const parameters: Parameters["events"] = { ...logFilters(place), limit: partRows };
  if (place.event !== undefined) parameters.event = place.event;
  else if (place.at !== undefined) parameters.at = place.at;
  if (place.reverse) parameters.before = true;
  return parameters;
}

/** The part from an event on, or the one before it. */
export function nextParameters(place: Place, event: number, before: boolean): Parameters["events"] {
  return { ...logFilters(place), event: String(event), ...(before && { before }), limit: partRows };
}

/** An event, or a mark, of which there is only the time and what it is. */
export interface Entry {
  key: number;
  /** Undefined: it is a mark. */
  event: number | undefined;
  ns: number;
  what: string;
  thread: string;
  tid: number;
  /** The number of the allocation that it makes or ends; NaN: neither. */
  block: number;
  size: number;
  address: string;
  /** When the block that it ends was allocated; NaN: it ends none. */
  born: number;
  lifetime: number;
  bornBy: string;
  /** What else is said of it. */
  notes: readonly string[];
  stack: Group | undefined;
  freeStack: Group | undefined;
}

export interface LogPart {
  entries: readonly Entry[];
  /** The events from the first one on, before the next one, were looked at. */
  first: number;
  next: number;
  /** All that there is to look at. */
  begin: number;
  end: number;
  missing: string;
}

export function logOf(answer: Log): LogPart {
  const { log, log_marks: marks, frames } = answer;
  const [stacks, freeStacks] = [stackGroups(log.stack, frames), stackGroups(log.free_stack, frames)];
  const entries: Entry[] = [];
  let mark = 0;
  const marksUpTo = (event: number) => {
    for (; mark < marks.rows && (marks.events_before[mark] ?? 0) <= event; mark++) {
      const name = marks.mark.at(mark);
      entries.push({
        ...noEvent, key: hash(`mark ${name}`), ns: marks.time_ns[mark] ?? 0, what: `mark ${name}`,
      });
    }
  };
  for (let i = 0; i < log.rows; i++) {
    const event = log.event[i] ?? 0;
    marksUpTo(event);
    const known = (group: Group | undefined) => (group && !group.unknown ? group : undefined);
    const kind = log.kind.at(i);
    const realloc = log.realloc[i] === 1;
    const born = log.born_ns[i] ?? NaN;
    const { row, of } = log.born_by;
    const other = kind === "free" ? of.tid[row[i] ?? -1] : undefined;
    const tid = log.thread.tid[i] ?? 0;
    const old = log.old_address.at(i);
    const notes = [
      realloc && kind === "free" && "the old block",
      realloc && kind === "alloc" && (log.in_place[i] === 1 ? "the new block, in place" : "the new block"),
      kind !== "alloc" && kind !== "free" && kind !== "map" && kind,
      log.temporary_block[i] === 1 && "temporary",
      old !== "" && `was ${old}`,
      (log.old_size[i] ?? 0) > 0 && `of ${size(log.old_size[i] ?? 0)}`,
      other !== undefined && other !== tid && `allocated by thread ${other}`,
    ].filter((note) => note !== false);
    entries.push({
      key: event,
      event,
      ns: log.time_ns[i] ?? 0,
      what: log.call.at(i),
      thread: `${log.thread.name.at(i)} ${tid}`,
      tid,
      block: log.number[i] ?? NaN,
      size: log.size[i] ?? 0,
      address: log.address.at(i),
      born,
      lifetime: log.lifetime_ns[i] ?? NaN,
      bornBy: other === undefined ? "" : String(other),
      notes,
      stack: known(stacks[i]),
      freeStack: known(freeStacks[i]),
    });
  }
  marksUpTo(Infinity);
  const { first_event: first, next_event: next, range_first_event: begin, range_next_event: end } = answer;
  return { entries, first, next, begin, end, missing: answer.missing ?? "" };
}

const noEvent: Entry = {
  key: 0, event: undefined, ns: 0, what: "", thread: "", tid: 0, block: NaN, size: NaN, address: "", born: NaN,
  lifetime: NaN, bornBy: "", notes: [], stack: undefined, freeStack: undefined,
};

/** The time of an event: seconds, with all digits that a recording keeps. */
export function secondsText(ns: number): string {
  return (ns / 1e9).toFixed(7);
}

/** The cells of an event: what is shown, and the exact value. */
export function cellsOf(entry: Entry): { text: string; exact: string; value?: number }[] {
  const { ns, event, thread, size: bytes, block, address, born, lifetime } = entry;
  const none = { text: "", exact: "" };
  const is = event !== undefined;
  return [
    { text: secondsText(ns), exact: `${timeText(ns)} after the start`, value: ns },
    is ? { text: count(event), exact: count(event), value: event } : none,
    is ? { text: String(entry.tid), exact: `thread ${thread}` } : none,
    is ? { text: size(bytes), exact: exactSize(bytes), value: bytes } : none,
    Number.isNaN(block) ? none : { text: `#${count(block)}`, exact: `allocation ${count(block)}`, value: block },
    { text: address, exact: address },
    Number.isNaN(lifetime)
      ? none
      : { text: duration(lifetime), exact: `lived ${count(lifetime)} ns, since ${timeText(born)}`, value: lifetime },
  ];
}

/** Where a text leads: a number of an event, or a moment: a time, a share, a mark. */
export function jumpOf(text: string): Partial<Place> | undefined {
  const trimmed = text.trim();
  if (trimmed === "") return undefined;
  if (/^#?[\d,]+$/.test(trimmed)) {
    return { event: trimmed.replace(/[#,]/g, ""), reverse: false };
  }
  return { event: undefined, at: trimmed, reverse: false };
}

/** Parts that follow each other, in order, from the one before which nothing is known to the last one. */
export function chain(
  main: LogPart,
  part: (event: number, before: boolean) => LogPart | undefined,
): { parts: LogPart[]; earlier: number; later: number } {
  const parts = [main];
  let [earlier, later] = [0, 0];
  for (; earlier < mostParts; earlier++) {
    const first = parts[0]!;
    const before = first.first > first.begin ? part(first.first, true) : undefined;
    if (!before) break;
    parts.unshift(before);
  }
  for (; later < mostParts; later++) {
    const last = parts.at(-1)!;
    const after = last.next < last.end ? part(last.next, false) : undefined;
    if (!after) break;
    parts.push(after);
  }
  return { parts, earlier, later };
}
