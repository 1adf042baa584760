// Generations: how much of what each part of the range allocated is live later, and what every repeat of an action
// between marks left behind.
import { useSignal } from "@preact/signals";
import { useMemo, useRef } from "preact/hooks";
import type { About, Parameters } from "../../api.ts";
import type { App, Selected } from "../../app.ts";
import { filtersOf, literally } from "../../model/filters.ts";
import { exactSize, percent, plural, size } from "../../model/format.ts";
import {
  amount,
  keptOf,
  momentOf,
  mostOf,
  placeOfCell,
  placeOfRepeat,
  sides,
  sidesOf,
  spanOf,
  summaryOf,
  triangleOf,
  valueOf,
  wordsOf,
  type Cell,
  type Kept,
  type Repeat,
  type Triangle,
} from "../../model/generations.ts";
import { hash, type Frame } from "../../model/group.ts";
import { location, visible } from "../../model/names.ts";
import type { Place } from "../../model/place.ts";
import { scaleOf, type Scale } from "../../model/table.ts";
import { timeText } from "../../model/time.ts";
import type { Question } from "../../net/ask.ts";
import { Link } from "../link.tsx";
import { Name } from "../name.tsx";
import { Answered, useActions, useMainPart } from "../part.tsx";
import { EmptyBox } from "../states.tsx";
import { Grid, GridCursor, type GridData } from "../table.tsx";
import { TriangleLegend, TrianglePicture } from "../triangle.tsx";
import { framed, savePng } from "../picture.ts";
import { Nothing, saveRows, useNotice } from "./rows.tsx";

/** What is asked about instead of the whole run, if the events of its beginning were folded. */
function knownOf(place: Place, { folded, from_ns: from }: About): Place {
  return folded && place.from === undefined ? { ...place, from: timeText(from) } : place;
}

/** It does not follow a drag: there are no rough answers. */
function questionOf({ place: at }: Selected, about: About): Question<"generations", Triangle> {
  const place = knownOf(at, about);
  const { rows, columns, marks } = sidesOf(place);
  const parameters: Parameters["generations"] = { ...filtersOf(place) };
  if (marks && place.mark.length > 0) parameters.mark = [...place.mark];
  else if (marks) parameters.marks = true;
  else parameters.rows = Number(rows);
  parameters.columns = Number(columns);
  const flags = keptOf(place) === "kept" ? {} : { metric: [keptOf(place)] };
  return { name: "generations", parameters, flags, read: triangleOf };
}

export function Generations({ app }: { app: App }) {
  const about = app.about.shown.value?.value;
  const part = useMainPart(app, "generations", (selected) => {
    // What is merged has no time. Until that is known, nothing is asked.
    const known = app.about.shown.value?.value;
    return known && !known.merged ? questionOf(selected, known) : undefined;
  });
  if (about?.merged) {
    const why = `These are the sums of ${plural(about.processes, "process")}: it is not known when what was allocated.`;
    return <EmptyBox why={why} command="heaptap generations RUN" />;
  }
  return (
    <div class="generations">
      <Bar app={app} />
      <Answered part={part} skeleton={<div class="triangle-skeleton skeleton" aria-hidden="true" />}>
        {(triangle) => about && <Shown app={app} triangle={triangle} about={about} />}
      </Answered>
    </div>
  );
}

/** What is counted, and into how many rows and columns the time is divided. */
function Bar({ app }: { app: App }) {
  const place = app.place.value;
  const { rows, columns, marks } = sidesOf(place);
  const kept = keptOf(place);
  const known = app.report.shown.value?.value.marks.rows ?? 0;
  const count = (name: Kept) => {
    const others = place.metric.filter((metric) => metric !== "kept" && metric !== "kept-blocks");
    app.change({ metric: name === "kept" ? others : [name, ...others] });
  };
  return (
    <div class="generations-bar">
      <div class="choice-of" role="group" aria-label="what is counted">
        <button type="button" aria-pressed={kept === "kept"} onClick={() => count("kept")}>
          bytes
        </button>
        <button type="button" aria-pressed={kept === "kept-blocks"} onClick={() => count("kept-blocks")}>
          blocks
        </button>
      </div>
      <span class="quiet">rows</span>
      <div class="choice-of" role="group" aria-label="rows">
        {sides.map((side) => (
          <button
            key={side}
            type="button"
            aria-pressed={!marks && side === rows}
            onClick={() => app.change({ rows: side === "20" ? undefined : side, marks: false })}
          >
            {side}
          </button>
        ))}
        {(known > 0 || marks) && (
          <button
            type="button"
            aria-pressed={marks}
            title="a row for each span between marks: what does every repeat leave behind?"
            onClick={() => app.change({ marks: true })}
          >
            between marks
          </button>
        )}
      </div>
      {marks && (
        <label class="choose">
          named{" "}
          <input
            size={10}
            value={place.mark.join(",")}
            placeholder="all"
            title="only marks of these names count: click*, with * and ?; several with commas"
            onChange={(event) => {
              const names = event.currentTarget.value.split(",").map((name) => name.trim());
              app.change({ mark: names.filter((name) => name !== "") });
            }}
          />
        </label>
      )}
      <label class="choose">
        moments{" "}
        <select
          value={columns}
          onChange={(event) => {
            const { value } = event.currentTarget;
            app.change({ columns: value === "20" ? undefined : value });
          }}
        >
          {sides.map((side) => (
            <option key={side}>{side}</option>
          ))}
        </select>
      </label>
    </div>
  );
}

function Shown({ app, triangle, about }: { app: App; triangle: Triangle; about: About }) {
  const place = knownOf(app.place.value, about);
  const clock = app.clock;
  const kept = keptOf(place);
  const asTable = useSignal(false);
  const { say, notice } = useNotice();
  const cursor = useMemo(() => new GridCursor(), []);
  const summary = useMemo(() => summaryOf(triangle, clock), [triangle]);
  const data = useMemo(() => gridOf(app, triangle, kept), [triangle, kept]);
  const open = (cell: Cell) => app.change({ page: "flame", ...placeOfCell(triangle, place, cell, kept) });
  const turn = () => (asTable.value = !asTable.value);
  const save = () => saveRows("generations", data, say);
  const canvas = useRef<HTMLCanvasElement>(null);
  const savePicture = () => {
    const { unit } = scaleOf(kept === "kept" ? "bytes" : "count", mostOf(triangle, kept));
    const title = [`What is live of what each row's time allocated, in ${unit || "blocks"}`, visible(summary.text)];
    if (canvas.current) savePng(framed(canvas.current, title), "generations");
  };
  useActions(app, { "generations.table": turn, "rows.csv": save });
  const nothing = triangle.rows.every(({ born }) => born.blocks === 0);
  return (
    <>
      {triangle.missing && (
        <p class="wrong missing-part">
          <bdi>{visible(triangle.missing)}</bdi>
        </p>
      )}
      {place.from !== app.place.value.from && (
        <p class="quiet missing-part">
          What was allocated before {clock.moment(about.from_ns)} has no row: its events were folded to save disk.
        </p>
      )}
      {nothing ? (
        <Nothing app={app} />
      ) : (
        <>
          <div class="generations-summary">
            <p>
              <bdi>{visible(summary.text)}</bdi>
            </p>
            {summary.cell && (
              <Link
                app={app}
                to={
                  summary.repeat
                    ? flameOf(triangle, place, summary.repeat)
                    : { ...place, page: "flame", ...placeOfCell(triangle, place, summary.cell, kept) }
                }
              >
                Show me
              </Link>
            )}
          </div>
          <div class="generations-bar">
            <span class="quiet">
              A row is what was allocated in its time, a column how much of that is live at its moment. A row that does
              not fade shows what its time left behind.
            </span>
            <span class="takes">
              <button type="button" class="plain" aria-pressed={asTable.value} onClick={turn}>
                {asTable.value ? "as a picture" : "as table"}
              </button>
              <button type="button" class="plain" onClick={save}>
                Save as CSV
              </button>
              {!asTable.value && (
                <button type="button" class="plain" onClick={savePicture}>
                  Save as PNG
                </button>
              )}
              <span role="status">{notice.value}</span>
            </span>
          </div>
          {asTable.value ? (
            <div class="generations-table" style={{ "--rows": data.rows }}>
              <Grid
                data={data}
                cursor={cursor}
                events={{ enter: (row) => open({ row, column: triangle.moments.length - 1 }) }}
              />
            </div>
          ) : (
            <>
              <TrianglePicture
                triangle={triangle}
                kept={kept}
                clock={clock}
                start={summary.cell}
                choose={open}
                canvas={canvas}
              />
              <TriangleLegend triangle={triangle} kept={kept} />
            </>
          )}
          {triangle.marks && <Repeats app={app} triangle={triangle} place={place} />}
        </>
      )}
    </>
  );
}

/** The same as a table. A row leads to its flame graph at the last moment. */
function gridOf(app: App, triangle: Triangle, kept: Kept): GridData {
  const clock = app.clock;
  const scale = scaleOf(kept === "kept" ? "bytes" : "count", mostOf(triangle, kept));
  const all = Math.max(...triangle.rows.map(({ born }) => (kept === "kept" ? born.bytes : born.blocks)), 0);
  const bornScale = scaleOf(kept === "kept" ? "bytes" : "count", all);
  const last = triangle.moments.length - 1;
  const chars = Math.max(scale.text(mostOf(triangle, kept)).length, 8);
  const columns = [
    { title: bornScale.unit || "blocks", group: "allocated", hint: "all that was allocated then, freed or not" },
    ...Array.from(triangle.moments, (_, i) => ({
      title: scale.unit || "blocks",
      group: visible(momentOf(triangle, i, clock)),
      hint: `how much of it is live at ${visible(momentOf(triangle, i, clock))}`,
    })),
    { title: "\u00a0", group: "share", hint: `of what was allocated then, live at ${momentOf(triangle, last, clock)}` },
  ].map((column, i) => ({ ...column, key: `${i} ${column.group}`, chars, sorts: false }));
  return {
    label: "how much of what each row allocated is live, by moment",
    nameTitle: "allocated",
    nameSorts: false,
    columns,
    rows: triangle.rows.length,
    more: 0,
    row: (i) => ({
      key: hash(`generation ${i}`), level: 1, indent: 0, open: undefined, note: "", tone: "plain",
      name: spanOf(triangle, i, clock),
      title: "press Enter for the flame graph of what is left of it",
    }),
    cell: (row, c) => {
      const { born } = triangle.rows[row] ?? { born: { bytes: 0, blocks: 0 } };
      const allocated = kept === "kept" ? born.bytes : born.blocks;
      const number = (value: number, of: Scale) => ({ text: of.text(value), exact: of.exact(value), bar: 0, value });
      if (c === 0) return number(allocated, bornScale);
      const value = valueOf(triangle, { row, column: Math.min(c - 1, last) }, kept);
      if (c === columns.length - 1) return { text: percent(value, allocated), exact: "", bar: 0 };
      if (Number.isNaN(value)) return { text: "", exact: "", bar: 0 };
      const words = visible(wordsOf(triangle, { row, column: c - 1 }, clock));
      return { ...number(value, scale), exact: `${scale.exact(value)}\n${words}` };
    },
    find: (key) => triangle.rows.findIndex((_, i) => hash(`generation ${i}`) === key),
    sorted: "",
    reverse: false,
  };
}

/** So many call stacks are shown. */
const mostRepeats = 100;

/** What every repeat left behind. */
function Repeats({ app, triangle, place }: { app: App; triangle: Triangle; place: Place }) {
  const { repeats, rows } = triangle;
  const clock = app.clock;
  const few = rows.length < 3;
  return (
    <section class="repeats">
      <h2>
        Repeats{" "}
        <span class="quiet">
          call stacks that left equally many blocks behind in at least 3 rows, one after the other
        </span>
      </h2>
      {repeats.length > 0 ? (
        <div class="scroll">
          <table>
            <thead>
              <tr>
                <th scope="col">call stack</th>
                <th scope="col" class="number" aria-sort="descending">
                  each time
                </th>
                <th scope="col" class="number">
                  blocks each
                </th>
                <th scope="col" class="number">
                  repeats
                </th>
                <th scope="col" class="wide">
                  rows
                </th>
              </tr>
            </thead>
            <tbody>
              {repeats.slice(0, mostRepeats).map((one, i) => (
                <tr key={i}>
                  <td>
                    <Stack app={app} one={one} place={place} triangle={triangle} />
                  </td>
                  <td class="number" title={exactSize(one.bytes)}>
                    {size(one.bytes)}
                  </td>
                  <td class="number">{amount(one.blocks, "kept-blocks")}</td>
                  <td class="number">{one.rows}</td>
                  <td class="wide quiet">
                    <bdi>{visible(rowsOf(triangle, one, clock))}</bdi>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
          {repeats.length > mostRepeats && (
            <p class="quiet">and {plural(repeats.length - mostRepeats, "other call stack")}</p>
          )}
        </div>
      ) : (
        <EmptyBox
          why={
            triangle.sampled
              ? "Not known: allocations were chosen at random, so nobody knows how many blocks each repeat left."
              : few
                ? "There are not enough marks in this range: set one before each repeat, by heaptap_mark() or:"
                : "No call stack left equally many blocks behind in three rows, one after the other."
          }
          command={few && !triangle.sampled ? "heaptap ctl mark NAME" : undefined}
        />
      )}
    </section>
  );
}

/** Which rows a repeat is about. */
function rowsOf(triangle: Triangle, { first, rows, atNs }: Repeat, clock: App["clock"]): string {
  const begin = spanOf(triangle, first, clock).split(" – ")[0];
  const end = spanOf(triangle, first + rows - 1, clock).split(" – ").at(-1);
  const at = atNs < triangle.endNs ? `, live at ${clock.moment(atNs)}` : "";
  return `${begin} – ${end}${at}`;
}

/** The flame graph of what a call stack left behind. */
function flameOf(triangle: Triangle, place: Place, one: Repeat): Place {
  const at = changeableIn(one);
  return {
    ...place,
    page: "flame",
    ...placeOfRepeat(triangle, place, one),
    focus: at?.named ? [...new Set([...place.focus, literally(at.name)])] : place.focus,
    picked: pickedOf(one),
  };
}

/** The frame that the reader can change. */
function changeableIn({ stack, file, line }: Repeat): Frame | undefined {
  return stack.find((frame) => frame.file === file && frame.line === line);
}

/** What the right side explains: the path to that frame. */
function pickedOf(one: Repeat): string[] {
  const at = changeableIn(one);
  const path = at ? one.stack.slice(one.stack.indexOf(at)) : one.stack;
  return path.map(({ id }) => id).reverse();
}

/** A call stack: its function leads to the flame graph of what it left behind, its place to the source. */
function Stack({ app, one, place, triangle }: { app: App; one: Repeat; place: Place; triangle: Triangle }) {
  const at = changeableIn(one);
  const below = one.stack.slice(at ? one.stack.indexOf(at) + 1 : 0).filter(({ library }) => !library);
  const name = one.function || one.name;
  const source: Place = { ...place, page: "source", file: one.file, line: String(one.line), picked: pickedOf(one) };
  const where = location(one.file, one.line);
  return (
    <>
      <Link app={app} to={flameOf(triangle, place, one)} title="the flame graph of what it left behind">
        <Name text={name} limit={72} />
      </Link>
      <div>
        {where && one.line > 0 ? (
          <Link app={app} to={source} title={visible(one.file).slice(0, 1000)}>
            <Name text={where} limit={60} />
          </Link>
        ) : (
          <Name text={where || one.module} limit={60} />
        )}
      </div>
      {below.length > 0 && (
        <div class="quiet">
          from <Name text={below.slice(0, 3).map(({ name }) => name).join(" ← ")} limit={90} />
        </div>
      )}
    </>
  );
}
