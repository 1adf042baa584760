// Decodes answers, which come as columns instead of objects: one list of numbers for each field of a table, and each
// text once. The Go package columns describes the format, api.ts the fields of each answer.
//
// A decoded table is an object with the number of its rows and a column for each field. Nothing is copied into objects
// for rows: a million numbers are a million numbers.
import { textFields } from "./api.ts";

/** Numbers by row. NaN: not known. Integers beyond 2^53 are the nearest number that there is. */
export type Numbers = Float64Array;

/** Flags by row: 0 or 1. */
export type Flags = Uint8Array;

/** Numbers of fields that are known only when the answer is there: metrics, by their names. */
export type Records = Readonly<Record<string, Numbers>>;

/** Objects that rows share: which row of a table each has, or -1. */
export interface Shared<T> {
  row: Int32Array;
  of: T;
}

/** Lists by row. Those of row i are the elements of `of` from start(i) to end(i), without that. */
export class Lists<T> {
  constructor(
    readonly ends: Int32Array,
    readonly of: T,
  ) {}

  start(row: number): number {
    return row === 0 ? 0 : (this.ends[row - 1] ?? 0);
  }

  end(row: number): number {
    return this.ends[row] ?? 0;
  }
}

/** Texts by row. Equal texts have the same index. */
export class Texts {
  constructor(
    readonly indexes: Int32Array, // -1: null
    readonly all: readonly string[], // of the whole answer
  ) {}

  /** The text of a row; empty if there is none. */
  at(row: number): string {
    return this.all[this.indexes[row] ?? -1] ?? "";
  }
}

/** Call stacks by row. Equal stacks have the same id. */
export class PathColumn {
  constructor(
    readonly ids: Int32Array,
    readonly paths: Paths,
  ) {}

  /** The frames of a row's call stack, leaf first: rows of the answer's table of frames. */
  frames(row: number): number[] {
    return this.paths.frames(this.ids[row] ?? 0);
  }
}

/** All call stacks of an answer: a tree, in which 0 is the empty stack. */
export class Paths {
  constructor(
    readonly parent: Int32Array,
    readonly frame: Int32Array,
  ) {}

  /** The frames of a call stack, leaf first. */
  frames(id: number): number[] {
    const found: number[] = [];
    for (let at = id; at > 0; at = this.parent[at] ?? 0) found.push(this.frame[at] ?? 0);
    return found;
  }
}

/** What an answer is, before it is decoded: what JSON.parse returns. */
export interface Envelope {
  answer: unknown;
  paths?: unknown;
  texts: string[];
}

/** A decoded answer. `paths` has the call stacks that fields outside of tables refer to. */
export interface Decoded<T> {
  answer: T;
  paths: Paths;
}

/** Decodes an answer. It throws a TypeError if that is not in this format. */
export function decode<T>(message: unknown): Decoded<T> {
  if (!isObject(message) || !("answer" in message) || !isTexts(message["texts"])) fail("not an answer");
  const decoder = new Decoder(message["texts"], pathsOf(message["paths"]));
  return { answer: decoder.value(message["answer"], "") as T, paths: decoder.paths };
}

function pathsOf(table: unknown): Paths {
  if (table === undefined) return new Paths(Int32Array.of(-1), Int32Array.of(-1));
  const columns = isObject(table) ? table["columns"] : undefined;
  if (!isObject(table) || !isObject(columns)) fail("the call stacks are not a table");
  const rows = count(table["rows"]);
  const parent = Int32Array.from(numbers(columns["parent"], rows));
  for (let i = 1; i < rows; i++) if ((parent[i] ?? 0) >= i) fail("the call stacks are not a tree");
  return new Paths(parent, Int32Array.from(numbers(columns["frame"], rows)));
}

class Decoder {
  constructor(
    readonly texts: readonly string[],
    readonly paths: Paths,
  ) {}

  /** A value that is not in a table. The field's name tells texts from large integers. */
  value(value: unknown, field: string): unknown {
    if (typeof value === "string") return textFields.has(field) ? value : Number(value);
    if (Array.isArray(value)) {
      if (textFields.has(field)) return value.map((element) => this.value(element, field));
      if (value.every((element) => typeof element === "boolean") && value.length > 0) return value;
      return numbers(value, value.length);
    }
    if (!isObject(value)) return value;
    if (isTable(value)) return this.table(value);
    if (Array.isArray(value["delta"])) return numbers(value, value["delta"].length);
    if (typeof value["path"] === "number") return value["path"];
    const object: Record<string, unknown> = {};
    for (const [name, of] of Object.entries(value)) object[name] = this.value(of, name);
    return object;
  }

  table(table: Table): { rows: number } {
    const rows = count(table.rows);
    return { ...this.fields(table.columns, rows), rows };
  }

  fields(columns: Record<string, unknown>, rows: number): Record<string, unknown> {
    const object: Record<string, unknown> = {};
    for (const [name, column] of Object.entries(columns)) object[name] = this.column(column, rows);
    return object;
  }

  column(column: unknown, rows: number): unknown {
    if (!isObject(column) || "delta" in column) return numbers(column, rows);
    if ("text" in column) return new Texts(indexes(column["text"], rows), this.texts);
    if ("flag" in column) return Uint8Array.from(indexes(column["flag"], rows));
    if ("path" in column) return new PathColumn(indexes(column["path"], rows), this.paths);
    if (isObject(column["fields"])) return { ...this.fields(column["fields"], rows), rows };
    if (isObject(column["record"])) return this.fields(column["record"], rows);
    const of = column["of"];
    if ("row" in column && isObject(of) && isTable(of)) {
      return { row: indexes(column["row"], rows), of: this.table(of) };
    }
    if ("list" in column) {
      const ends = indexes(column["list"], rows);
      return new Lists(ends, this.column(of, ends[rows - 1] ?? 0));
    }
    return fail("a column of an unknown kind");
  }
}

interface Table {
  rows: unknown;
  columns: Record<string, unknown>;
}

function isTable(value: object): value is Table {
  return "rows" in value && "columns" in value && isObject(value.columns);
}

/** The numbers of a column, in any of its forms. */
function numbers(column: unknown, rows: number): Numbers {
  const found = new Float64Array(rows);
  if (isObject(column) && Array.isArray(column["delta"])) {
    const deltas: unknown[] = column["delta"];
    if (deltas.length !== rows) fail(`a column has ${deltas.length} numbers, and not ${rows}`);
    let sum = 0;
    for (let i = 0; i < rows; i++) found[i] = sum += number(deltas[i]);
    return found;
  }
  if (!Array.isArray(column)) return found.fill(number(column));
  if (column.length !== rows) fail(`a column has ${column.length} numbers, and not ${rows}`);
  for (let i = 0; i < rows; i++) found[i] = number(column[i]);
  return found;
}

function number(value: unknown): number {
  if (typeof value === "number") return value;
  if (value === null) return NaN;
  return typeof value === "string" ? Number(value) : fail("a column of numbers has something else");
}

function indexes(column: unknown, rows: number): Int32Array {
  return Int32Array.from(numbers(column, rows));
}

/** The most rows that a table may have: more than the server sends. */
const mostRows = 1 << 26;

function count(value: unknown): number {
  if (typeof value !== "number" || !Number.isInteger(value) || value < 0 || value > mostRows) {
    return fail("a table without a number of rows");
  }
  return value;
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((text) => typeof text === "string");
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function fail(why: string): never {
  throw new TypeError(`the answer cannot be read: ${why}`);
}
