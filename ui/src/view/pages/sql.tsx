// The page of questions in SQL.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { App } from "../../app.ts";
import { literally } from "../../model/filters.ts";
import { plural } from "../../model/format.ts";
import { csvOf, functionColumn, type SqlHelp, type SqlResult } from "../../model/sql.ts";
import { taskOf } from "../../net/ask.ts";
import { helpQuestion, sqlQuestion } from "../../net/sql.ts";
import { copyText } from "../copy.ts";
import { Bone } from "../figures.tsx";
import { GoLink } from "../go.tsx";
import { goOf } from "../go-of.ts";
import { Name } from "../name.tsx";
import { Answered, useActions, useMainPart, usePart } from "../part.tsx";
import { EmptyBox } from "../states.tsx";

export function Sql({ app }: { app: App }) {
  const help = usePart(app, "sql-help", ({ recording }) => taskOf(recording, helpQuestion));
  const result = useMainPart(app, "sql-result", ({ place, filters, rough }) =>
    // Each answer is computed anew: a drag waits until it ends.
    place.sql === undefined || rough ? undefined : sqlQuestion(filters, place.sql),
  );
  const asked = app.place.value.sql;
  const text = useSignal(asked ?? "");
  useEffect(() => {
    if (asked !== undefined) text.value = asked;
  }, [asked]);
  const field = useRef<HTMLTextAreaElement>(null);
  const ask = (sql = text.value) => {
    text.value = sql;
    if (sql.trim() === "") field.current?.focus();
    else if (sql === app.place.value.sql) result.retry();
    else app.change({ sql });
  };
  useActions(app, { "find.here": () => field.current?.focus() });
  return (
    <div class="sql-page">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          ask();
        }}
      >
        <label>
          <span class="quiet">One SELECT about stacks, frames, events and timeline</span>
          <textarea
            ref={field}
            rows={4}
            spellcheck={false}
            placeholder="SELECT module, sum(leaked) AS leaked FROM stacks GROUP BY module ORDER BY leaked DESC"
            value={text.value}
            onInput={(event) => (text.value = event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
              event.preventDefault();
              ask();
            }}
          />
        </label>
        <button type="submit">Ask</button> <kbd>Ctrl+Enter</kbd>
      </form>
      {asked !== undefined && (
        <Answered part={result} skeleton={<Bone width="60%" />}>
          {(shown) => <Result app={app} result={shown} />}
        </Answered>
      )}
      <Answered part={help} skeleton={<Bone width="60%" />}>
        {(shown) => <Help help={shown} ask={ask} />}
      </Answered>
    </div>
  );
}

function Result({ app, result }: { app: App; result: SqlResult }) {
  const { columns, rows } = result;
  if (rows === 0) return <EmptyBox why="No row answers this question." />;
  const functions = functionColumn(result);
  const { focus } = app.place.value;
  return (
    <section aria-label="Result">
      <p class="quiet">
        {result.more ? `the first ${plural(rows, "row")}: add a LIMIT, or ask for less` : plural(rows, "row")} · by{" "}
        {result.engine}{" "}
        <button type="button" class="plain" onClick={() => void copyText(csvOf(result), "table")}>
          copy as CSV
        </button>
      </p>
      <div class="wide-table" role="region" aria-label="Rows" tabIndex={0}>
        <table>
          <thead>
            <tr>
              {columns.map(({ name, number }, k) => (
                <th key={k} scope="col" class={number ? "number" : ""}>
                  <bdi>{name}</bdi>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {Array.from({ length: rows }, (_, i) => (
              <tr key={i}>
                {columns.map((column, k) => {
                  const value = column.values[i];
                  const leads = column === functions && value !== undefined && value !== "";
                  return (
                    <td key={k} class={column.number ? "number" : ""}>
                      {leads ? (
                        <GoLink go={goOf(app, { page: "flame", focus: [...focus, literally(value)] })}>
                          <Name text={value} limit={120} />
                        </GoLink>
                      ) : (
                        <Name text={value ?? ""} limit={120} />
                      )}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Help({ help, ask }: { help: SqlHelp; ask: (sql: string) => void }) {
  return (
    <>
      {help.engine === "" && (
        <EmptyBox why={<bdi>{help.install}</bdi>} command="apt install sqlite3" />
      )}
      <section aria-label="Questions">
        <h2>Questions</h2>
        <ul class="sql-queries">
          {help.queries.map(({ name, question, sql }) => (
            <li key={name}>
              <button type="button" class="plain" title={sql} onClick={() => ask(sql)}>
                {question}
              </button>
            </li>
          ))}
        </ul>
      </section>
      <section aria-label="Tables">
        <h2>Tables</h2>
        <dl class="sql-tables">
          {help.tables.map(({ name, text, columns }) => (
            <div key={name}>
              <dt>
                <code>{name}</code> <span class="quiet">{text}</span>
              </dt>
              <dd>
                <code>{columns.join(", ")}</code>
              </dd>
            </div>
          ))}
        </dl>
      </section>
    </>
  );
}
