// Generations: how much of what each part of a range allocated is live later, as a triangle; and what every repeat of
// an action left behind.
import type { Generations } from "../api.ts";
import type { Clock } from "./clock.ts";
import { count, exactSize, percent, plural, size } from "./format.ts";
import { groupsOf, type Frame } from "./group.ts";
import type { Place } from "./place.ts";
import { timeText } from "./time.ts";

/** How many rows and columns can be chosen. */
export const sides = ["10", "20", "40"] as const;
const usualSide = "20";

/** What is asked of a place: rows, columns, and whether the rows are spans between marks. */
export function sidesOf({ rows, columns, marks }: Pick<Place, "rows" | "columns" | "marks">): {
  rows: string;
  columns: string;
  marks: boolean;
} {
  const known = (text: string | undefined) => sides.find((side) => side === text) ?? usualSide;
  return { rows: known(rows), columns: known(columns), marks };
}

/** What is counted: bytes, or blocks. */
export type Kept = "kept" | "kept-blocks";

export function keptOf({ metric }: Pick<Place, "metric">): Kept {
  return metric[0] === "kept-blocks" ? "kept-blocks" : "kept";
}

/** Numbers of bytes and of blocks. */
export interface Amounts {
  bytes: Float64Array;
  blocks: Float64Array;
}

/** What was allocated in one interval. */
export interface Row {
  beginNs: number;
  endNs: number;
  /** The marks at which it begins and ends, as times are given; empty: none. */
  fromMark: string;
  toMark: string;
  /** All that was allocated in it. */
  born: { bytes: number; blocks: number };
  /** How much of it is live, by column. NaN: the column is not later. */
  kept: Amounts;
}

/** A call stack that left equally many blocks behind in each of some consecutive rows. */
export interface Repeat {
  name: string;
  /** The function that the reader can change. */
  function: string;
  file: string;
  line: number;
  module: string;
  /** Leaf first. */
  stack: readonly Frame[];
  first: number;
  rows: number;
  /** When the blocks are live: at the end of the range, or at the last mark in it. */
  atNs: number;
  /** Of each row; bytes on average. */
  blocks: number;
  bytes: number;
}

export interface Triangle {
  rows: readonly Row[];
  moments: Float64Array;
  /** Of all rows together, by column. */
  together: Amounts;
  /** The rows are spans between marks. */
  marks: boolean;
  repeats: readonly Repeat[];
  /** Repeats are not known of samples. */
  sampled: boolean;
  /** Where the range begins and ends. */
  beginNs: number;
  endNs: number;
  /** What could not be read; empty if all was. */
  missing: string;
}

export function triangleOf(answer: Generations): Triangle {
  const { rows: r, repeats, range, moments_ns: moments, events } = answer;
  const groups = groupsOf(repeats.group, answer.frames);
  const row = (i: number): Row => {
    const later = (of: { start(i: number): number; end(i: number): number; of: Float64Array }) =>
      Float64Array.from(of.of.subarray(of.start(i), of.end(i)), (value, j) =>
        (events[j] ?? 0) > (r.from_events[i] ?? 0) ? value : NaN,
      );
    return {
      beginNs: r.from_ns[i] ?? 0,
      endNs: r.to_ns[i] ?? 0,
      fromMark: r.from_mark.at(i),
      toMark: r.to_mark.at(i),
      born: { bytes: r.allocated_bytes[i] ?? 0, blocks: r.allocated_blocks[i] ?? 0 },
      kept: { bytes: later(r.kept_bytes), blocks: later(r.kept_blocks) },
    };
  };
  return {
    rows: Array.from({ length: r.rows }, (_, i) => row(i)),
    moments,
    together: { bytes: answer.kept_bytes, blocks: answer.kept_blocks },
    marks: answer.marks,
    repeats: groups.map((group, i) => ({
      name: group.name,
      function: repeats.function.at(i),
      file: repeats.file.at(i),
      line: repeats.line[i] ?? 0,
      module: repeats.module.at(i),
      stack: group.stack,
      first: repeats.first_row[i] ?? 0,
      rows: repeats.row_count[i] ?? 0,
      atNs: repeats.at_ns[i] ?? 0,
      blocks: repeats.blocks[i] ?? 0,
      bytes: repeats.bytes[i] ?? 0,
    })),
    sampled: Boolean(answer.sampling),
    beginNs: range.begin_ns,
    endNs: range.begin_ns + range.span_ns,
    missing: answer.missing ?? "",
  };
}

/** A cell of the triangle. */
export interface Cell {
  row: number;
  column: number;
}

/** The value of a cell; NaN: its column is not later than its row. */
export function valueOf({ rows }: Triangle, { row, column }: Cell, kept: Kept): number {
  const of = rows[row]?.kept;
  return (kept === "kept" ? of?.bytes : of?.blocks)?.[column] ?? NaN;
}

/** The largest value of all cells. */
export function mostOf({ rows }: Triangle, kept: Kept): number {
  let most = 0;
  for (const row of rows) {
    for (const value of kept === "kept" ? row.kept.bytes : row.kept.blocks) if (value > most) most = value;
  }
  return most;
}

/** How many strengths of colour there are, besides that of nothing. */
export const strengths = 7;

/**
 * The strength of a value's colour, from 0, which is that of nothing. Values of very different sizes are told apart:
 * each strength begins at half of the next one.
 */
export function strengthOf(value: number, most: number): number {
  if (!(value > 0) || !(most > 0)) return 0;
  return Math.max(1, strengths + Math.ceil(Math.log2(value / most) - 1e-9));
}

/** The largest value of a strength. */
export function limitOf(strength: number, most: number): number {
  return most * 2 ** (strength - strengths);
}

/** Colours from that of nothing to the strongest: one hue, so that whoever cannot tell hues apart sees the same. */
export function ramp(dark: boolean): readonly string[] {
  return dark
    ? ["#11161d", "#16263a", "#1a3656", "#1f4875", "#275d97", "#3a78b8", "#66a0d8", "#a9d0f5"]
    : ["#f7f7f5", "#e4edf7", "#cbdff2", "#a9cbe9", "#7fb0db", "#5090c8", "#2b6cab", "#124a83"];
}

/** The colour of text that is read best on one of the ramp's. */
export function inkOn(fill: string): "#000000" | "#ffffff" {
  const part = (i: number) => {
    const c = parseInt(fill.slice(i, i + 2), 16) / 255;
    return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  };
  const luminance = 0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5);
  return (luminance + 0.05) / 0.05 > 1.05 / (luminance + 0.05) ? "#000000" : "#ffffff";
}

/** From when to when a row is, in words. */
export function spanOf({ rows, beginNs, endNs }: Triangle, i: number, clock: Clock): string {
  const row = rows[i];
  if (!row) return "";
  if (row.fromMark === "" && row.toMark === "") return clock.span({ begin: row.beginNs, end: row.endNs });
  const begin = row.beginNs <= beginNs && beginNs <= 0 ? "start" : clock.moment(row.beginNs);
  const end = row.endNs >= endNs && isEnd(endNs, clock) ? "end" : clock.moment(row.endNs);
  return `${row.fromMark || begin} – ${row.toMark || end}`;
}

/** Whether a moment is that of the last event: the program may run on for a little. */
function isEnd(ns: number, { run }: Clock): boolean {
  return ns >= 0.999 * run.end;
}

/** The moment of a column, in words. */
export function momentOf({ rows, moments }: Triangle, column: number, clock: Clock): string {
  const ns = moments[column] ?? 0;
  const mark = rows.find(({ endNs, toMark }) => endNs === ns && toMark !== "")?.toMark;
  return mark ?? (column === moments.length - 1 && isEnd(ns, clock) ? "end" : clock.moment(ns));
}

/** An amount as it is written: 1.20 MiB, or 12 blocks. */
export function amount(value: number, kept: Kept): string {
  return kept === "kept" ? size(value) : plural(value, "block");
}

/** A cell in words: its row, its column, what is live, and which share that is of what the row allocated. */
export function wordsOf(triangle: Triangle, cell: Cell, clock: Clock): string {
  const row = triangle.rows[cell.row];
  const bytes = row?.kept.bytes[cell.column] ?? NaN;
  if (!row) return "";
  const span = spanOf(triangle, cell.row, clock);
  const moment = momentOf(triangle, cell.column, clock);
  if (Number.isNaN(bytes)) return `allocated ${span}: that is later than ${moment}`;
  const share = row.born.bytes > 0 ? `, ${percent(bytes, row.born.bytes)} of the ${size(row.born.bytes)}` : "";
  const exact = bytes >= 1024 ? ` (${exactSize(bytes)})` : "";
  const blocks = plural(row.kept.blocks[cell.column] ?? 0, "block");
  const born = share && ` allocated then`;
  return `allocated ${span}, live at ${theEnd(moment)}: ${size(bytes)}${exact} in ${blocks}${share}${born}`;
}

/** The cell that a key leads to; undefined: the key leads to none. Cells that are not later than their row are none. */
export function moved(triangle: Triangle, { row, column }: Cell, key: string, ctrl: boolean): Cell | undefined {
  const { rows, moments } = triangle;
  const first = (r: number) => {
    const at = rows[r]?.kept.bytes.findIndex((value) => !Number.isNaN(value)) ?? -1;
    return at < 0 ? moments.length - 1 : at;
  };
  const lastRow = rows.length - 1;
  const at = (r: number, c: number): Cell => {
    const within = Math.max(0, Math.min(lastRow, r));
    return { row: within, column: Math.max(first(within), Math.min(moments.length - 1, c)) };
  };
  switch (key) {
    case "ArrowLeft":
      return at(row, column - 1);
    case "ArrowRight":
      return at(row, column + 1);
    case "ArrowUp":
      return at(row - 1, column);
    case "ArrowDown":
      return at(row + 1, column);
    case "PageUp":
      return at(row - 10, column);
    case "PageDown":
      return at(row + 10, column);
    case "Home":
      return ctrl ? at(0, 0) : at(row, 0);
    case "End":
      return ctrl ? at(lastRow, moments.length) : at(row, moments.length);
  }
  return undefined;
}

/** What a cell counts, as parts of a place: what its row allocated, live at its column's moment. */
export function placeOfCell(triangle: Triangle, place: Place, { row, column }: Cell, kept: Kept): Partial<Place> {
  const last = column === triangle.moments.length - 1;
  const at = last ? (place.to ?? "end") : momentText(triangle, triangle.moments[column] ?? 0);
  return { ...rangeOf(triangle, place, row, row), at, metric: [kept] };
}

/** What a call stack left behind in its rows, as parts of a place. */
export function placeOfRepeat(triangle: Triangle, place: Place, { first, rows, atNs }: Repeat): Partial<Place> {
  const at = atNs >= triangle.endNs ? (place.to ?? "end") : momentText(triangle, atNs);
  return { ...rangeOf(triangle, place, first, first + rows - 1), at, metric: ["kept"] };
}

/** The range from the beginning of a row to the end of another one: the ends of the whole are those of the place. */
function rangeOf({ rows }: Triangle, place: Place, first: number, last: number): Pick<Place, "from" | "to"> {
  const [begin, end] = [rows[first], rows[last]];
  return {
    from: first === 0 || !begin ? place.from : begin.fromMark || timeText(begin.beginNs),
    to: last === rows.length - 1 || !end ? place.to : end.toMark || timeText(end.endNs),
  };
}

/** A moment as times are given: by its mark, if it has one. */
function momentText({ rows }: Triangle, ns: number): string {
  return rows.find(({ endNs, toMark }) => endNs === ns && toMark !== "")?.toMark ?? timeText(ns);
}

/** What stands out, and the cell that shows it. */
export interface Summary {
  text: string;
  cell: Cell | undefined;
  /** What it is about, instead of the cell. */
  repeat?: Repeat;
}

/** Rows that keep more than this share of what they allocated keep it. */
const keeps = 0.5;

/** Of what was live a moment before, at most this share is left where a program frees everything when it ends. */
const tidied = 0.5;

/** What stands out: at the last moment or, if the program frees most of what it has when it ends, at the one before. */
export function summaryOf(triangle: Triangle, clock: Clock): Summary {
  const { rows, moments, repeats, together } = triangle;
  const last = moments.length - 1;
  const [top] = repeats;
  if (top) {
    const others = repeats.length > 1 ? ` So did ${plural(repeats.length - 1, "other call stack")}.` : "";
    const text =
      `${top.function || top.name} left ${plural(top.blocks, "block")} behind in each of ${top.rows} repeats, ` +
      `${size(top.bytes)} each time.${others}`;
    return { text, cell: { row: top.first, column: last }, repeat: top };
  }
  const freed = last > 3 && (together.bytes[last] ?? 0) < tidied * (together.bytes[last - 1] ?? 0);
  const column = freed ? last - 1 : last;
  const at = `at ${theEnd(momentOf(triangle, column, clock))}`;
  // What was allocated last had no time to be freed.
  const before = rows.filter(({ endNs }) => endNs < (moments[column] ?? 0));
  const counted = before.length > 0 ? before : rows;
  const left = counted.map(({ kept }) => kept.bytes[column] || 0);
  const all = left.reduce((sum, bytes) => sum + bytes, 0);
  const born = counted.reduce((sum, row) => sum + row.born.bytes, 0);
  if (all === 0) {
    return { text: `Every row fades: nothing of what it allocated is live ${at}.`, cell: undefined };
  }
  const mostBytes = Math.max(...left);
  const most = left.indexOf(mostBytes);
  const from = spanOf(triangle, most, clock);
  const then = freed ? " The program frees most of that when it ends." : "";
  const say = (text: string): Summary => ({ text: text + then, cell: { row: most, column } });
  const keepers = left.filter((bytes, i) => bytes >= Math.max(keeps * (counted[i]?.born.bytes ?? 0), all / 20));
  if (keepers.length > 0 && 2 * keepers.length <= counted.length) {
    const [keep, they] = keepers.length === 1 ? ["keeps", "it"] : ["keep", "they"];
    const first = Math.max(...keepers);
    const share = percent(keepers.reduce((sum, bytes) => sum + bytes, 0), all);
    const whence = spanOf(triangle, left.indexOf(first), clock);
    return {
      text:
        `${plural(keepers.length, "row")} ${keep} most of what ${they} allocated, which is ${share} of the ` +
        `${size(all)} that is left ${at}: most of it from ${whence}.${then}`,
      cell: { row: left.indexOf(first), column },
    };
  }
  if (2 * mostBytes > all && counted.length > 2) {
    return say(`Most of the ${size(all)} that is left ${at} is from one row: ${from}, ${size(mostBytes)}.`);
  }
  const leaving = left.filter((bytes) => bytes > 0).length;
  const some = `${leaving} of ${plural(counted.length, "row")} leave`;
  const which = leaving === counted.length ? "Every row leaves" : some;
  return say(
    `${which} something behind: ${size(all)} (${percent(all, born)} of what they allocated) is live ${at}, ` +
      `most of it from ${from}.`,
  );
}

function theEnd(end: string): string {
  return end === "end" ? "the end" : end;
}

/** Numbers of blocks in cells: 9,999, 12.3k. */
export function cellCount(n: number): string {
  if (n < 10_000) return count(n);
  return n < 999_500 ? `${(n / 1e3).toFixed(n < 99_950 ? 1 : 0)}k` : `${(n / 1e6).toFixed(n < 99_950_000 ? 1 : 0)}M`;
}
