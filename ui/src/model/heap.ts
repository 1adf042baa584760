// The heap: how full pages are at some moments of a run. Pages lie in cells, bands of which are what the address space
// consists of. All moments have the same cells.
import type { Compactness, HeapFilm } from "../api.ts";
import type { Clock } from "./clock.ts";
import { duration, percent, plural, size } from "./format.ts";
import { literally } from "./filters.ts";
import type { Frame } from "./group.ts";
import { visible } from "./names.ts";
import type { Place } from "./place.ts";
import { parseTime, timeText, type Run } from "./time.ts";

/** By what pages are coloured, and how the page says it. */
export const tints = [
  { name: "occupancy", title: "how full" },
  { name: "age", title: "age" },
  { name: "stack", title: "function" },
  { name: "thread", title: "thread" },
] as const;
export type Tint = (typeof tints)[number]["name"];

export function tintOf({ tint }: Pick<Place, "tint">): Tint {
  return tints.find(({ name }) => name === tint)?.name ?? "occupancy";
}

const pageBytes = 4096;
/** The ages of a picture span so many powers of ten. */
const ageDecades = 3;

/** Neighbouring cells of one kind. */
export interface Band {
  kind: string;
  /** The thread that allocated nearly all small blocks there; empty: there are several, or it is not an arena. */
  owner: string;
  first: number;
  cells: number;
  cellBytes: number;
  bytes: number;
  runs: readonly { address: bigint; pages: number; cell: number; page: number }[];
}

export interface HeapMoment {
  ns: number;
  /** The number of events before it. */
  events: number;
  atPeak: boolean;
  live: { bytes: number; blocks: number };
  /** How full each cell is, from 0 to 255. */
  fill: Uint8Array;
  /** How old each is, from 0, a thousandth of the time, to 255. */
  age: Uint8Array;
  /** Whose it is. */
  tint: Uint8Array;
  /** What share of its pages is in memory, from 0 to 255; empty: that was not recorded. */
  resident: Uint8Array;
  /** What share is not, rounded down: nobody may have looked at the others. */
  absent: Uint8Array;
}

export interface Heap {
  /** Whose pages are: functions' or threads'. */
  by: "stack" | "thread";
  cells: number;
  /** 1 for cells that have pages; the others stand for gaps between addresses. */
  used: Uint8Array;
  bands: readonly Band[];
  /** Names of functions or threads; one more tint stands for all others. */
  names: readonly string[];
  /** The greatest age. */
  lastNs: number;
  moments: readonly HeapMoment[];
  missing: string;
  /** From which share of the events the only picture is; undefined: from all. */
  share: number | undefined;
}

/** What share of an arena's blocks one thread has to allocate for it to be that thread's arena. */
const soleOwner = 0.9;

export function heapOf(answer: HeapFilm): Heap {
  const { bands: b, moments: m } = answer;
  const used = new Uint8Array(answer.cells);
  const bands = Array.from({ length: b.rows }, (_, i): Band => {
    const { runs, threads } = b;
    const cellPages = b.cell_pages[i] ?? 1;
    const list = [];
    for (let k = runs.start(i); k < runs.end(i); k++) {
      const run = {
        address: BigInt(runs.of.address.at(k) || 0),
        pages: runs.of.pages[k] ?? 0,
        cell: runs.of.cell[k] ?? 0,
        page: runs.of.page[k] ?? 0,
      };
      list.push(run);
      used.fill(1, run.cell, run.cell + Math.ceil((run.page + run.pages) / cellPages));
    }
    const t = threads.start(i);
    const sole = t < threads.end(i) && (threads.of.share[t] ?? 0) >= soleOwner && b.kind.at(i) === "arena";
    return {
      kind: b.kind.at(i),
      owner: sole ? `${threads.of.name.at(t)} (${threads.of.tid[t]})` : "",
      first: b.first_cell[i] ?? 0,
      cells: b.cells[i] ?? 0,
      cellBytes: cellPages * pageBytes,
      bytes: (b.pages[i] ?? 0) * pageBytes,
      runs: list,
    };
  });
  return {
    by: answer.color === "thread" ? "thread" : "stack",
    cells: answer.cells,
    used,
    bands,
    names: answer.tints,
    lastNs: answer.last_ns,
    moments: Array.from({ length: m.rows }, (_, i) => ({
      ns: m.time_ns[i] ?? 0,
      events: m.events[i] ?? 0,
      atPeak: m.at_peak[i] === 1,
      live: { bytes: m.live.bytes[i] ?? 0, blocks: m.live.count[i] ?? 0 },
      fill: bytesOf(m.fill.at(i)),
      age: bytesOf(m.age.at(i)),
      tint: bytesOf(m.tint.at(i)),
      resident: bytesOf(m.resident.at(i)),
      absent: bytesOf(m.absent.at(i)),
    })),
    missing: answer.missing ?? "",
    share: answer.estimate?.share,
  };
}

/** Whether some live bytes of a cell are certainly not in memory: the other pages have too little room for all. */
export function lacksMemory({ fill, absent }: HeapMoment, cell: number): boolean {
  const full = fill[cell] ?? 0;
  return full > 0 && full + (absent[cell] ?? 0) > 255;
}

/** What the blocks that the filters select have of the cells of a film. */
export interface SelectedCells {
  events: number;
  live: { bytes: number; blocks: number };
  fill: Uint8Array;
}

export function selectedCellsOf(answer: HeapFilm): SelectedCells {
  const { events, live, fill } = heapOf(answer).moments[0] ?? { events: -1, live: { bytes: 0, blocks: 0 }, fill: [] };
  return { events, live, fill: Uint8Array.from(fill) };
}

/** Whether they are of a moment, in its cells. */
export function isOf(heap: Heap, { events }: HeapMoment, selected: SelectedCells | undefined): boolean {
  return selected !== undefined && selected.events === events && selected.fill.length === heap.cells;
}

function bytesOf(base64: string): Uint8Array {
  return Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
}

/** The band of a cell. */
export function bandOf({ bands }: Heap, cell: number): Band | undefined {
  return bands.find(({ first, cells }) => cell >= first && cell < first + cells);
}

export function bandName({ kind, owner }: Band): string {
  return owner === "" ? kind : `${kind} of ${visible(owner)}`;
}

/** The first address of a cell; undefined: it stands for a gap. */
export function addressOf(heap: Heap, cell: number): string | undefined {
  const band = bandOf(heap, cell);
  if (!band) return undefined;
  const cellPages = band.cellBytes / pageBytes;
  for (const { address, pages, cell: first, page } of band.runs) {
    if (cell < first || cell >= first + Math.ceil((page + pages) / cellPages)) continue;
    const at = Math.max(0, (cell - first) * cellPages - page);
    return `0x${(address + BigInt(at * pageBytes)).toString(16)}`;
  }
  return undefined;
}

/** Addresses, the last one included. */
export interface Addresses {
  from: bigint;
  to: bigint;
}

/** The addresses of a cell, as far as blocks ever lay there; undefined: it stands for a gap. */
export function addressesOf(heap: Heap, cell: number): Addresses | undefined {
  const first = addressOf(heap, cell);
  const band = bandOf(heap, cell);
  if (!band || first === undefined) return undefined;
  const from = BigInt(first);
  const cellPages = band.cellBytes / pageBytes;
  let to = from;
  for (const { address, pages, cell: start, page } of band.runs) {
    const [begin, end] = [(cell - start) * cellPages - page, (cell + 1 - start) * cellPages - page];
    if (end > 0 && begin < pages) to = address + BigInt(Math.min(end, pages) * pageBytes) - 1n;
  }
  return { from, to };
}

/** Addresses as the place has them. */
export function addressesText({ from, to }: Addresses): string {
  return `0x${from.toString(16)}..0x${to.toString(16)}`;
}

/** The cell that begins with the addresses of a place; undefined: there is none. */
export function cellOf(heap: Heap, address: string | undefined): number | undefined {
  const first = /^0x[0-9a-f]{1,16}(?=\.\.|$)/.exec(address ?? "")?.[0];
  if (first === undefined) return undefined;
  const at = BigInt(first);
  for (const { cellBytes, runs } of heap.bands) {
    for (const { address: begin, pages, cell, page } of runs) {
      if (at < begin || at >= begin + BigInt(pages * pageBytes)) continue;
      return cell + Math.floor((page * pageBytes + Number(at - begin)) / cellBytes);
    }
  }
  return undefined;
}

/** A part of the picture: so many cells from one on. */
export interface Area {
  first: number;
  cells: number;
}

/** The area with so many times the cells, in which a cell keeps its place. */
export function zoomedArea(heap: Heap, { first, cells }: Area, cell: number, times: number): Area {
  const count = Math.max(1, Math.min(heap.cells, Math.round(cells * times)));
  const before = Math.floor(((cell - first) / cells) * count);
  return { first: Math.max(0, Math.min(heap.cells - count, cell - before)), cells: count };
}

/** The area, moved as little as needed to have a cell. */
export function areaWith({ first, cells }: Area, cell: number): Area {
  return { first: Math.min(cell, Math.max(first, cell - cells + 1)), cells };
}

/** The cell of an address or, if it has none, the next one that has pages; undefined: there is none. */
function cellFrom(heap: Heap, address: string): number | undefined {
  const cell = cellOf(heap, address);
  if (cell !== undefined) return cell;
  const at = BigInt(address);
  for (const { runs } of heap.bands) {
    for (const { address: begin, cell: first } of runs) if (begin > at) return first;
  }
  return undefined;
}

/** The same cell of another layout of the same addresses; undefined: it has none. */
export function cellThen(before: Heap, after: Heap, cell: number | undefined): number | undefined {
  const address = cell === undefined ? undefined : addressOf(before, cell);
  return address === undefined ? undefined : cellFrom(after, address);
}

/** The area of another layout, with as many cells, in which the addresses of a cell keep their place. */
export function areaThen(before: Heap, after: Heap, { first, cells }: Area, cell: number): Area {
  const whole = { first: 0, cells: after.cells };
  if (cells >= before.cells) return whole;
  const anchor = before.used[cell] ? cell : before.used.indexOf(1, first);
  const then = cellThen(before, after, anchor);
  if (then === undefined) return whole;
  const count = Math.min(after.cells, cells);
  return { first: Math.max(0, Math.min(after.cells - count, then - (anchor - first))), cells: count };
}

/** The heap with only the cells of an area, which keep their numbers. */
export function heapIn(heap: Heap, { first, cells }: Area): Heap {
  if (cells >= heap.cells) return heap;
  const bands = heap.bands.flatMap((band) => {
    const from = Math.max(band.first, first);
    const to = Math.min(band.first + band.cells, first + cells);
    return from < to ? [{ ...band, first: from, cells: to - from }] : [];
  });
  return { ...heap, bands };
}

/** A part of a block, in one of the rows that it is drawn in. */
export interface BlockPart {
  row: number;
  from: number;
  to: number;
}

/** Where the parts of a block are among rows of so many bytes each, of which it may have several. */
export function partsOf(begin: number, end: number, row: number, rows: number): BlockPart[] {
  const parts = [];
  const last = Math.min(end, row * rows);
  for (let at = Math.max(0, begin); at < last; ) {
    const i = Math.floor(at / row);
    const to = Math.min(last, (i + 1) * row);
    parts.push({ row: i, from: at - i * row, to: to - i * row });
    at = to;
  }
  return parts;
}

/** What counts only blocks of the same call stack, as far as its own functions tell. */
export function stackOnly(stack: readonly Frame[]): string[] {
  const named = stack.filter(({ named }) => named);
  const own = named.filter(({ library }) => !library);
  return [...new Set((own.length > 0 ? own : named).map(({ name }) => literally(name)))].slice(0, mostFocus);
}

/** Longer addresses of the page are cut off by some programs. */
const mostFocus = 16;

/** The age that one of the 256 ages stands for. */
export function ageOf({ lastNs }: Heap, age: number): number {
  return lastNs * 10 ** ((age / 255 - 1) * ageDecades);
}

/** The number of an age, of the 256. */
export function ageNumber({ lastNs }: Heap, ns: number): number {
  return Math.round(255 * Math.min(1, Math.max(0, 1 + Math.log10(ns / lastNs) / ageDecades)));
}

/** The name that a tint stands for; undefined: it is that of all others. */
export function nameOf({ names }: Heap, tint: number): string | undefined {
  return names[tint];
}

/** A cell at a moment, in words: where it is, how full, and whose. */
export interface CellWords {
  where: string;
  full: string;
  whose: string;
}

export function cellWords(heap: Heap, moment: HeapMoment, cell: number): CellWords {
  const band = bandOf(heap, cell);
  const address = addressOf(heap, cell);
  if (!band || address === undefined) return { where: "a gap between addresses", full: "", whose: "" };
  const where = `${size(band.cellBytes)} of ${bandName(band)} at ${address}`;
  const fill = moment.fill[cell] ?? 0;
  const known = moment.resident.length > 0;
  const resident = moment.resident[cell] ?? 0;
  const none = moment.absent[cell] === 255 ? "not" : "not seen";
  const held = resident === 0 ? none : resident === 255 ? "all" : percent(resident, 255);
  const memory = known ? `, ${held} in memory` : "";
  if (fill === 0) return { where, full: `empty${memory}`, whose: "" };
  const age = moment.age[cell] ?? 0;
  const old = age === 0 ? `younger than ${duration(ageOf(heap, 0))}` : `${duration(ageOf(heap, age))} old`;
  const name = nameOf(heap, moment.tint[cell] ?? 0) ?? (heap.by === "stack" ? "other functions" : "other threads");
  return {
    where,
    full: `${fill === 255 ? "full" : `${percent(fill, 255)} full`}${memory}`,
    whose: `on average ${old}, most of it by ${visible(name)}`,
  };
}

export function wordsOf(heap: Heap, moment: HeapMoment, cell: number): string {
  const { where, full, whose } = cellWords(heap, moment, cell);
  return [[where, full].filter(Boolean).join(": "), whose].filter(Boolean).join(", ");
}

/** A moment in words. */
export function momentWords(heap: Heap, moment: HeapMoment, clock: Clock): string {
  const when = moment.atPeak ? `at the peak, ${clock.moment(moment.ns)}` : `at ${clock.moment(moment.ns)}`;
  let pages = 0;
  let empty = 0;
  for (let i = 0; i < heap.cells; i++) {
    if (moment.fill[i]) pages++;
    else if (heap.used[i]) empty++;
  }
  const one = heap.bands.every(({ cellBytes }) => cellBytes === pageBytes) ? "page" : "cell";
  const { bytes, blocks } = moment.live;
  const live = `${size(bytes)} live in ${plural(blocks, "block")}`;
  return `${when}: ${live}, on ${plural(pages, one)}; ${plural(empty, one)} empty`;
}

/** What a click on a cell leads to: what its function or thread has live then; undefined: that has no name. */
export function placeOfCell(heap: Heap, place: Place, moment: HeapMoment, cell: number): Place | undefined {
  const name = moment.fill[cell] ? nameOf(heap, moment.tint[cell] ?? 0) : undefined;
  if (name === undefined) return undefined;
  const there = { ...place, at: momentText(moment) };
  if (heap.by === "stack") return flameOf(there, name);
  const tid = /(\d+)\)?$/.exec(name)?.[1];
  return tid === undefined ? undefined : { ...there, page: "flame", metric: ["live"], thread: [tid] };
}

/** The flame graph of what a function has live; undefined: it is not known by name. */
export function flameOf(place: Place, name: string): Place | undefined {
  if (name === "" || /^0x[0-9a-f]+$|\+0x[0-9a-f]+$/.test(name)) return undefined;
  return { ...place, page: "flame", metric: ["live"], focus: [...new Set([...place.focus, literally(name)])] };
}

/** A moment as times are given. */
export function momentText({ ns, atPeak }: HeapMoment): string {
  return atPeak ? "peak" : timeText(ns);
}

/** The number of the moment that is nearest to a time. */
export function nearestMoment({ moments }: Heap, ns: number): number {
  let best = 0;
  moments.forEach((moment, i) => {
    if (Math.abs(moment.ns - ns) < Math.abs((moments[best]?.ns ?? 0) - ns)) best = i;
  });
  return best;
}

/** The number of the moment that is nearest to one of the address; without one, that of the peak. */
export function momentAt(heap: Heap, at: string | undefined, run: Run): number {
  const ns = at === undefined ? undefined : parseTime(at, run);
  return ns === undefined ? peakOf(heap) : nearestMoment(heap, ns);
}

/** The number of the moment at the peak; the first one if there is none. */
export function peakOf({ moments }: Heap): number {
  return Math.max(0, moments.findIndex(({ atPeak }) => atPeak));
}

/** Where cells are, in pixels of the page. */
export interface HeapLayout {
  left: number;
  width: number;
  height: number;
  pitch: number;
  edge: number;
  columns: number;
  /** Where the cells of each band begin. */
  tops: readonly number[];
}

const [largestCell, smallestCell, labelHeight, bandGap] = [18, 3, 30, 10];

/**
 * The largest cells with which all bands have room in a height; the smallest ones need what they need.
 * @param most how large they may be
 */
export function heapLayout(heap: Heap, width: number, room: number, left: number, most = largestCell): HeapLayout {
  for (let pitch = most; ; pitch--) {
    const columns = Math.max(1, Math.floor((width - left) / pitch));
    const tops: number[] = [];
    let y = 0;
    for (const { cells } of heap.bands) {
      tops.push(y);
      y += Math.max(Math.ceil(cells / columns) * pitch, labelHeight) + bandGap;
    }
    const height = Math.max(y - bandGap, labelHeight);
    if (height > room && pitch > smallestCell) continue;
    return { left, width, height, pitch, edge: pitch - Math.max(1, Math.floor(pitch / 8)), columns, tops };
  }
}

/** Where a cell is. */
export function cellBox(heap: Heap, layout: HeapLayout, cell: number): { x: number; y: number } {
  const i = heap.bands.findIndex(({ first, cells }) => cell >= first && cell < first + cells);
  const at = cell - (heap.bands[i]?.first ?? 0);
  const { left, pitch, columns, tops } = layout;
  return { x: left + (at % columns) * pitch, y: (tops[i] ?? 0) + Math.floor(at / columns) * pitch };
}

/** The cell at a place; undefined: there is none, or it stands for a gap. */
export function cellAt(heap: Heap, layout: HeapLayout, x: number, y: number): number | undefined {
  const { left, pitch, columns, tops } = layout;
  const column = Math.floor((x - left) / pitch);
  if (x < left || column >= columns) return undefined;
  for (let i = heap.bands.length - 1; i >= 0; i--) {
    const [band, top] = [heap.bands[i]!, tops[i] ?? 0];
    if (y < top) continue;
    const at = Math.floor((y - top) / pitch) * columns + column;
    return at < band.cells && heap.used[band.first + at] ? band.first + at : undefined;
  }
  return undefined;
}

/** The cell that a key leads to; undefined: the key leads to none. Gaps are left out. */
export function movedCell(heap: Heap, { columns }: HeapLayout, cell: number, key: string): number | undefined {
  const i = heap.bands.findIndex(({ first, cells }) => cell >= first && cell < first + cells);
  const band = heap.bands[i];
  if (!band) return undefined;
  const used = (at: number, step: number) => {
    for (let c = at; c >= 0 && c < heap.cells; c += step) if (heap.used[c]) return c;
    return cell;
  };
  const [at, column] = [cell - band.first, (cell - band.first) % columns];
  const inBand = (other: Band | undefined, last: boolean) => {
    if (!other) return cell;
    const row = last ? Math.floor((other.cells - 1) / columns) : 0;
    return used(other.first + Math.min(row * columns + column, other.cells - 1), -1);
  };
  switch (key) {
    case "ArrowLeft":
      return used(cell - 1, -1);
    case "ArrowRight":
      return used(cell + 1, 1);
    case "ArrowUp":
      return at >= columns ? used(cell - columns, -1) : inBand(heap.bands[i - 1], true);
    case "ArrowDown":
      return at + columns < band.cells ? used(cell + columns, 1) : inBand(heap.bands[i + 1], false);
    case "PageUp":
      return heap.bands[i - 1]?.first ?? band.first;
    case "PageDown":
      return heap.bands[i + 1]?.first ?? band.first + band.cells - 1;
    case "Home":
      return used(cell - column, 1);
    case "End":
      return used(Math.min(cell - column + columns, band.first + band.cells) - 1, -1);
  }
  return undefined;
}

/** Stops of the scales, from the lowest to the highest value: those of the pictures of heaptap frames. */
const scales = {
  dark: {
    occupancy: ["#ffe29a", "#ffb454", "#f4716a", "#a156c4", "#4a63e7"],
    age: ["#b6f5d0", "#3cc8b4", "#2f86c9", "#5a4fb8", "#8a3d7c"],
    groups: ["#5b9df0", "#f0a04b", "#5fc689", "#c995f2", "#f2806e", "#49c0cc", "#e0c341", "#7d8897"],
    empty: "#202833",
    held: "#6e3f4a",
  },
  light: {
    occupancy: ["#ffb000", "#fb7a1e", "#dc3d5f", "#8a3fa8", "#2445b5"],
    age: ["#58c98f", "#13a093", "#1f6fb5", "#5a3fa8", "#7a1f5c"],
    groups: ["#2b6cb0", "#d97a16", "#2c8a52", "#8a4ab0", "#c43d26", "#1a8a96", "#a8850a", "#77818d"],
    empty: "#e9ecf0",
    held: "#f2c4c4",
  },
} as const;

type Rgb = readonly [number, number, number];

function rgb(hex: string): Rgb {
  const part = (i: number) => parseInt(hex.slice(i, i + 2), 16);
  return [part(1), part(3), part(5)];
}

function mix(a: Rgb, b: Rgb, at: number): Rgb {
  const part = (i: 0 | 1 | 2) => Math.round(a[i] + (b[i] - a[i]) * at);
  return [part(0), part(1), part(2)];
}

function onScale(stops: readonly string[], at: number): Rgb {
  const i = Math.min(Math.floor(at * (stops.length - 1)), stops.length - 2);
  return mix(rgb(stops[i]!), rgb(stops[i + 1]!), at * (stops.length - 1) - i);
}

/** Colours of cells as a canvas takes them: by fill and tint. */
export class HeapColours {
  readonly #known = new Map<number, number>();

  constructor(
    readonly heap: Heap,
    readonly tint: Tint,
    readonly dark: boolean,
  ) {}

  get empty(): string {
    return this.of(0, 0, 0);
  }

  /** That of a cell without a live block that is in memory. */
  get held(): string {
    return this.of(0, 0, 0, 1);
  }

  /** The colour of a cell that is so full and so old, and most of which has a name. */
  of(fill: number, age: number, name: number, resident = 0): string {
    const pixel = this.pixel(fill, age, name, resident);
    return `rgb(${pixel & 255} ${(pixel >> 8) & 255} ${pixel >> 16})`;
  }

  /** The same as a number, with red in the lowest 8 bits, then green and blue. */
  pixel(fill: number, age: number, name: number, resident = 0): number {
    const key =
      fill === 0 ? Math.min(resident, 1) : (fill * 256 + (this.tint === "age" ? age : 0)) * 256 + name;
    let pixel = this.#known.get(key);
    if (pixel === undefined) {
      const { empty, held } = scales[this.dark ? "dark" : "light"];
      const [red, green, blue] = fill > 0 ? this.#of(fill, age, name) : rgb(resident > 0 ? held : empty);
      this.#known.set(key, (pixel = red | (green << 8) | (blue << 16)));
    }
    return pixel;
  }

  #of(fill: number, age: number, name: number): Rgb {
    const scale = scales[this.dark ? "dark" : "light"];
    if (this.tint === "occupancy") return onScale(scale.occupancy, (fill - 1) / 254);
    const { groups } = scale;
    const group = name < this.heap.names.length ? name : groups.length - 1;
    const own = this.tint === "age" ? onScale(scale.age, age / 255) : rgb(groups[group]!);
    return mix(rgb(scale.empty), own, 0.4 + (0.6 * (fill - 1)) / 254);
  }
}

/** Who keeps nearly empty pages in use. */
export interface Pins {
  list: readonly { name: string; pages: number; released: number; blocks: number }[];
  more: number;
}

export function pinsOf({ pins, more }: Compactness): Pins {
  return {
    list: Array.from({ length: pins.rows }, (_, i) => ({
      name: pins.function.at(i),
      pages: pins.pages.pinned[i] ?? 0,
      released: pins.pages.released_bytes[i] ?? 0,
      blocks: pins.blocks[i] ?? 0,
    })),
    more,
  };
}
