// Of what the resident set consisted, and how that changed over a range.
import type { Clock } from "./clock.ts";
import { barsOf, type Step, type Waterfall } from "./explain.ts";
import type { Filters } from "./filters.ts";
import type { Peak } from "./answers.ts";
import { digits, duration, percent, size } from "./format.ts";
import { placeOf, type Place } from "./place.ts";
import { parseTime, timeText, type Run, type Span } from "./time.ts";

/** The moment whose resident set is shown: its name, and as a parameter; no parameter: that of the largest. */
export interface Asked {
  title: string;
  at?: string;
  atNs?: number;
}

/**
 * The cursor, if it is in the selected range; else the end of the range; without one, the largest resident set.
 * @param run what is known of it; a text that means nothing there (a mark) is taken as it is
 */
export function residentMoment(at: string | undefined, { from, to }: Filters, run: Run, clock: Clock): Asked {
  const ns = at === undefined ? undefined : parseTime(at, run);
  const begin = parseTime(from ?? "start", run) ?? run.begin;
  const end = to === undefined ? undefined : parseTime(to, run); // a run that goes on has none yet
  const within = ns === undefined || (ns >= begin && (end === undefined || ns <= end));
  if (at !== undefined && within) return asked(clock, at === "peak" ? "the live peak" : undefined, at, ns);
  if (from === undefined && to === undefined) return { title: "at its most" };
  return asked(clock, "the end of the range", to ?? "end", end ?? parseTime(to ?? "end", run));
}

function asked(clock: Clock, name: string | undefined, at: string, atNs: number | undefined): Asked {
  const when = atNs === undefined || !Number.isFinite(atNs) ? at : clock.moment(atNs);
  return { title: `at ${name ? `${name}, ${when}` : when}`, at, ...(atNs !== undefined && { atNs }) };
}

/**
 * When a resident set was read, in words: it is read now and then only.
 * @param askedNs the moment that is asked about; undefined: that of the largest set
 * @param range the selected range
 */
export function readAt(atNs: number, askedNs: number | undefined, clock: Clock, range?: Span): string {
  const age = askedNs === undefined ? "" : ageOf(atNs, askedNs, clock, range);
  return `read at ${clock.moment(atNs)}${age && `, ${age}`}`;
}

/**
 * When a resident set was read of which the parts are shown, beside the largest one: parts are read less often.
 */
export function besidePeak({ atNs, bytes }: Pick<Resident, "atNs" | "bytes">, peak: Peak | undefined): string {
  if (peak?.atNs === undefined || peak.atNs === atNs) return "";
  const age = `${duration(Math.abs(atNs - peak.atNs))} ${atNs < peak.atNs ? "before" : "after"} the resident peak`;
  return `read ${age}, at ${percent(bytes, peak.bytes)} of it`;
}

/** How far a reading is from the moment that is asked about; "": both are written alike. */
function ageOf(atNs: number, askedNs: number, clock: Clock, range?: Span): string {
  if (!Number.isFinite(askedNs) || clock.moment(askedNs) === clock.moment(atNs)) return "";
  const age = `${duration(Math.round(Math.abs(atNs - askedNs)))} ${atNs < askedNs ? "earlier" : "later"}`;
  return range && (atNs < range.begin || atNs > range.end) ? `${age}: outside the range` : age;
}

/** Between which moments a change was read, if these are not the ends of the range; "": they are. */
export function between({ begin, end }: ResidentChange, range: Span, clock: Clock): string {
  const apart = begin.atNs !== end.atNs;
  const exact = ageOf(begin.atNs, range.begin, clock) === "" && ageOf(end.atNs, range.end, clock) === "";
  return !apart || exact ? "" : `Between ${clock.moment(begin.atNs)} and ${clock.moment(end.atNs)}, `;
}

/** When the readings at the ends of a range were made. */
export function readings({ begin, end }: ResidentChange, range: Span, clock: Clock): string {
  const one = ({ atNs }: Resident, askedNs: number) => {
    const age = ageOf(atNs, askedNs, clock, range);
    return clock.moment(atNs) + (age && ` (${age})`);
  };
  if (begin.atNs === end.atNs) return `Read at ${one(begin, range.begin)}.`;
  return `Read at ${one(begin, range.begin)} and at ${one(end, range.end)}.`;
}

/** What the resident set consisted of. */
export interface Resident {
  atNs: number;
  bytes: number;
  parts: ResidentPart[];
}

export interface ResidentPart {
  kind: string;
  label: string;
  bytes: number;
  /** What it consists of, the largest first: mappings, files. */
  of: PartOf[];
}

/** So many of what a part consists of are named. */
export const mostNamed = 3;

export interface PartOf {
  name: string;
  hint: string;
  bytes: number;
  /** It is a function, by that name. */
  function: boolean;
  /** The line of the source that has made it; "" and 0: not known, or none has. */
  file: string;
  line: number;
}

/** Where a part of a resident set, or a function of it, is seen in detail; undefined: nowhere. */
export function placeOfPart(
  recording: string,
  { atNs }: Resident,
  { kind }: ResidentPart,
  of?: PartOf,
): Place | undefined {
  const start = placeOf(recording);
  if (kind === "live") return { ...start, page: "flame", to: timeText(atNs), metric: ["live"] };
  if (kind !== "mapped" || (of && !of.function)) return undefined;
  const mapped = { ...start, metric: ["mapped-resident"] };
  return of ? { ...mapped, page: "table", picked: [of.name] } : { ...mapped, page: "flame" };
}

const residentLabels: Record<string, string> = {
  live: "live blocks",
  slack: "free in the allocator, and slack",
  mapped: "mapped by the program",
  stacks: "stacks of the threads",
  static: "static data",
  files: "code and files",
  heaptap: "heaptap’s own",
  rest: "rest",
};

/** What parts mean, where their names do not say it. */
export const residentMeanings: Record<string, string> = {
  live: "Pages of blocks that are allocated and not freed. Of small blocks, the bytes that were requested.",
  slack:
    "Free: blocks that were freed, which the allocator keeps to use them again. Slack: bytes that it adds to a block " +
    "beyond those requested, and its own tables. How much is which was not measured.",
  mapped: "What the program mapped itself with mmap, past the allocator: arenas, pools, caches.",
  stacks: "Local variables and calls of all threads.",
  static: "Global variables of the program and of its libraries.",
  files: "Pages of the program, of its libraries and of other files. Other processes may share them.",
  heaptap: "heaptap’s library and tables: the process would not have them without heaptap.",
  rest: "What nobody has recorded: the loader’s, the kernel’s.",
};

/** The kinds of parts, in the order of the bar. */
export const residentKinds = Object.keys(residentLabels);

/**
 * The parts of a resident set in the order of the bar. What no kind names is rest, so that they add up.
 * @param parts bytes by kind
 */
export function residentOf(
  atNs: number,
  bytes: number,
  parts: ReadonlyMap<string, number>,
  of: ReadonlyMap<string, ResidentPart["of"]> = new Map(),
): Resident {
  let left = bytes;
  const list = residentKinds.map((kind): ResidentPart => {
    const n = kind === "rest" ? left : (parts.get(kind) ?? 0);
    left -= n;
    return { kind, label: residentLabels[kind] ?? kind, bytes: n, of: of.get(kind) ?? [] };
  });
  return { atNs, bytes, parts: list.filter((part) => part.bytes > 0) };
}

/** Resident sets of so many times the live blocks are said to be. */
const worthSaying = 1.5;

const residentReasons: Record<string, string> = {
  slack: "freed blocks stay on pages that others still use",
  mapped: "memory that the program takes from the kernel by itself",
  stacks: "each thread keeps what its stack has ever needed",
  files: "code and constants, which other programs share",
  heaptap: "only while it records",
};

/** Why a resident set is much larger than what the program has asked for; "": it is not. */
export function residentInWords({ bytes, parts }: Resident): string {
  const live = parts.find(({ kind }) => kind === "live")?.bytes ?? 0;
  const most = parts
    .filter(({ kind }) => kind !== "live")
    .reduce<ResidentPart | undefined>((best, part) => (best && best.bytes >= part.bytes ? best : part), undefined);
  if (live <= 0 || !most || bytes < worthSaying * live) return "";
  const reason = residentReasons[most.kind];
  return (
    `${digits(bytes / live)} times the live blocks. Most of the rest is ${most.label}` +
    (reason === undefined ? "." : `: ${reason}.`)
  );
}

/** How the resident set changed between two readings. */
export interface ResidentChange {
  begin: Resident;
  end: Resident;
}

/** By how much a part of the resident set changed, or what a function has mapped. */
export interface PartChange {
  part: ResidentPart;
  of?: PartOf;
}

/** Changes below this share of the largest one are not named. */
const leastNamed = 0.02;

/** And all others together are left out if they are less than that: three digits do not show it. */
const leastShown = 0.001;

/** The changes of all parts, those that grew first; of what the program has mapped, by who has mapped it. */
export function partChanges({ begin, end }: ResidentChange): Step<PartChange>[] {
  const find = (set: Resident, kind: string) => set.parts.find((part) => part.kind === kind);
  const steps: Step<PartChange>[] = [];
  for (const kind of residentKinds) {
    const [before, after] = [find(begin, kind), find(end, kind)];
    const part = after ?? before;
    if (!part) continue;
    let rest = (after?.bytes ?? 0) - (before?.bytes ?? 0);
    const mappers = kind === "mapped" ? mapperChanges(before?.of ?? [], after?.of ?? []) : [];
    for (const { of, bytes } of mappers) {
      steps.push({ bytes, row: { part, of } });
      rest -= bytes;
    }
    steps.push({ bytes: rest, row: { part } });
  }
  const largest = Math.max(...steps.map(({ bytes }) => Math.abs(bytes)));
  const named = steps.filter(({ bytes }) => bytes !== 0 && Math.abs(bytes) >= leastNamed * largest);
  named.sort((a, b) => b.bytes - a.bytes);
  const others = end.bytes - begin.bytes - named.reduce((sum, { bytes }) => sum + bytes, 0);
  return Math.abs(others) <= leastShown * largest ? named : [...named, { bytes: others }];
}

function mapperChanges(before: readonly PartOf[], after: readonly PartOf[]): { of: PartOf; bytes: number }[] {
  const key = ({ name, file, line }: PartOf) => JSON.stringify([name, file, line]);
  const changes = new Map<string, { of: PartOf; bytes: number }>();
  for (const [list, sign] of [[after, 1], [before, -1]] as const) {
    for (const of of list) {
      const known = changes.get(key(of));
      if (known) known.bytes += sign * of.bytes;
      else changes.set(key(of), { of, bytes: sign * of.bytes });
    }
  }
  return [...changes.values()];
}

/** The change as a waterfall of its parts. */
export function residentBars(change: ResidentChange): Waterfall<PartChange> {
  return barsOf(change.begin.bytes, change.end.bytes, partChanges(change));
}

function liveOf({ parts }: Resident): number {
  return parts.find(({ kind }) => kind === "live")?.bytes ?? 0;
}

/** The rest is explained from this share of the change on, and of the resident set. */
const restOfChange = 0.2;
const restOfSet = 0.01;

/** Whether the resident set changed by much more, or less, than the live blocks. */
export function restMatters({ begin, end }: ResidentChange): boolean {
  const change = end.bytes - begin.bytes;
  const rest = change - (liveOf(end) - liveOf(begin));
  const least = Math.max(restOfChange * Math.abs(change), restOfSet * Math.max(begin.bytes, end.bytes));
  return begin.atNs !== end.atNs && Math.abs(rest) > least;
}

/** By how much the resident set and the live blocks changed, and what most of the rest is. */
export function changeInWords(change: ResidentChange): string {
  const { begin, end } = change;
  if (begin.atNs === end.atNs) {
    return "Resident memory was read only once near this range: what its change consists of is not known.";
  }
  const all = end.bytes - begin.bytes;
  const live = liveOf(end) - liveOf(begin);
  const moved = (n: number) => (n === 0 ? "did not change" : `${n < 0 ? "fell" : "rose"} by ${size(Math.abs(n))}`);
  const same = all !== 0 && live !== 0 && (all < 0) === (live < 0);
  const apart = `${all === 0 ? "and" : "while"} live blocks ${moved(live)}`;
  const of = same ? `live blocks by ${size(Math.abs(live))}` : apart;
  const none = all === 0 && live === 0;
  const both = none ? "Resident memory and live blocks did not change" : `Resident memory ${moved(all)}, ${of}`;
  if (!restMatters(change)) return `${both}.`;
  const rest = all - live;
  const parts = new Map<string, number>();
  for (const { bytes, row } of partChanges(change)) {
    if (row && row.part.kind !== "live") parts.set(row.part.label, (parts.get(row.part.label) ?? 0) + bytes);
  }
  const toward = (bytes: number) => (rest < 0 ? -bytes : bytes);
  const [most] = [...parts].sort(([, a], [, b]) => toward(b) - toward(a));
  if (!most) return `${both}.`;
  const share = 2 * toward(most[1]) > toward(rest) ? "most of the rest" : "the largest part of the rest";
  return `${both}: ${share} is ${most[0]}.`;
}
