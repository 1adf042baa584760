// Leaks: what was never freed, what keeps growing, and the suppressions of what is known.
import type { Leaks, Timeline, Top } from "../api.ts";
import { filtersOf } from "./filters.ts";
import { groupsOf, hash, type Frame, type Group } from "./group.ts";
import { base } from "./names.ts";
import type { Place } from "./place.ts";
import { sheetOf, type Sheet } from "./table.ts";

/** A call stack whose live bytes kept rising. */
export interface Suspect {
  group: Group;
  begin: number;
  end: number;
  perSecond: number;
  /** From 0 to 1. */
  steadiness: number;
  /** Bytes that were never freed. */
  leaked: number;
}

/** A function at whose call stacks live bytes kept rising: what all of them have together. */
export interface Growth extends Suspect {
  key: number;
  /** What becomes of what it allocated: most of it was never freed, or was freed after the range, or within it. */
  fate: "never freed" | "freed later" | "freed in the end";
  /** Its call stacks, that with most growth first. `group` is the first one's. */
  stacks: Suspect[];
}

const fates: readonly Growth["fate"][] = ["never freed", "freed later", "freed in the end"];

/**
 * Joins call stacks of the same function. What leaks comes first, then what was freed after the range, then what was
 * freed within it; of each, the fastest first.
 * @param seconds how long the range is
 */
export function growthsOf(suspects: readonly Suspect[], seconds: number): Growth[] {
  const by = new Map<number, Suspect[]>();
  for (const one of suspects) {
    const key = one.group.headline ? hash(`${one.group.headline.id}\n${one.group.headline.module}`) : one.group.key;
    by.set(key, [...(by.get(key) ?? []), one]);
  }
  const all = [...by].map(([key, found]): Growth => {
    const stacks = found.toSorted((a, b) => b.perSecond - a.perSecond);
    const sum = (of: (one: Suspect) => number) => stacks.reduce((sum, one) => sum + of(one), 0);
    const [begin, end, leaked] = [sum((one) => one.begin), sum((one) => one.end), sum((one) => one.leaked)];
    const perSecond = sum((one) => one.perSecond);
    const steadiness = sum((one) => one.steadiness * one.perSecond) / perSecond;
    // A few blocks that are left of many are no leak of this size.
    const most = (bytes: number) => 2 * bytes >= perSecond * seconds;
    const fate = most(leaked) ? "never freed" : most(end) ? "freed later" : "freed in the end";
    return { key, group: stacks[0]!.group, begin, end, leaked, perSecond, steadiness, fate, stacks };
  });
  return all.sort((a, b) => fates.indexOf(a.fate) - fates.indexOf(b.fate) || b.perSecond - a.perSecond);
}

export interface LeakAnswer {
  /** By call stack. */
  sheet: Sheet;
  /** What kept growing; undefined: not known yet. */
  growing: Growth[] | undefined;
  /** What the runtime keeps for itself: no leak, and in no row. */
  runtime: { bytes: number; blocks: number };
  /** The range that the answer is about, in nanoseconds. */
  begin: number;
  end: number;
  /** What could not be read; empty if all was. */
  missing: string;
}

/** The leaks without what keeps growing, which takes longer to find. */
export function leakedOf(answer: Top): LeakAnswer {
  const { range, runtime } = answer;
  return {
    sheet: sheetOf(answer),
    growing: undefined,
    runtime: { bytes: runtime?.bytes ?? 0, blocks: runtime?.count ?? 0 },
    begin: range.begin_ns,
    end: range.begin_ns + range.span_ns,
    missing: answer.missing ?? "",
  };
}

export function leaksOf(answer: Leaks): LeakAnswer {
  const { suspects: s } = answer;
  const leaks = leakedOf({ ...answer, by: "stack" });
  const leaked = new Map(leaks.sheet.groups.map(({ key }, row) => [key, leaks.sheet.total["leaked"]?.[row] || 0]));
  const suspects = groupsOf(s.group, answer.frames).map((group, i) => ({
    group,
    begin: s.begin_bytes[i] || 0,
    end: s.end_bytes[i] || 0,
    perSecond: s.bytes_per_second[i] || 0,
    steadiness: s.confidence[i] || 0,
    leaked: leaked.get(group.key) ?? 0,
  }));
  return { ...leaks, growing: growthsOf(suspects, (leaks.end - leaks.begin) / 1e9) };
}

/** The moment up to which live bytes are looked at, in words. */
export function endOf({ to }: Pick<Place, "to">): string {
  return to === undefined || to === "end" ? "the end" : "the end of the range";
}

/** Why nothing is listed, and a command that shows what else there is. */
export function whyEmpty(place: Place, growth: boolean): { why: string; command?: string } {
  const { from, to, ...others } = filtersOf(place);
  const ranged = from !== undefined || to !== undefined;
  const filtered = Object.keys(others).length > 0;
  if (growth) return { why: `No function's live bytes rose steadily, up to ${endOf(place)}.` };
  if (filtered) return { why: "Everything that was allocated in this selection was freed: nothing of it leaked." };
  if (ranged) return { why: "Everything that was allocated in this range was freed later: nothing of it leaked." };
  return {
    why: "Nothing leaked: all that the program allocated was freed, except what its runtime keeps for itself.",
    command: "heaptap leaks --runtime FILE",
  };
}

/** How live bytes of call stacks developed, by the keys of their groups. */
export interface Curves {
  times: Float64Array;
  live: Map<number, Float64Array>;
}

export function curvesOf(timeline: Timeline): Curves {
  const { row, of } = timeline.rows.group;
  const groups = groupsOf(of, timeline.frames);
  const live = new Map<number, Float64Array>();
  const { live_bytes: bytes } = timeline.rows;
  for (let i = 0; i < timeline.rows.rows; i++) {
    const group = groups[row[i] ?? -1];
    if (group) live.set(group.key, bytes.of.slice(bytes.start(i), bytes.end(i)));
  }
  return { times: timeline.times_ns, live };
}

/** The curve of what kept growing: the sum of its call stacks' curves; undefined: none of them has one. */
export function curveOf({ stacks }: Growth, { live }: Curves): Float64Array | undefined {
  const found = stacks.flatMap(({ group }) => live.get(group.key) ?? []);
  return found[0]?.map((_, i) => found.reduce((sum, values) => sum + (values[i] ?? 0), 0));
}

/** A curve as the path of a picture of 100 x 100, from the origin; empty if there is nothing to draw. */
export function curvePath(times: Float64Array, values: Float64Array): string {
  const [begin = 0, end = 0] = [times[0], times.at(-1)];
  const most = values.reduce((a, b) => Math.max(a, b), 0);
  if (values.length < 2 || times.length !== values.length || most === 0 || end <= begin) return "";
  const points = Array.from(values, (value, i) => {
    const x = (100 * ((times[i] ?? 0) - begin)) / (end - begin);
    return `${x.toFixed(2)} ${(100 - (100 * value) / most).toFixed(2)}`;
  });
  return `M${points.join("L")}`;
}

const entry = /^(main|main\.main|MAIN__|_start|start_thread|clone3?|__libc_start\w*|\w+::main|std::rt::lang_start.*)$/;
const allocates = /alloc|strn?dup|^operator new/i;

/**
 * The rule that suppresses a leak, as `heaptap leaks --suggest` makes it: by the innermost function of the program's
 * own code that is neither an entry function nor a wrapper of the allocator; without one in the executable, of
 * libraries that do not belong to a runtime; else by its line. Undefined: there is none that would not hide nearly
 * everything.
 */
export function suppressionOf(stack: readonly Frame[], executable: string): string | undefined {
  for (const own of [true, false]) {
    const frames = stack.filter(
      (frame) => frame.named && !entry.test(frame.name) && !frame.library && (frame.module === executable) === own,
    );
    const found = frames.find(({ name }) => !allocates.test(name)) ?? frames[0];
    if (found) return `leak:^${plain(found.name)}$`;
  }
  const place = stack.find((frame) => !frame.library && frame.line > 0);
  return place && `leak:${plain(base(place.file))}:${place.line}$`;
}

/** A name in a pattern: what has a meaning there becomes *, which matches it. */
function plain(name: string): string {
  return name.replace(/[\^$\n]/g, "*");
}

/** The file that the program was started from, as its call stacks say; empty if they do not. */
export function executableOf(groups: readonly Group[]): string {
  for (const { stack } of groups) {
    const first = stack.find(({ name }) => name === "main" || name === "_start");
    if (first) return first.module;
  }
  return "";
}

/** Whether a rule matches a call stack, as `heaptap leaks --suppressions` would find. */
export function suppresses(rule: string, stack: readonly Frame[]): boolean {
  const pattern = rule.replace(/^leak:/, "");
  const texts = stack.flatMap(({ name, named, file, line, module }) => [
    ...(named ? [name] : []),
    file,
    module,
    ...(pattern.includes(":") && line > 0 ? [`${file}:${line}`] : []),
  ]);
  return texts.some((text) => text !== "" && matches(pattern, text));
}

/** Whether a pattern is found in a text: * stands for anything, ^ and $ for its ends. */
function matches(pattern: string, text: string): boolean {
  const [first, last] = [pattern.startsWith("^"), pattern.endsWith("$")];
  const parts = pattern.slice(first ? 1 : 0, last ? -1 : undefined).split("*");
  let at = 0;
  for (const [i, part] of parts.entries()) {
    if (i === parts.length - 1 && last) {
      return text.length - part.length >= at && text.endsWith(part) && (i > 0 || !first || text === part);
    }
    const found = text.indexOf(part, at);
    if (found < 0 || (i === 0 && first && found !== 0)) return false;
    at = found + part.length;
  }
  return true;
}
