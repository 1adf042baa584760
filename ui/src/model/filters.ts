// What of a place says which events count, as parameters of questions and as words that can be removed.
import type { Parameters } from "../api.ts";
import type { Clock } from "./clock.ts";
import { parseEdit, wordsOf } from "./flame/edits.ts";
import type { Place } from "./place.ts";
import { timeText, type Span } from "./time.ts";

export type Filters = Pick<
  Parameters["tree"],
  "from" | "to" | "thread" | "freed-by" | "region" | "module" | "size" | "old-size" | "lifetime" | "focus"
  | "ignore" | "hide"
>;

/** Filters by a range of numbers. */
export const ranges = ["size", "old-size", "lifetime"] as const;

export type RangeName = (typeof ranges)[number];

export function isRange(name: string): name is RangeName {
  return ranges.some((range) => range === name);
}

/** A filter by a range of numbers, in words. */
export function nameOfRange(name: RangeName): string {
  return name === "old-size" ? "size before realloc" : name;
}

/**
 * The filters of a place.
 * @param brush the range while the reader still drags; undefined: that of the place
 */
export function filtersOf(place: Place, brush?: Span): Filters {
  const filters: Filters = {};
  const from = brush ? timeText(brush.begin) : place.from;
  const to = brush ? timeText(brush.end) : place.to;
  if (from !== undefined) filters.from = from;
  if (to !== undefined) filters.to = to;
  for (const name of ["thread", "freed-by", "region", "module", "focus", "ignore", "hide"] as const) {
    if (place[name].length > 0) filters[name] = [...place[name]];
  }
  for (const name of ranges) {
    const value = place[name];
    if (value !== undefined) filters[name] = value;
  }
  return filters;
}

/** A regular expression that matches a name and nothing else, as Go reads it. */
export function literally(name: string): string {
  return `^${name.replace(/[\\.+*?()|[\]{}^$]/g, "\\$&")}$`;
}

/** How many characters a text has before one of its bytes, as the server counts them. */
export function charactersIn(text: string, byte: number): number {
  return new TextDecoder().decode(new TextEncoder().encode(text).subarray(0, byte)).length;
}

/** Where a regular expression is wrong, as this browser reads it; undefined: it is right. */
export function wrongAt(pattern: string): { why: string; at: number } | undefined {
  const fails = (text: string): string | undefined => {
    try {
      new RegExp(text, "u");
      return undefined;
    } catch (thrown) {
      // "Invalid regular expression: /(/u: Unterminated group"
      return (thrown instanceof Error ? thrown.message : "").replace(/^.*: /s, "").toLowerCase() || "wrong";
    }
  };
  const why = fails(pattern);
  if (why === undefined) return undefined;
  let right = pattern.length - 1; // characters that are an expression by themselves
  while (right > 0 && fails(pattern.slice(0, right)) !== undefined) right--;
  return { why, at: right };
}

/** The same in words; "": it is right. */
export function wrongIn(pattern: string): string {
  const wrong = wrongAt(pattern);
  return wrong ? `not a regular expression: ${wrong.why}, character ${wrong.at + 1}` : "";
}

/** A filter that is in force, as the left side shows it, and the place without it. */
export interface Word {
  kind: string;
  value: string;
  /** Why it has no effect on this page; "": it has one. */
  idle: string;
  without: Place;
}

/** Pages that show call trees: what changes one has no effect elsewhere. */
export const treePages: readonly Place["page"][] = ["flame", "tree"];

/** Filters that may be given several times. */
const lists = ["thread", "freed-by", "region", "module", "focus", "ignore", "hide", "collapse"] as const;

/** Whether something counts less than it would, other than because of its time. */
export function isFiltered(place: Place): boolean {
  const { from: _from, to: _to, hide: _hide, ...others } = filtersOf(place);
  return Object.keys(others).length > 0;
}

/** All filters in force, in the order in which they are listed. */
export function words(place: Place, clock: Clock): Word[] {
  const found: Word[] = [];
  const add = (kind: string, value: string, without: Place, idle = "") =>
    void found.push({ kind, value, idle, without });
  const noTree = treePages.includes(place.page) ? "" : "it changes call trees, and this page has none";
  const wholeStacks = place.page === "events" ? "this page shows whole call stacks" : "";
  if (place.from !== undefined || place.to !== undefined) {
    // The second range of another recording belongs to that.
    const others = place.with.length > 0 || place.also.length > 0;
    const compared = !others && (place.from2 !== undefined || place.to2 !== undefined);
    // Without it, what it was compared with is what is selected.
    const without = others
      ? { ...place, from: undefined, to: undefined, from2: undefined, to2: undefined }
      : { ...place, from: place.from2, to: place.to2, from2: undefined, to2: undefined };
    add(compared ? "time B" : "time", clock.range(place.from, place.to), without);
    if (compared) add("time A", clock.range(place.from2, place.to2), { ...place, from2: undefined, to2: undefined });
  }
  if (place.at !== undefined) {
    add("live at", clock.text(place.at), { ...place, at: undefined });
  }
  for (const name of lists) {
    place[name].forEach((text, i) => {
      const without = { ...place, [name]: place[name].filter((_, n) => n !== i) };
      const edit = name === "collapse" ? parseEdit(text) : undefined;
      const kind = name === "freed-by" ? "freed by" : name;
      const { kind: title, value } = edit ? wordsOf(edit) : { kind, value: readable(text) };
      add(title, value, without, name === "collapse" ? noTree : name === "hide" ? wholeStacks : "");
    });
  }
  for (const name of ranges) {
    const value = place[name];
    if (value !== undefined) add(nameOfRange(name), value, { ...place, [name]: undefined });
  }
  if (place.below.length > 0) {
    add("below", place.below.join(" › "), { ...place, below: [] }, noTree);
  }
  return found;
}

/** A pattern that matches one name only, as that name. */
function readable(pattern: string): string {
  const inner = /^\^(.*)\$$/s.exec(pattern)?.[1];
  if (inner === undefined) return pattern;
  const name = inner.replace(/\\([\\.+*?()|[\]{}^$])/g, "$1");
  return literally(name) === pattern ? name : pattern;
}
