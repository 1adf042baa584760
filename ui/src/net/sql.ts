// Questions in SQL, and what can be asked.
import type { Answers } from "../api.ts";
import type { Filters } from "../model/filters.ts";
import type { SqlColumn, SqlHelp, SqlResult } from "../model/sql.ts";
import type { Question } from "./ask.ts";

/** The tables and the questions that have names. */
export const helpQuestion: Question<"sql", SqlHelp> = { name: "sql", parameters: {}, read: helpOf };

function helpOf(answer: Answers["sql"]): SqlHelp {
  if (!("tables" in answer)) throw new Error("the answer has no tables");
  const { tables, queries } = answer;
  return {
    engine: answer.engine ?? "",
    install: answer.install ?? "",
    tables: Array.from({ length: tables.rows }, (_, i) => ({
      name: tables.name.at(i),
      text: tables.text.at(i),
      columns: Array.from({ length: tables.columns.end(i) - tables.columns.start(i) }, (_, k) =>
        tables.columns.of.at(tables.columns.start(i) + k),
      ),
    })),
    queries: Array.from({ length: queries.rows }, (_, i) => ({
      name: queries.name.at(i),
      question: queries.question.at(i),
      sql: queries.sql.at(i),
    })),
  };
}

export function sqlQuestion(filters: Filters, sql: string): Question<"sql", SqlResult> {
  return { name: "sql", parameters: { ...filters, sql }, read: resultOf };
}

/** What an engine answered. */
export function resultOf(answer: Answers["sql"]): SqlResult {
  if (!("fields" in answer)) throw new Error("the answer has no columns");
  const { fields } = answer;
  const columns = Array.from({ length: fields.rows }, (_, k): SqlColumn => {
    const missing = new Set(fields.missing.of.subarray(fields.missing.start(k), fields.missing.end(k)));
    const start = fields.values.start(k);
    return {
      name: fields.name.at(k),
      number: fields.number[k] === 1,
      values: Array.from({ length: answer.length }, (_, i) =>
        missing.has(i) ? undefined : fields.values.of.at(start + i),
      ),
    };
  });
  return { engine: answer.engine, rows: answer.length, columns, more: answer.truncated };
}
