// Questions in SQL: what can be asked, and what an engine answered.

/** A table that SQL may be about. */
export interface SqlTable {
  name: string;
  text: string;
  columns: readonly string[];
}

/** A question that is shipped. */
export interface SqlQuery {
  name: string;
  question: string;
  sql: string;
}

export interface SqlHelp {
  /** The program that answers; empty: none is installed, and `install` says what to do. */
  engine: string;
  install: string;
  tables: readonly SqlTable[];
  queries: readonly SqlQuery[];
}

export interface SqlColumn {
  name: string;
  /** Whether all values are numbers, or missing. */
  number: boolean;
  /** By row; undefined: there is no value. Numbers are texts too: no digit is lost. */
  values: readonly (string | undefined)[];
}

export interface SqlResult {
  engine: string;
  rows: number;
  columns: readonly SqlColumn[];
  /** There are more rows. */
  more: boolean;
}

/** A result as comma-separated values. */
export function csvOf({ columns, rows }: SqlResult): string {
  const field = (text: string) => (/[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const lines = [columns.map(({ name }) => field(name)).join(",")];
  for (let i = 0; i < rows; i++) lines.push(columns.map(({ values }) => field(values[i] ?? "")).join(","));
  return lines.map((line) => `${line}\n`).join("");
}

/** The column whose values are functions, so that they lead on; undefined: there is none. */
export function functionColumn({ columns }: SqlResult): SqlColumn | undefined {
  return columns.find(({ name, number }) => (name === "function" || name === "name") && !number);
}
