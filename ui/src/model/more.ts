// What a recording has besides allocations by call stack: regions, static data, pools, mappings, mismatches, and beside
// it: a replay. Each is a listing: rows with numbers, and where a row leads.
import type { Globals, MetricName, Mismatches, Parameters, Regions, Report, StaticDiff, Top } from "../api.ts";
import { signedText } from "./changes.ts";
import { filtersOf } from "./filters.ts";
import { percent, plural, size } from "./format.ts";
import { groupsOf, hash, type Group } from "./group.ts";
import { location, visible } from "./names.ts";
import type { Place } from "./place.ts";
import { sourceOf } from "./row-actions.ts";
import { stackGroups } from "./stacks.ts";
import { scaleOf } from "./table.ts";

/** The first one is shown at first: nearly all recordings have static data. */
export const sections = ["globals", "mappings", "regions", "pools", "mismatches", "replay"] as const;
export type Section = (typeof sections)[number];

export function sectionOf(place: Pick<Place, "order">): Section {
  return sections.find((name) => name === place.order) ?? sections[0];
}

export const sectionTitles: Readonly<Record<Section, string>> = {
  regions: "Regions",
  globals: "Static data",
  pools: "Pools",
  mappings: "Mappings",
  mismatches: "Mismatches",
  replay: "Replay",
};

export interface Numbered {
  key: string;
  title: string;
  hint: string;
  unit: "bytes" | "count" | "ns";
  values: Float64Array;
  /** Drawn as bars. */
  bars?: boolean;
}

export interface Item {
  key: number;
  name: string;
  note: string;
  hint: string;
  code: boolean;
  /** What a click changes of the place. */
  change?: Partial<Place>;
  /** In words, what that does. */
  does?: string;
  /** Its call stacks, which the row opens to: each with what is said of it. */
  stacks?: readonly { text: string; group: Group }[];
}

export interface Listing {
  columns: readonly Numbered[];
  items: readonly Item[];
  /** Rows that were not sent. */
  more: number;
  /** What is said of all of them together. */
  sum: string;
  /** By what the rows can be sorted. */
  sorts: readonly string[];
  /** Why there are no rows, if that is known better than whyNone says. */
  why?: string;
  curves?: readonly Curve[];
}

/** A picture of 100 x 100: a curve, and another one behind it. */
export interface Curve {
  name: string;
  text: string;
  path: string;
  back: string;
}

/** The most rows of a section. */
const mostRows = 10_000;

/** Orders of regions: as `heaptap regions --sort` has them. */
const regionOrders = [
  "begin", "time", "allocations", "deallocations", "requested", "added", "highest", "lowest", "largest",
];

export function regionOrderOf({ sort }: Pick<Place, "sort">): string {
  return regionOrders.find((name) => name === sort) ?? "begin";
}

/** @param detailNs from when on there are events; 0: all the time */
export function regionsParameters(place: Place, detailNs: number): Parameters["regions"] {
  const sort = regionOrderOf(place);
  const from = detailNs > 0 ? { from: `${detailNs}ns` } : {};
  return { ...from, ...filtersOf(place), ...(sort !== "begin" && { sort }), limit: mostRows };
}

export function regionsOf({ rows: r, more }: Regions): Listing {
  const time = r.end_ns.map((end, i) => end - (r.begin_ns[i] ?? 0));
  const column = (key: string, hint: string, unit: Numbered["unit"], values: Float64Array): Numbered => {
    return { key, title: key, hint, unit, values };
  };
  return {
    columns: [
      column("begin", "when the thread entered it", "ns", r.begin_ns),
      column("time", "until the thread left it", "ns", time),
      column("allocations", "of the thread in it, with regions within", "count", r.allocations),
      column("requested", "bytes that it allocated", "bytes", r.requested),
      column("added", "live bytes at its end, without those at its begin", "bytes", r.added),
      column("highest", "the most that it had more than at its begin", "bytes", r.highest),
      column("largest", "its largest allocation", "bytes", r.largest),
    ],
    items: Array.from({ length: r.rows }, (_, i): Item => {
      const region = r.region.at(i);
      const thread = `thread ${r.thread.name.at(i)} ${r.thread.tid[i] ?? ""}`;
      const open = r.never_left[i] === 1 ? ", never left" : "";
      const depth = r.depth[i] ?? 0;
      const within = depth > 0 ? `, within ${plural(depth, "other")}` : "";
      return {
        key: hash(`${region} ${r.begin_ns[i]} ${r.thread.tid[i]}`),
        name: region,
        note: `${thread}${within}${open}`,
        hint: `${region}: click to count only what was allocated in it`,
        code: false,
        change: { region: [region] },
        does: "only this region",
      };
    }),
    more,
    sum: plural(r.rows + more, "region"),
    sorts: regionOrders,
  };
}

export function globalsParameters(place: Place): Parameters["globals"] {
  return { ...(place.module.length > 0 && { module: [...place.module] }), limit: mostRows };
}

/** What has changed of static data. */
export function staticOf({ variables: v, more, unchanged, total, sections }: StaticDiff): Listing {
  const column = (key: string, title: string, hint: string, values: Float64Array): Numbered => {
    return { key, title, hint, unit: "bytes", values };
  };
  const changed = Array.from(sections.change, (change, i) => [change, sections.name.at(i)] as const)
    .filter(([change]) => change !== 0)
    .map(([change, name]) => `${name} ${changeText(change)}`);
  const of = changed.length > 0 ? `: ${changed.join(", ")}` : "";
  return {
    columns: [
      column("before", "A", "in all threads, in side A; without a number: small, or not there", v.before_bytes),
      column("after", "B", "in all threads, in side B; without a number: small, or not there", v.after_bytes),
      column("change", "change", "B less A", v.change),
    ],
    items: Array.from({ length: v.rows }, (_, i): Item => {
      const [name, module, status] = [v.name.at(i), v.module.at(i), v.status.at(i)];
      const [file, line] = [v.file.at(i), v.line[i] || 0];
      return {
        key: hash(`${module} ${file} ${name} ${status}`),
        name,
        note: [status, v.section.at(i), location(file, line), module].filter(Boolean).join(" · "),
        hint: `${name}\n${module}`,
        code: true,
        ...sourceOfVariable(file, line),
      };
    }),
    more,
    sum: `${changeText(total.change)} in all${of} · ${plural(unchanged, "variable")} unchanged`,
    sorts: [],
  };
}

/** Where the row of a variable leads. */
function sourceOfVariable(file: string, line: number): Pick<Item, "change" | "does"> {
  if (file === "") return {};
  return { change: { page: "source", file, line: line > 0 ? String(line) : undefined }, does: "its source" };
}

function changeText(bytes: number): string {
  const scale = scaleOf("bytes", Math.abs(bytes));
  return bytes === 0 ? "no change" : `${signedText(scale, bytes)} ${scale.unit}`;
}

export function globalsOf({ variables: v, more, total, threads }: Globals): Listing {
  const resident = total.resident_bytes === null ? "" : `, ${size(total.resident_bytes)} resident`;
  return {
    columns: [
      { key: "total", title: "in all", hint: "of a thread-local variable, those of all threads", unit: "bytes",
        values: v.total_bytes, bars: true },
      { key: "bytes", title: "bytes", hint: "of the variable", unit: "bytes", values: v.bytes },
      { key: "resident", title: "resident", hint: "in memory, when that was last read", unit: "bytes",
        values: v.resident_bytes },
    ],
    items: Array.from({ length: v.rows }, (_, i): Item => {
      const [name, file, line] = [v.name.at(i), v.file.at(i), v.line[i] || 0];
      const module = v.module.at(i);
      return {
        key: hash(`${module} ${v.address.at(i)} ${name}`),
        name,
        note: [v.section.at(i), location(file, line), module].filter(Boolean).join(" · "),
        hint: `${name}\n${module} ${v.address.at(i)}`,
        code: true,
        ...sourceOfVariable(file, line),
      };
    }),
    more,
    sum: [
      `${size(total.total_bytes)} of static data${resident}`,
      `${percent(total.variable_bytes, total.bytes)} of it in ${plural(total.variables, "variable")} with a name`,
      plural(threads, "thread"),
    ].join(", "),
    sorts: [],
  };
}

export function poolsOf({ pools: p }: Pick<Report, "pools">): Listing {
  if (!p) return { columns: [], items: [], more: 0, sum: "", sorts: [] };
  const bytes = (key: string, title: string, hint: string, values: Float64Array, bars = false): Numbered => {
    return { key, title, hint, unit: "bytes", values, bars };
  };
  const count = (key: string, title: string, hint: string, values: Float64Array): Numbered => {
    return { key, title, hint, unit: "count", values };
  };
  return {
    columns: [
      bytes("peak-backing", "backing, most", "that it took elsewhere, at its own peak", p.peak_backing_bytes, true),
      bytes("backing", "backing", "memory that it has at the end", p.backing_bytes),
      bytes("peak-live", "live, most", "live bytes of its blocks, at their own peak", p.peak_live_bytes, true),
      bytes("live", "live", "live bytes of its blocks at the end", p.live_bytes),
      count("blocks", "blocks", "that are live at the end", p.live_blocks),
      count("allocations", "allocations", "from the pool", p.allocations),
      count("deallocations", "deallocations", "into the pool", p.deallocations),
      bytes("bytes", "allocated", "in all", p.bytes),
    ],
    items: Array.from({ length: p.rows }, (_, i): Item => {
      const name = p.name.at(i);
      return { key: hash(`pool ${name} ${i}`), name, note: "", hint: name, code: false };
    }),
    more: 0,
    sum: plural(p.rows, "pool"),
    sorts: [],
  };
}

const mappingMetrics: MetricName[] = ["mapped-peak", "mapped", "mapped-resident"];

export function mappingsParameters(place: Place): Parameters["top"] {
  // What is mapped is known of the whole run, by call stack.
  const { module, focus, ignore, hide } = filtersOf(place);
  const all = Object.entries({ module, focus, ignore, hide }).filter(([, value]) => value !== undefined);
  return { ...(Object.fromEntries(all) as Parameters["top"]), by: "stack", metric: mappingMetrics, limit: mostRows };
}

export function mappingsOf({ rows, frames, more, total }: Top): Listing {
  const all = groupsOf(rows.group, frames);
  const values = (name: string) => rows.total[name] ?? new Float64Array(rows.rows);
  const some = all.map((_, i) => i).filter((i) => mappingMetrics.some((name) => (values(name)[i] ?? 0) > 0));
  const of = (name: string) => Float64Array.from(some, (i) => values(name)[i] ?? NaN);
  return {
    columns: [
      { key: "mapped-peak", title: "at the peak", hint: "mapped when the program had most mapped", unit: "bytes",
        values: of("mapped-peak"), bars: true },
      { key: "mapped", title: "mapped", hint: "by mmap, mremap and brk, in all", unit: "bytes", values: of("mapped") },
      { key: "mapped-resident", title: "resident", hint: "in memory, when most was", unit: "bytes",
        values: of("mapped-resident") },
    ],
    items: some.map((i) => {
      const group = all[i]!;
      const stack = { text: "mapped at", group };
      const source = sourceOf(group);
      return {
        key: group.key,
        name: group.name,
        note: group.note,
        hint: group.stack.map(({ name }) => visible(name)).join("\n").slice(0, 2000),
        code: true,
        stacks: [stack],
        ...(source && { change: { page: "source" as const, ...source }, does: "its source" }),
      };
    }),
    more,
    sum: `${size(total["mapped-peak"] ?? 0)} mapped at most, at ${plural(some.length, "call stack")} of the program`,
    sorts: [],
  };
}

export function mismatchesOf({ mismatches: m, frames, blocks, more }: Mismatches): Listing {
  const [born, freed] = [stackGroups(m.allocation.frames, frames), stackGroups(m.deallocation.frames, frames)];
  return {
    columns: [
      { key: "count", title: "times", hint: "how many blocks", unit: "count", values: m.count, bars: true },
      { key: "first", title: "first", hint: "when it happened first", unit: "ns", values: m.time_ns },
      { key: "size", title: "size", hint: "requested by the first one", unit: "bytes", values: m.allocation.size },
    ],
    items: Array.from({ length: m.rows }, (_, i): Item => {
      const [from, by] = [m.allocation.function.at(i), m.deallocation.function.at(i)];
      const what: string[] = [];
      for (let k = m.mismatch.start(i); k < m.mismatch.end(i); k++) what.push(m.mismatch.of.at(k));
      const where = born[i];
      const stacks = [
        ...(where ? [{ text: `${from} at`, group: where }] : []),
        ...(freed[i] && !freed[i].unknown ? [{ text: `${by} at`, group: freed[i] }] : []),
      ];
      return {
        key: hash(`mismatch ${i}`),
        name: `${from}, freed by ${by}`,
        note: [what.join(", "), where?.name].filter(Boolean).join(" · "),
        hint: `wrong: ${what.join(", ")}`,
        code: false,
        stacks,
      };
    }),
    more,
    sum: `${plural(blocks, "block")} freed by the wrong function`,
    sorts: [],
  };
}

/** Why a section has no rows, and the command that fills it. */
export function whyNone(section: Section, place: Place): { why: string; command?: string } {
  switch (section) {
    case "regions": {
      const filters = Object.keys(filtersOf(place)).length > 0;
      if (filters) return { why: "No region has anything of what counts." };
      return {
        why: "The program has named no regions: the times in which its threads do one thing. This call names one:",
        command: 'heaptap_region_begin("load", NULL, 0); /* <heaptap/heaptap.h> */',
      };
    }
    case "globals":
      return {
        why: place.module.length > 0 ? "This file has no static data, or was not recorded." :
          "Static data was not recorded: the recording was made from another tool's file, or is a sum of several.",
        command: "heaptap run ./program",
      };
    case "pools":
      return {
        why: "The program has reported no pools of its own. This call reports one:",
        command: 'heaptap_pool_create("arena"); /* <heaptap/heaptap.h> */',
      };
    case "mappings":
      return { why: "The program mapped no memory itself: all was by the allocator.", command: "heaptap memory FILE" };
    case "mismatches":
      return {
        why: "Every block was freed by a function that goes with the one that allocated it.",
        command: "heaptap run --free-stacks ./program",
      };
    case "replay":
      return {
        why: "No replay was saved. This command makes the recorded calls with each allocator that is installed, and " +
          "keeps the result beside the recording:",
        command: "heaptap replay --save FILE",
      };
  }
}
