// Asks why live memory rose or fell over a range.
import type { Rise as RiseAnswer } from "../api.ts";
import { explained, isFlat, type Change, type Code, type Rise } from "../model/explain.ts";
import type { Filters } from "../model/filters.ts";
import type { Task } from "../model/follower.ts";
import { groupsOf } from "../model/group.ts";
import { pathOf, put } from "./ask.ts";
import { placeOf } from "./questions.ts";

/** The changes of call stacks by the place that the reader can change, in the order of a waterfall. */
function byCode(changes: Change[]): Change[] {
  const places = new Map<string, Change>();
  for (const change of changes) {
    const key = JSON.stringify(change.code);
    const known = places.get(key);
    if (!known) places.set(key, { ...change });
    else {
      known.bytes += change.bytes;
      known.blocks += change.blocks;
    }
  }
  return [...places.values()].sort((a, b) => b.bytes - a.bytes);
}

/** Rows of the waterfall, at most: more cannot be compared at a glance. */
const mostChanges = 8;

/** If the call stacks of a waterfall explain less than this share, places are tried. */
const enough = 0.5;

/**
 * Asks for the fewest call stacks that account for the change over a range. Where many small ones do, a few places in
 * the code may say more: then these are taken.
 */
export function riseTask(recording: string, filters: Filters, unfolded: boolean, rough: boolean): Task<Rise> {
  const asked = { ...filters, limit: mostChanges, ...(rough && { rough: "pixel" as const }) };
  return {
    base: recording,
    key: pathOf(recording, "rise", { ...asked, unfolded }),
    run: async (ask) => {
      const stacks = riseOf(await put(ask, recording, "rise", asked), "call stack");
      if (isFlat(stacks) || unnamed(stacks) <= 1 - enough) return stacks;
      const byPlace = { ...asked, by: "line" as const, ...(!unfolded && { fold: true }) };
      const places = riseOf(await put(ask, recording, "rise", byPlace), "place");
      return unnamed(places) < unnamed(stacks) ? places : stacks;
    },
  };
}

/** The share of the change that the rows do not account for. */
function unnamed(rise: Rise): number {
  return Math.abs(1 - (explained(rise) ?? 1));
}

/** The thread that accounts for most of a change, and for how much of it. */
export interface RiseThread {
  name: string;
  tid: number;
  bytes: number;
}

/** Asks in which thread most of a change over a range was allocated; undefined: in none. */
export function riseThreadTask(recording: string, filters: Filters, rough: boolean): Task<RiseThread | undefined> {
  const asked = { ...filters, by: "thread" as const, limit: 1, ...(rough && { rough: "pixel" as const }) };
  return {
    base: recording,
    key: pathOf(recording, "rise", asked),
    run: async (ask) => {
      const { rows, frames } = await put(ask, recording, "rise", asked);
      const thread = groupsOf(rows.group, frames)[0];
      if (thread?.tid === undefined) return undefined;
      return { name: thread.name, tid: thread.tid, bytes: rows.bytes[0] ?? 0 };
    },
  };
}

export function riseOf({ rows, range, others, ...answer }: RiseAnswer, of: Rise["of"]): Rise {
  const { group } = rows;
  const code = (i: number): Code =>
    of === "call stack"
      ? { name: rows.function.at(i), file: rows.file.at(i), line: rows.line[i] || 0, module: rows.module.at(i) }
      : {
          name: group.function.at(i) || placeOf(group.module.at(i), group.offset.at(i)),
          file: group.file.at(i),
          line: group.line[i] || 0,
          module: group.module.at(i),
        };
  const changes = Array.from({ length: rows.rows }, (_, i): Change => {
    return { code: code(i), bytes: rows.bytes[i] ?? 0, blocks: rows.blocks[i] ?? 0 };
  });
  return {
    beginNs: range.begin_ns,
    endNs: range.begin_ns + range.span_ns,
    begin: answer.begin_bytes,
    end: answer.end_bytes,
    rows: byCode(changes),
    others: { groups: others.groups, grown: others.grown_bytes, shrunk: others.shrunk_bytes },
    of,
  };
}
