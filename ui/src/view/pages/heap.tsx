// The heap: how full pages are, as a film of the run; and who keeps nearly empty ones in use.
import { useSignal, type Signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { App, Selected } from "../../app.ts";
import { liveBlocksOf, type LiveBlocks } from "../../model/blocks.ts";
import { filtersOf } from "../../model/filters.ts";
import type { Follower, Task } from "../../model/follower.ts";
import { count, percent, plural, size } from "../../model/format.ts";
import { hash } from "../../model/group.ts";
import {
  addressesOf,
  addressesText,
  addressOf,
  areaThen,
  bandName,
  bandOf,
  cellOf,
  cellThen,
  cellWords,
  flameOf,
  heapOf,
  isOf,
  momentText,
  momentWords,
  momentAt,
  peakOf,
  pinsOf,
  selectedCellsOf,
  tintOf,
  tints,
  zoomedArea,
  type Area,
  type Heap,
  type Pins,
  type SelectedCells,
} from "../../model/heap.ts";
import { visible } from "../../model/names.ts";
import type { Place } from "../../model/place.ts";
import { taskOf, type Question } from "../../net/ask.ts";
import { BlockBars, CellBlocks } from "../heap-blocks.tsx";
import { HeapLegend, HeapPicture, type Pointed } from "../heap.tsx";
import { Link } from "../link.tsx";
import { Name } from "../name.tsx";
import { Answered, useActions, useMainPart, useOrder, usePart } from "../part.tsx";
import { framed, savePng } from "../picture.ts";
import { EmptyBox } from "../states.tsx";
import { Grid, GridCursor, type GridData } from "../table.tsx";
import { hasEvents, NoEvents } from "../parts/no-events.tsx";
import { saveRows, useNotice } from "./rows.tsx";

/** A film has so many moments, and takes so long. */
const [frames, filmMs] = [300, 10_000];

/** It does not follow a drag: the server reads all events. */
function questionOf({ place }: Selected): Question<"frames", Heap> {
  const { from, to } = place;
  const tint = tintOf(place);
  const range = { ...(from !== undefined && { from }), ...(to !== undefined && { to }) };
  // The same answer has all colours but that of threads.
  const color = tint === "thread" ? "thread" : "stack";
  return {
    name: "frames",
    parameters: { ...range, frames, color },
    same: { ...range, frames, ...(tint !== "occupancy" && { color: tint }) },
    read: heapOf,
  };
}

/** Of so many events, the film takes longer than a reader should see nothing. */
const manyEvents = 4_000_000;

/** The picture of the moment of the address, from some of the events. */
function firstQuestionOf(selected: Selected): Question<"frames", Heap> {
  const { frames: _frames, ...parameters } = questionOf(selected).parameters;
  const { at } = selected.place;
  const moment = at !== undefined && { at };
  return { name: "frames", parameters: { ...parameters, ...moment, rough: "pixel" }, read: heapOf };
}

const skeleton = <div class="heap-skeleton skeleton" aria-hidden="true" />;

/** Whether it is known where blocks were; undefined: not yet. If the server does not say it, it is asked anyway. */
function hasAddresses(app: App): boolean | undefined {
  const about = app.about.shown.value?.value;
  return hasEvents(app) && (!about || (about.addresses && !about.sampled && !about.folded));
}

export function HeapPage({ app }: { app: App }) {
  const order = useOrder(app);
  const film = useRef<Follower<Heap> | undefined>(undefined);
  const first = usePart<Heap>(app, "heap-first", (selected) => {
    const facts = app.about.shown.value?.value;
    if (!hasAddresses(app) || !facts || facts.events < manyEvents || film.current?.shown.peek()) return undefined;
    const { key } = taskOf(selected.recording, questionOf(selected));
    return order.first(taskOf(selected.recording, firstQuestionOf(selected)), key);
  });
  const part = useMainPart(app, "heap", (selected) => {
    if (!hasAddresses(app)) return undefined;
    const question = questionOf(selected);
    return { ...question, after: () => order.before(taskOf(selected.recording, question).key) };
  });
  film.current = part;
  if (hasEvents(app) === false) return <NoEvents app={app} what="where blocks were" />;
  if (hasAddresses(app) === false) {
    const why = app.about.shown.value?.value.sampled
      ? "Allocations were chosen at random, so it is not known where all blocks were."
      : "This recording does not say where blocks were.";
    return <EmptyBox why={`${why} Record with addresses:`} command="heaptap run --addresses ./program" />;
  }
  return (
    <div class="heap">
      <div class="heap-bar">
        <span class="quiet">colour by</span>
        <div class="choice-of" role="group" aria-label="by what pages are coloured">
          {tints.map(({ name, title }) => (
            <button
              key={name}
              type="button"
              aria-pressed={tintOf(app.place.value) === name}
              onClick={() => app.change({ tint: name === "occupancy" ? undefined : name })}
            >
              {title}
            </button>
          ))}
        </div>
      </div>
      <Answered part={part} first={first.shown.value} skeleton={skeleton}>
        {(heap) => <Shown app={app} heap={heap} />}
      </Answered>
    </div>
  );
}

/** Plays the moments, from the beginning if the last one is shown. */
function usePlayer(heap: Heap, now: Signal<number>, rested: () => void) {
  const playing = useSignal(false);
  const last = heap.moments.length - 1;
  useEffect(() => {
    if (!playing.value) return;
    const begin = performance.now() - (filmMs * now.peek()) / Math.max(1, last);
    let frame = 0;
    const step = () => {
      now.value = Math.min(last, Math.floor(((performance.now() - begin) / filmMs) * last));
      if (now.peek() < last) frame = requestAnimationFrame(step);
      else stop();
    };
    frame = requestAnimationFrame(step);
    return () => cancelAnimationFrame(frame);
  }, [playing.value, heap]);
  const stop = () => {
    playing.value = false;
    rested();
  };
  const turn = () => {
    if (playing.value) return stop();
    if (now.value >= last) now.value = 0;
    playing.value = true;
  };
  return { playing, turn, stop };
}

function Shown({ app, heap }: { app: App; heap: Heap }) {
  const clock = app.clock;
  const now = useSignal(0);
  const asTable = useSignal(false);
  const { say, notice } = useNotice();
  const cursor = useMemo(() => new GridCursor(), []);
  const canvas = useRef<HTMLCanvasElement>(null);
  const last = heap.moments.length - 1;
  /** The address of the page says which moment is shown; while the film plays, it waits. */
  const rested = () => {
    const moment = heap.moments[now.peek()];
    if (moment) app.change({ at: momentText(moment) }, "replace");
  };
  const { playing, turn, stop } = usePlayer(heap, now, rested);
  const { at, address } = app.place.value;
  useEffect(() => {
    if (playing.peek()) return;
    now.value = momentAt(heap, at, { ...clock.run, peak: heap.moments[peakOf(heap)]?.ns, marks: marksOf(app) });
  }, [heap, at]);
  const moment = heap.moments[Math.min(now.value, last)];
  const words = moment && momentWords(heap, moment, clock);
  const area = useSignal<Area>({ first: 0, cells: heap.cells });
  const pointed = useSignal<Pointed | undefined>(undefined);
  const current = useSignal<number | undefined>(undefined);
  const before = useRef(heap);
  // Of the film, cells have other numbers than of the first picture: what the reader looks at keeps its place.
  useLayoutEffect(() => {
    const old = before.current;
    if (old === heap) return;
    before.current = heap;
    const { first, cells } = area.peek();
    const anchor = pointed.peek()?.cell ?? cellOf(old, address) ?? first + Math.floor(cells / 2);
    area.value = areaThen(old, heap, area.peek(), anchor);
    current.value = cellThen(old, heap, current.peek());
    const [was, is] = [cellOf(old, address), cellOf(heap, address)];
    const [there, here] = [was, is].map((cell, i) => cell !== undefined && addressesOf([old, heap][i]!, cell));
    // The cell may be larger now: so are the blocks that are listed.
    if (there && here && address === addressesText(there)) app.change({ address: addressesText(here) }, "replace");
  }, [heap]);
  const blocks = usePart(app, "heap-blocks", blocksTask);
  const exact = useSignal(heap.share === undefined);
  useEffect(() => {
    exact.value = heap.share === undefined; // a first picture has other cells
  }, [heap]);
  const selected = usePart(app, "heap-selected", (of) => (exact.value ? selectedTask(of) : undefined), false);
  const dims = moment && isFiltered(app.place.value) && isOf(heap, moment, selected.shown.value?.value);
  const chosen = cellOf(heap, address);
  const addresses = chosen === undefined ? undefined : addressesOf(heap, chosen);
  const choose = (cell: number) => {
    const there = addressesOf(heap, cell);
    if (!moment || !there) return;
    if (playing.value) stop();
    app.change({ address: addressesText(there), at: momentText(moment) });
  };
  /** Shows so many times as many cells. A single one is shown as its blocks, to scale. */
  const zoom = (cell: number, times: number) => {
    const before = area.value;
    if (times > 1 ? before.cells >= heap.cells : before.cells <= 1) return false;
    // Few cells would not become fewer, or more, in small steps.
    const rounded = before.cells < 8 ? (times > 1 ? 2 : 0.5) : times;
    area.value = zoomedArea(heap, before, cell, rounded);
    if (area.value.cells === 1) choose(cell);
    return true;
  };
  const data = useMemo(() => gridOf(heap, now.value), [heap, asTable.value ? now.value : -1]);
  const flip = () => (asTable.value = !asTable.value);
  const save = () => saveRows("heap", gridOf(heap, now.peek()), say);
  const savePicture = () => {
    if (canvas.current) savePng(framed(canvas.current, ["How full pages are", visible(words ?? "")]), "heap");
  };
  useActions(app, { "heap.table": flip, "heap.play": turn, "rows.csv": save });
  if (!moment || heap.cells === 0) return <EmptyBox why="No block was ever live in this range." />;
  const tint = tintOf(app.place.value);
  const toScale = area.value.cells === 1 && chosen === area.value.first && addresses;
  const whole = area.value.cells >= heap.cells;
  return (
    <>
      {heap.missing && (
        <p class="wrong missing-part">
          <bdi>{visible(heap.missing)}</bdi>
        </p>
      )}
      <div class="heap-bar">
        <button type="button" aria-pressed={playing.value} disabled={last === 0} onClick={turn}>
          {playing.value ? "Pause" : "Play"}
        </button>
        <input
          type="range"
          min={0}
          max={last}
          disabled={last === 0}
          value={now.value}
          aria-label="moment"
          aria-valuetext={words}
          onInput={(event) => {
            if (playing.value) stop();
            now.value = Number(event.currentTarget.value);
          }}
          onChange={rested}
        />
        <span class="takes">
          <button type="button" class="plain" aria-pressed={asTable.value} onClick={flip}>
            {asTable.value ? "as a picture" : "as table"}
          </button>
          <button type="button" class="plain" onClick={save}>
            Save as CSV
          </button>
          {!asTable.value && !whole && (
            <button type="button" class="plain" onClick={() => (area.value = { first: 0, cells: heap.cells })}>
              all of the heap
            </button>
          )}
          {!asTable.value && (
            <button
              type="button"
              class="plain"
              onClick={savePicture}
            >
              Save as PNG
            </button>
          )}
          <span role="status">{notice.value}</span>
        </span>
      </div>
      <p class="heap-now">
        <bdi>{words}</bdi>
        {heap.share !== undefined && (
          <span class="quiet"> · first picture: {percent(heap.share, 1)} of the events</span>
        )}
      </p>
      {isFiltered(app.place.value) && (
        <Answered part={selected} skeleton={<p class="quiet">The picture has all blocks.</p>}>
          {({ live }) => (
            <p class="quiet">
              {dims
                ? `The filters select ${size(live.bytes)} in ${plural(live.blocks, "block")}; other cells are dim.`
                : "The picture has all blocks."}
            </p>
          )}
        </Answered>
      )}
      <div class="heap-both">
        <div class="heap-main">
          {asTable.value ? (
            <div class="heap-table" style={{ "--rows": data.rows }}>
              <Grid data={data} cursor={cursor} events={{ enter: (row) => choose(cellsOf(heap)[row] ?? 0) }} />
            </div>
          ) : (
            <>
              {toScale ? (
                <BlockBars {...{ app, heap, moment, addresses, tint, canvas }} cell={area.value.first} part={blocks}
                  leave={() => zoom(area.value.first, 2)} />
              ) : (
                <HeapPicture {...{ heap, tint, now, area, zoom, pointed, current, chosen, choose, canvas }}
                  selected={dims ? selected.shown.value?.value.fill : undefined} does="click for its blocks" />
              )}
              {!(toScale && tint === "occupancy") && <HeapLegend heap={heap} tint={tint} />}
            </>
          )}
        </div>
        {chosen !== undefined && addresses && (
          <CellBlocks {...{ app, heap, moment, addresses }} cell={chosen} part={blocks}
            toScale={() => (area.value = { first: chosen, cells: 1 })} />
        )}
      </div>
      <Pinned app={app} exact={exact} />
    </>
  );
}

/** The most blocks of a cell that are shown. */
const mostBlocks = 10_000;

/** The blocks of the cell that was chosen, of those that the filters select, whenever they were allocated. */
function blocksTask({ recording, place }: Selected): Task<LiveBlocks> | undefined {
  const { address, at } = place;
  if (address === undefined) return undefined;
  const { from: _from, to: _to, ...filters } = filtersOf(place);
  const moment = at !== undefined && { at };
  const parameters = { ...filters, address, sort: "address" as const, ...moment, limit: mostBlocks };
  return taskOf(recording, { name: "blocks", parameters, read: liveBlocksOf });
}

/** What the blocks that the filters select have of each cell at the moment, whenever they were allocated. */
function selectedTask({ recording, place }: Selected): Task<SelectedCells> | undefined {
  if (!isFiltered(place)) return undefined;
  const { at } = place;
  // The film's own peak is that of its range.
  const moment = at !== undefined && at !== "peak" && { at };
  return taskOf(recording, { name: "frames", parameters: { ...filtersOf(place), ...moment }, read: selectedCellsOf });
}

/** Whether there are filters that select blocks, other than of time. */
function isFiltered(place: Place): boolean {
  const { from: _from, to: _to, hide: _hide, ...filters } = filtersOf(place);
  return Object.keys(filters).length > 0;
}

/** The moments of marks, by the names by which they are given. */
function marksOf(app: App): Map<string, number> {
  const marks = app.report.shown.peek()?.value.marks;
  return new Map(Array.from({ length: marks?.rows ?? 0 }, (_, i) => [marks!.mark.at(i), marks!.time_ns[i] ?? 0]));
}

/** The cells that have pages. */
function cellsOf(heap: Heap): number[] {
  return Array.from(heap.used.keys()).filter((cell) => heap.used[cell]);
}

/** The same as a table: a row for each cell. */
function gridOf(heap: Heap, now: number): GridData {
  const cells = cellsOf(heap);
  const moment = heap.moments[now];
  const columns = [
    { key: "full", group: "full", title: "%", hint: "which share of it live blocks have", chars: 8, sorts: false },
  ];
  return {
    label: "how full the pages of the heap are",
    nameTitle: "address",
    nameSorts: false,
    columns,
    rows: cells.length,
    more: 0,
    row: (i) => {
      const cell = cells[i] ?? 0;
      const band = bandOf(heap, cell);
      return {
        key: hash(`cell ${cell}`), level: 1, indent: 0, open: undefined, tone: "plain",
        name: `${addressOf(heap, cell)} ${band ? bandName(band) : ""}`,
        note: moment ? cellWords(heap, moment, cell).whose : "",
        title: "press Enter for its blocks",
      };
    },
    cell: (i) => {
      const fill = moment?.fill[cells[i] ?? 0] ?? 0;
      const share = (100 * fill) / 255;
      return { text: share.toFixed(0), exact: `${share.toFixed(1)} %`, bar: fill / 255, value: share };
    },
    find: (key) => cells.findIndex((cell) => hash(`cell ${cell}`) === key),
    sorted: "",
    reverse: false,
  };
}

/**
 * Who keeps nearly empty pages in use, at the moment at which the film rests.
 * @param exact whether the film is there: both read all events, so that neither would be there sooner at the same time
 */
function Pinned({ app, exact }: { app: App; exact: Signal<boolean> }) {
  const part = usePart<Pins>(
    app,
    "heap-pins",
    ({ recording, place }) => {
      if (!exact.value) return undefined;
      const { from, to, at } = place;
      const range = { ...(from !== undefined && { from }), ...(to !== undefined && { to }) };
      const parameters = { ...range, ...(at !== undefined && { at }), limit: 8 };
      return taskOf(recording, { name: "compactness", parameters, read: pinsOf });
    },
    false,
  );
  return (
    <section class="heap-pins">
      <h2>
        Who pins this <span class="quiet">functions whose blocks keep nearly empty pages in use</span>
      </h2>
      {!exact.value && <p class="quiet">They are looked for when the film is there.</p>}
      <Answered part={part} skeleton={<p class="quiet">…</p>}>
        {({ list, more }) =>
          list.length === 0 ? (
            <p class="quiet">Nobody: no page is nearly empty.</p>
          ) : (
            <div class="scroll">
              <table>
                <thead>
                  <tr>
                    <th scope="col">function</th>
                    <th scope="col" class="number">
                      pages
                    </th>
                    <th scope="col" class="number">
                      blocks
                    </th>
                    <th scope="col" class="number">
                      released without it
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {list.map((pin, i) => (
                    <tr key={i}>
                      <td>
                        <Pinner app={app} name={pin.name} />
                      </td>
                      <td class="number">{count(pin.pages)}</td>
                      <td class="number">{count(pin.blocks)}</td>
                      <td class="number">{size(pin.released)}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
              {more > 0 && <p class="quiet">and {plural(more, "other call stack")}</p>}
            </div>
          )
        }
      </Answered>
    </section>
  );
}

/** A function that pins pages: it leads to the flame graph of what it has live then. */
function Pinner({ app, name }: { app: App; name: string }) {
  const to = flameOf(app.place.value, name);
  const text = <Name text={name} limit={72} />;
  if (!to) return text;
  return (
    <Link app={app} to={to} title="the flame graph of what it has live then">
      {text}
    </Link>
  );
}
