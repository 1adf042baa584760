// A source file with what its lines count.
import { computed, signal, type ReadonlySignal } from "@preact/signals";
import type { MetricName } from "../api.ts";
import { Highlighter, languageOf, type Token } from "./highlight.ts";

/** What a line calls. */
export interface Call {
  name: string;
  module: string;
  /** Whether the name is a function's, so that it can be found. */
  named: boolean;
  /** By metric, as the columns. */
  values: readonly number[];
}

/** A column of numbers, by row. */
export interface SourceColumn {
  metric: MetricName;
  total: Float64Array;
  self: Float64Array;
  /** Whether a line has something of its own: if not, the selves say nothing. */
  hasSelf: boolean;
  /** The largest total. */
  largest: number;
}

/** A file. Lines that have numbers are rows. */
export interface Sheet {
  /** Its path as the recording has it, and where its text was found; undefined: it was not. */
  file: string;
  found: string | undefined;
  newer: boolean;
  /** What is wrong with it; empty if nothing is. */
  note: string;
  /** The text; undefined: there is none, and only lines with numbers are shown. */
  text: readonly string[] | undefined;
  /** The text goes on. */
  cut: boolean;
  columns: readonly SourceColumn[];
  /** The numbers of the lines with numbers, in order. */
  rows: Float64Array;
  calls: ReadonlyMap<number, readonly Call[]>;
  /** The file's totals, by column. */
  whole: readonly number[];
  /** Everything that counts, by column. */
  all: readonly number[];
}

/** How much of the largest line a line has, by the first metric: from 0 to 1. */
export function heat(sheet: Sheet, row: number): number {
  const [column] = sheet.columns;
  const value = column?.total[row] ?? 0;
  return column && column.largest > 0 && value > 0 ? Math.max(0.04, Math.min(1, value / column.largest)) : 0;
}

/** The rows of a virtual list that are shown. */
export interface Slice {
  /** The first row, and how many. */
  first: number;
  count: number;
  /** Where the first row is, in pixels from the top of the content. */
  top: number;
  /** How high the content is. */
  height: number;
}

/** Browsers draw nothing beyond some height. */
const mostPixels = 8_000_000;
/** Rows beyond the edges, so that a quick turn of the wheel shows no gap. */
const beyond = 8;

/** What a list shows that is scrolled so far. Where all rows would be too high, a pixel stands for several. */
export function sliceOf(scroll: number, view: number, rows: number, rowHeight: number): Slice {
  const full = rows * rowHeight;
  const height = Math.min(full, mostPixels);
  const furthest = Math.max(0, height - view);
  const at = Math.min(Math.max(0, scroll), furthest);
  // The row at the top edge, as a fraction.
  const edge = furthest === 0 ? 0 : (at / furthest) * (Math.max(0, full - view) / rowHeight);
  const first = Math.max(0, Math.floor(edge) - beyond);
  const last = Math.min(rows, Math.ceil(edge + view / rowHeight) + beyond);
  return { first, count: Math.max(0, last - first), top: at - (edge - first) * rowHeight, height };
}

/** How far a list must be scrolled for a row to be in the middle. */
export function scrollTo(row: number, view: number, rows: number, rowHeight: number): number {
  const full = rows * rowHeight;
  const furthest = Math.max(0, Math.min(full, mostPixels) - view);
  const wanted = Math.min(Math.max(0, row * rowHeight - (view - rowHeight) / 2), Math.max(0, full - view));
  return full <= view ? 0 : (wanted / (full - view)) * furthest;
}

/** The most matches that are counted. */
const mostMatches = 10_000;

/** The lines that contain a text: as it is if it has capital letters, in upper or lower case if it has none. */
export function search(lines: readonly string[], text: string): { lines: number[]; more: boolean } {
  const found: number[] = [];
  if (text === "") return { lines: found, more: false };
  const exact = text !== text.toLowerCase();
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i] ?? "";
    if (!(exact ? line : line.toLowerCase()).includes(text)) continue;
    if (found.length === mostMatches) return { lines: found, more: true };
    found.push(i);
  }
  return { lines: found, more: false };
}

/** The most places in one line that are marked. */
const mostMarks = 100;

/** Where a line has a text, as search finds it: begin and end of each place. */
export function places(line: string, text: string): [number, number][] {
  const found: [number, number][] = [];
  if (text === "") return found;
  const lower = line.toLowerCase();
  // In some languages a small letter has another length; such lines are compared as they are.
  const where = text !== text.toLowerCase() || lower.length !== line.length ? line : lower;
  for (let at = where.indexOf(text); at >= 0 && found.length < mostMarks; at = where.indexOf(text, at + text.length)) {
    found.push([at, at + text.length]);
  }
  return found;
}

/** A line as it is shown: of a file without text, only those with numbers are. */
export interface ShownLine {
  line: number;
  /** Its row; -1: it has no numbers. */
  row: number;
  text: string | undefined;
}

/** A file as it is shown: where the reader is, and what was searched for. */
export class SourceReader {
  readonly #sheet = signal<Sheet | undefined>(undefined);
  #highlighter: Highlighter | undefined;
  readonly #tokens = new Map<number, readonly Token[]>();
  readonly #rowOf = computed(() => new Map(Array.from(this.#sheet.value?.rows ?? [], (line, row) => [line, row])));
  /** The current line, from 1 on; 0: none. */
  readonly current = signal(0);
  /** What is searched for. */
  readonly query = signal("");
  readonly matches = computed(() => search(this.#sheet.value?.text ?? [], this.query.value));
  /** The line that is to be scrolled to; an object, so that the same line can be asked for again. */
  readonly wanted = signal<{ line: number } | undefined>(undefined);

  get sheet(): ReadonlySignal<Sheet | undefined> {
    return this.#sheet;
  }

  /** Shows a file. If it is the same one with other numbers, the reader stays where they are. */
  show(sheet: Sheet): void {
    const before = this.#sheet.peek();
    if (!before || before.file !== sheet.file || !sameText(before.text, sheet.text)) {
      this.#tokens.clear();
      this.#highlighter = sheet.text && new Highlighter(sheet.text, languageOf(sheet.file));
    }
    if (before && before.file !== sheet.file) {
      this.query.value = "";
      this.current.value = 0;
    }
    this.#sheet.value = sheet;
  }

  /** How many lines are shown. */
  get length(): number {
    const sheet = this.#sheet.value;
    return sheet?.text ? Math.max(sheet.text.length, sheet.rows.at(-1) ?? 0) : (sheet?.rows.length ?? 0);
  }

  /** The line at an index of what is shown. */
  at(index: number): ShownLine {
    const sheet = this.#sheet.value;
    if (!sheet?.text) return { line: sheet?.rows[index] ?? 0, row: index, text: undefined };
    return { line: index + 1, row: this.#rowOf.value.get(index + 1) ?? -1, text: sheet.text[index] };
  }

  /** The index of a line in what is shown: of a file without text, that of the nearest one with numbers. */
  indexOf(line: number): number {
    const sheet = this.#sheet.value;
    if (sheet?.text) return Math.min(Math.max(1, line), this.length) - 1;
    const at = (sheet?.rows ?? new Float64Array()).findIndex((row) => row >= line);
    return at >= 0 ? at : this.length - 1;
  }

  tokens(line: number): readonly Token[] {
    const known = this.#tokens.get(line);
    if (known) return known;
    const tokens = this.#highlighter?.tokens(line - 1) ?? [];
    if (this.#tokens.size > 5000) this.#tokens.clear();
    this.#tokens.set(line, tokens);
    return tokens;
  }

  /** Goes to a line, and shows it. */
  goTo(line: number): void {
    if (this.length === 0) return;
    const at = this.at(this.indexOf(line)).line;
    this.current.value = at;
    this.wanted.value = { line: at };
  }

  /** Goes some lines on or back. */
  move(by: number): void {
    if (this.length === 0) return;
    const at = this.current.value > 0 ? this.indexOf(this.current.value) + by : 0;
    this.goTo(this.at(Math.min(Math.max(0, at), this.length - 1)).line);
  }

  /** Goes to the next line that matches, or the one before; around the end. */
  match(step: 1 | -1): void {
    const { lines } = this.matches.value;
    if (lines.length === 0) return;
    const here = this.current.value - 1;
    const next =
      step > 0
        ? (lines.find((line) => line > here) ?? lines[0])
        : (lines.findLast((line) => line < here) ?? lines.at(-1));
    if (next !== undefined) this.goTo(next + 1);
  }

  /** Which of the matches the current line is, from 1 on; 0: none. */
  get matchNumber(): number {
    return this.matches.value.lines.indexOf(this.current.value - 1) + 1;
  }

  /** Goes to the line with the most or, from a line on, to the one that follows it in size. */
  hottest(): void {
    const sheet = this.#sheet.value;
    const total = sheet?.columns[0]?.total;
    if (!sheet || !total) return;
    const order = Array.from(total.keys())
      .filter((row) => (total[row] ?? 0) > 0)
      .sort((a, b) => (total[b] ?? 0) - (total[a] ?? 0) || a - b);
    const here = order.findIndex((row) => sheet.rows[row] === this.current.value);
    const next = order[(here + 1) % Math.max(1, order.length)];
    if (next !== undefined) this.goTo(sheet.rows[next] ?? 1);
  }
}

function sameText(a: readonly string[] | undefined, b: readonly string[] | undefined): boolean {
  if (a === b) return true;
  return a !== undefined && b !== undefined && a.length === b.length && a.every((line, i) => line === b[i]);
}

/** An entry of the list of files, or of functions. */
export interface Entry {
  kind: "file" | "function";
  name: string;
  module: string;
  value: number;
  /** Whether it is the user's own. */
  own: boolean;
}

/**
 * The file that is opened if none was chosen: the first of the user's own.
 * @param files those that count most come first
 */
export function firstFile(files: readonly Entry[]): string | undefined {
  return (files.find(({ own }) => own) ?? files[0])?.name;
}
