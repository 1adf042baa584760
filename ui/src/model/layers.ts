// Live bytes as layers: those of the groups that count most, one above the other, and of all others together. Each
// block is in one layer, so that the layers add up to the live bytes at every step.
import type { ByName, Parameters, Timeline } from "../api.ts";
import type { Numbers } from "../columns.ts";
import { filtersOf, type Filters } from "./filters.ts";
import { groupsOf, type Group } from "./group.ts";
import type { Place } from "./place.ts";
import { transforms } from "./row-actions.ts";
import { parseSpan, timeText, type Run, type Span } from "./time.ts";
import { changeOf } from "./transforms.ts";

/** What the layers can be. Functions come first: they are what can be changed. */
export const layersBy = [
  "function", "line", "file", "module", "stack", "thread", "size", "allocator", "region", "region-name",
] as const satisfies readonly ByName[];

/** How many layers there may be, besides the rest. */
export const layerCounts = [4, 8, 12, 20] as const;
const usualCount = 8;

/** How many steps the time is divided into: as many as can be told apart. */
export const layerSteps = 400;
/**
 * From so many events on, the server chooses the steps: about 200, which end where it need not decode events. What it
 * says of them is exact.
 */
const manyEvents = 20_000_000;

export function layersByOf(place: Pick<Place, "by">): (typeof layersBy)[number] {
  return layersBy.find((by) => by === place.by) ?? "function";
}

export function layerCountOf(place: Pick<Place, "top">): number {
  return layerCounts.find((n) => String(n) === place.top) ?? usualCount;
}

/** Groupings of code, in which library frames can be folded. */
const ofCode: ReadonlySet<string> = new Set(["function", "line", "file", "module", "stack"]);

/** One layer. Its lists have an entry for each step, and before these one for the beginning. */
export interface Layer {
  /** Undefined: all that is in no other layer. */
  group: Group | undefined;
  name: string;
  live: Float64Array;
}

export interface Layers {
  /** The ends of the steps; the first is the beginning. */
  timesNs: Numbers;
  layers: readonly Layer[];
  /** Of all layers together. */
  live: Float64Array;
  blocks: Float64Array;
  /** In each step; nothing in the first entry. */
  bytes: Float64Array;
  allocations: Float64Array;
  deallocations: Float64Array;
  /** What the kernel said in each step: empty if it was never asked. The first entry is that of the first step. */
  sampled: Readonly<Record<SampledName, Float64Array>>;
  missing: string;
}

const sampledNames = [
  "resident_bytes", "swapped_bytes", "mapped_bytes", "threads", "minor_faults", "major_faults",
  "system_available_bytes", "system_cached_bytes",
] as const;
export type SampledName = (typeof sampledNames)[number];

/** The time that is shown: the selected range, else what the timeline at the top shows. */
export function shownTimes(place: Place, filters: Filters): Pick<Filters, "from" | "to"> {
  if (filters.from !== undefined || filters.to !== undefined) return {};
  const [from, to] = place.zoom?.split("..") ?? [];
  return { ...(from && { from }), ...(to && { to }) };
}

/**
 * What the page asks.
 * @param events how many the recording has
 */
export function layersParameters(place: Place, events: number): Parameters["timeline"] {
  const filters = filtersOf(place);
  const by = layersByOf(place);
  // The layers are of live bytes, whatever other pages count: those that had most of them at the highest moment.
  const parameters: Parameters["timeline"] = { ...filters, ...shownTimes(place, filters), by, metric: ["peak"] };
  parameters.top = layerCountOf(place);
  if (events < manyEvents) parameters.steps = layerSteps;
  if (!place.unfolded && ofCode.has(by)) parameters.fold = true;
  return parameters;
}

/** The name of what is in no other layer. */
export const restName = "the rest";

export function layersOf(answer: Timeline): Layers {
  const { rows, times_ns: timesNs, all, rest, sampled } = answer;
  const n = timesNs.length;
  const groups = groupsOf(rows.group.of, answer.frames);
  const layers: Layer[] = Array.from({ length: rows.rows }, (_, i) => {
    const group = groups[rows.group.row[i] ?? -1];
    const { live_bytes: live } = rows;
    return { group, name: group?.name ?? "", live: live.of.slice(live.start(i), live.end(i)) };
  });
  layers.push({ group: undefined, name: restName, live: rest.live_bytes });
  const lists = [all.live_bytes, all.bytes, ...layers.map(({ live }) => live)];
  if (lists.some((list) => list.length !== n)) throw new TypeError("the timeline's lists do not belong together");
  const known = sampledNames.map((name): [SampledName, Float64Array] => {
    const list = sampled[name];
    const [first] = list;
    if (first === undefined) return [name, new Float64Array()];
    // Before the first sample, nothing is known.
    const unknown = (i: number) => !/faults$/.test(name) && !((sampled.resident_bytes[i] ?? 0) > 0);
    return [name, Float64Array.of(first, ...list).map((value, i) => (unknown(Math.max(0, i - 1)) ? NaN : value))];
  });
  return {
    timesNs,
    layers,
    live: all.live_bytes,
    blocks: all.live_blocks,
    bytes: all.bytes,
    allocations: all.allocations,
    deallocations: all.deallocations,
    sampled: Object.fromEntries(known) as Record<SampledName, Float64Array>,
    missing: answer.missing ?? "",
  };
}

/** The upper edges of the layers, the lowest layer first: each is the one below it with its own bytes on top. */
export function edgesOf(layers: readonly Layer[]): Float64Array[] {
  const edges: Float64Array[] = [];
  for (const { live } of layers) {
    const below = edges.at(-1);
    edges.push(below ? live.map((bytes, i) => bytes + (below[i] ?? 0)) : live.slice());
  }
  return edges;
}

/** The layer at a height of a step; -1: above them all. */
export function layerAt(edges: readonly Float64Array[], step: number, bytes: number): number {
  return bytes < 0 ? -1 : edges.findIndex((edge) => bytes < (edge[step] ?? 0));
}

/** The step with the most live bytes: what is shown of each layer before the reader points at a moment. */
export function highestStep({ live }: Pick<Layers, "live">): number {
  let best = 0;
  live.forEach((bytes, i) => {
    if (bytes > (live[best] ?? 0)) best = i;
  });
  return best;
}

/** The step that ends nearest to a moment. */
export function stepNear(timesNs: Numbers, ns: number): number {
  let best = 0;
  timesNs.forEach((t, i) => {
    if (Math.abs(t - ns) < Math.abs((timesNs[best] ?? 0) - ns)) best = i;
  });
  return best;
}

/** The largest of some numbers; NaN is not known. */
export function largest(values: Float64Array): number {
  let most = 0;
  for (const value of values) if (value > most) most = value;
  return most;
}

/** By second: what happened in each step, by the length of the step. */
export function perSecond(counts: Float64Array, timesNs: Numbers): Float64Array {
  return counts.map((n, i) => {
    const ns = (timesNs[i] ?? 0) - (timesNs[i - 1] ?? 0);
    return i > 0 && ns > 0 ? (n / ns) * 1e9 : 0;
  });
}

/** What is resident beyond the live bytes; empty if it is not known. Below 0, live bytes were never touched. */
export function notLive({ live, sampled }: Layers): Float64Array {
  return sampled.resident_bytes.map((bytes, i) => bytes - (live[i] ?? 0));
}

/** The filter that leaves a layer: what passes through its function, its thread's ...; undefined: there is none. */
export function onlyLayer(place: Place, group: Group): Partial<Place> | undefined {
  const focus = transforms({ group }).find(({ id }) => id === "focus");
  return focus && changeOf(place, focus);
}

/** The address of a step's end, for the cursor. */
export function momentOf({ timesNs }: Layers, step: number): string {
  return timeText(timesNs[step] ?? 0);
}

/** The time that the picture is about: what the timeline at the top shows, or a range beyond it. */
export function axisSpan(place: Place, { timesNs }: Layers, run: Run): Span {
  const answered = { begin: timesNs[0] ?? 0, end: timesNs.at(-1) ?? 0 };
  const [from, to] = place.zoom?.split("..") ?? [];
  const view = parseSpan(from || undefined, to || undefined, run);
  const all = { begin: Math.min(view.begin, answered.begin), end: Math.max(view.end, answered.end) };
  return all.end > all.begin ? all : { begin: all.begin, end: all.begin + 1 };
}

/** A picture in words. */
export function describe({ layers, live, timesNs }: Layers, by: string, text: (bytes: number) => string): string {
  const at = highestStep({ live });
  const parts = layers
    .map((layer) => ({ name: layer.name, bytes: layer.live[at] ?? 0 }))
    .filter(({ bytes }) => bytes > 0)
    .sort((a, b) => b.bytes - a.bytes)
    .slice(0, 3)
    .map(({ name, bytes }) => `${name} ${text(bytes)}`);
  const most = `${text(live[at] ?? 0)} at most, ${timeText(timesNs[at] ?? 0)} after the start`;
  return `Live bytes by ${by}, stacked: ${most}: ${parts.join(", ") || "nothing"}.`;
}
