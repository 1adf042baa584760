// Events: the log, from any event or moment on. A row opens to its call stacks.
import { useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { App, Selected } from "../../app.ts";
import { count, plural } from "../../model/format.ts";
import { hash, type Group } from "../../model/group.ts";
import {
  cellsOf,
  chain,
  jumpOf,
  logKinds,
  logOf,
  logParameters,
  mostParts,
  nextParameters,
  type Entry,
  type LogPart,
} from "../../model/log.ts";
import { shorten, visible } from "../../model/names.ts";
import { formatPlace, pageNames, parsePlace } from "../../model/place.ts";
import { timeText } from "../../model/time.ts";
import { taskOf, type Question } from "../../net/ask.ts";
import { copyText } from "../copy.ts";
import type { Entry as MenuEntry } from "../menu.tsx";
import { Answered, useActions, useMainPart } from "../part.tsx";
import { EmptyBox } from "../states.tsx";
import { Grid, GridCursor, type GridCell, type GridColumn, type GridData, type GridRow } from "../table.tsx";
import { hasSomeEvents, NoEvents } from "../parts/no-events.tsx";
import { WaysBack } from "../ways-back.tsx";
import {
  copyRow,
  frameRows,
  isWhole,
  menuEntries,
  MenuHere,
  nothingIntact,
  pick,
  rowsSkeleton,
  RowsPage,
  saveRows,
  useExtras,
  useMenu,
  useNotice,
} from "./rows.tsx";

function questionOf({ place }: Selected): Question<"events", LogPart> {
  return { name: "events", parameters: logParameters(place), read: logOf };
}

export function Events({ app }: { app: App }) {
  const part = useMainPart(app, "events", (selected) => {
    return selected.rough || !hasSomeEvents(app) ? undefined : questionOf(selected);
  });
  // The moment that is chosen on the timeline leads there.
  const { at } = app.place.value;
  const before = useRef(at);
  useEffect(() => {
    if (before.current !== at && app.place.peek().event !== undefined) {
      app.change({ event: undefined, reverse: false }, "replace");
    }
    before.current = at;
  }, [at]);
  if (hasSomeEvents(app) === false) return <NoEvents app={app} what="what happened, one by one" />;
  return (
    <Answered part={part} skeleton={rowsSkeleton}>
      {(main, shown) => <List key={shown.task.key} app={app} main={main} />}
    </Answered>
  );
}

const none: GridCell = { text: "", exact: "", bar: 0 };

const allColumns: readonly GridColumn[] = (
  [
    ["time", "time", "s", "since the start of the recording", 10],
    ["event", "event", "", "the number of the event, from 0", 10],
    ["thread", "thread", "", "that made the call", 8],
    ["size", "size", "", "bytes requested", 8],
    ["block", "block", "", "the number of the allocation that the event makes or ends", 9],
    ["address", "address", "", "if addresses were recorded (heaptap run --addresses)", 14],
    ["lifetime", "lifetime", "", "of the block that the event ends", 8],
  ] as const
).map(([key, heading, title, hint, chars]) => {
  return { key, group: key, heading, title: title || "\u00a0", hint, chars, sorts: false };
});

/** A row: an event or a mark, a line of a call stack below it, or what leads on. */
interface Line {
  row: GridRow;
  entry?: Entry;
  act?: () => void;
}

function List({ app, main }: { app: App; main: LogPart }) {
  const place = app.place.value;
  const cursor = useMemo(() => new GridCursor(), []);
  const open = useSignal<ReadonlySet<number>>(new Set());
  const { show: showMenu, menu } = useMenu();
  const { say, notice } = useNotice();
  const extras = useExtras<LogPart>(app, "events-more");

  const taskAt = (event: number, before: boolean) => {
    const { recording, place: at } = app.selection();
    return taskOf(recording, { name: "events", parameters: nextParameters(at, event, before), read: logOf });
  };
  const answers = extras.answers.value;
  const found = useMemo(() => {
    return chain(main, (event, before) => {
      const answer = answers.get(taskAt(event, before).key);
      return typeof answer === "object" && "value" in answer ? answer.value : undefined;
    });
  }, [main, answers]);
  const { parts } = found;
  const [first, last] = [parts[0]!, parts.at(-1)!];
  const goOn = (event: number, before: boolean) => {
    if ((before ? found.earlier : found.later) < mostParts) extras.ask(taskAt(event, before));
    else app.change({ event: String(event), at: undefined, reverse: before });
  };
  // Where the earlier events are put before, the reader stays at the row where they were.
  const stay = useRef<number | undefined>(undefined);
  const earlier = () => {
    stay.current = first.entries[0]?.key;
    goOn(first.first, true);
  };
  useEffect(() => {
    if (stay.current !== undefined) cursor.show(stay.current);
    stay.current = undefined;
  }, [found.earlier]);

  const lines = useMemo((): Line[] => {
    const words = (name: string, act: () => void): Line => {
      const row: GridRow = { key: hash(name), level: 1, indent: 0, open: undefined, name, note: "", title: "",
        tone: "words" };
      return { row, act };
    };
    const events = parts.flatMap(({ entries }) => entries);
    const list = events.flatMap((entry): Line[] => {
      const { key, what, stack, freeStack, notes } = entry;
      const shown = open.value.has(key);
      const title = stack?.stack.map(({ name }) => visible(name)).join("\n").slice(0, 2000) ?? "";
      const at = stack?.headline;
      const note = [...notes, at && shorten(at.name, 80), at?.place].filter(Boolean).join(" · ");
      const turns = stack || freeStack ? shown : undefined;
      const row: GridRow = { key, level: 1, indent: 0, open: turns, name: what, note, title, tone: "plain" };
      const head: Line = { row, entry };
      if (!turns) return [head];
      const of = (text: string, group: Group | undefined): Line[] => {
        if (!group) return [];
        const own = hash(text, key);
        const heading: GridRow = { key: own, level: 2, indent: 1, open: undefined, name: text, note: "", title: "",
          tone: "words" };
        const unfold = () => app.change({ unfolded: true }, "replace");
        const frames = frameRows(group, own, 2, !place.unfolded).map((row): Line => {
          return { row, ...(row.tone === "words" && { act: unfold }) };
        });
        return [{ row: heading }, ...frames];
      };
      return [head, ...of(freeStack ? "allocated at" : "at", stack), ...of("freed at", freeStack)];
    });
    if (first.first > first.begin) {
      list.unshift(words(`earlier events: press Enter to show them`, earlier));
    }
    if (last.next < last.end && (last.entries.length === 0 || found.later === mostParts)) {
      const looked = plural(last.next - last.first, "event");
      const text = last.entries.length === 0 ? `none of these in ${looked}` : "later events";
      list.push(words(`${text}: press Enter to go on from event ${count(last.next)}`, () => goOn(last.next, false)));
    }
    return list;
  }, [found, open.value, place.unfolded]);

  const data = useMemo((): GridData => {
    const addresses = parts.some(({ entries }) => entries.some(({ address }) => address !== ""));
    const columns = allColumns.filter(({ key }) => addresses || key !== "address");
    return {
      label: "events",
      nameTitle: "what, and where",
      nameSorts: false,
      columns,
      rows: lines.length,
      more: last.next < last.end && last.entries.length > 0 && found.later < mostParts ? last.end - last.next : 0,
      row: (i) => lines[i]?.row ?? blank,
      cell: (i, c) => {
        const entry = lines[i]?.entry;
        const cell = entry && cellsOf(entry)[allColumns.indexOf(columns[c] ?? allColumns[0]!)];
        return cell ? { ...cell, bar: 0 } : none;
      },
      find: (key) => lines.findIndex(({ row }) => row.key === key),
      sorted: "",
      reverse: false,
    };
  }, [lines]);

  const saveCsv = () => saveRows("events", data, say);
  const copy = (i: number) => copyRow(data, i);
  useActions(app, { "rows.csv": saveCsv, "rows.copy": () => copy(cursor.index(data)) });
  const toggle = (i: number, on: boolean) => {
    const key = lines[i]?.row.key;
    if (key === undefined) return;
    const next = new Set(open.value);
    if (on) next.add(key);
    else next.delete(key);
    open.value = next;
  };
  const explain = (i: number) => {
    const group = lines[i]?.entry?.stack;
    if (group) pick(app, { group });
  };
  const events = {
    pick: explain,
    enter: (i: number) => {
      const line = lines[i];
      if (line?.act) line.act();
      else if (line?.row.open !== undefined) toggle(i, !line.row.open);
    },
    open: toggle,
    end: () => goOn(last.next, false),
    menu: (i: number, at: { x: number; y: number }) => {
      const entry = lines[i]?.entry;
      if (entry) showMenu(entry.what, at, entriesOf(app, entry, () => copy(i)));
    },
    copy,
  };
  // The list begins with the row that was asked for, not with what leads to earlier ones.
  useEffect(() => {
    const entry = lines.find((line) => line.entry);
    if (entry && cursor.key.peek() === undefined) cursor.set(entry.row.key);
    if (place.reverse) cursor.show(main.entries.at(-1)?.key ?? 0);
  }, []);
  const empty = main.begin === main.end;
  const why = isWhole(app) ? "There are no events in the range." : nothingIntact;
  return (
    <RowsPage
      notice={notice}
      missing={last.missing}
      tools={
        <>
          <Jump app={app} />
          <button type="button" onClick={() => app.change({ event: undefined, at: undefined, reverse: false })}>
            Start
          </button>
          <button type="button" onClick={() => app.change({ event: undefined, at: undefined, reverse: true })}>
            End
          </button>
          <Marks app={app} />
          <label class="choose">
            only{" "}
            <select
              value={place.kind[0] ?? ""}
              onChange={(event) => {
                const { value } = event.currentTarget;
                app.change({ kind: value === "" ? [] : [value] });
              }}
            >
              <option value="">all kinds</option>
              {logKinds.map(([name, words]) => (
                <option key={name} value={name}>
                  {words}
                </option>
              ))}
            </select>
          </label>
          <button type="button" onClick={saveCsv}>
            Save as CSV
          </button>
          <input
            type="range"
            class="log-place"
            aria-label="place in the log"
            aria-valuetext={`event ${count(main.first)} of ${count(main.end)}`}
            min={main.begin}
            max={Math.max(main.begin, main.end - 1)}
            value={Math.min(main.first, Math.max(main.begin, main.end - 1))}
            onChange={(event) => app.change({ event: event.currentTarget.value, at: undefined, reverse: false })}
          />
          <span class="quiet count" title={`events ${count(main.begin)} to ${count(main.end)}`}>
            {plural(main.end - main.begin, "event")}
            {place.from !== undefined || place.to !== undefined ? " in the range" : ""}
          </span>
        </>
      }
    >
      {empty && lines.length === 0 ? (
        <EmptyBox why={why} command={isWhole(app) ? "heaptap run ./program" : "heaptap verify FILE"}>
          <WaysBack app={app} />
        </EmptyBox>
      ) : lines.length === 0 ? (
        <EmptyBox why="No event is of what counts here.">
          <WaysBack app={app} />
        </EmptyBox>
      ) : (
        <Grid data={data} events={events} cursor={cursor} />
      )}
      <MenuHere menu={menu} />
    </RowsPage>
  );
}

const blank: GridRow = { key: 0, level: 1, indent: 0, open: undefined, name: "", note: "", title: "", tone: "words" };

/** What a row leads to. */
function entriesOf(app: App, entry: Entry, copy: () => void): MenuEntry[] {
  const { event, stack, tid, size, address, born, ns } = entry;
  const place = app.place.value;
  const copies: MenuEntry[] = [
    { title: "Copy as Markdown", keys: "Ctrl+C", run: copy },
    ...(address === "" ? [] : [{ title: "Copy the address", run: () => void copyText(address, "address") }]),
  ];
  const go: MenuEntry[] = [];
  const add = (title: string, run: () => void) => void go.push({ title, run });
  if (event !== undefined) {
    add("The log from here on", () => app.change({ event: String(event), at: undefined, reverse: false }));
    add(`Only thread ${tid}`, () => app.change({ thread: [String(tid)] }));
    add(`Only blocks of ${plural(size, "byte")}`, () => app.change({ size: `${size}..${size}` }));
  }
  add("Choose this moment", () => app.change({ at: timeText(ns), event: undefined, reverse: false }));
  if (!Number.isNaN(born)) {
    add("Go to its allocation", () => {
      app.change({ at: timeText(Math.max(0, born - 100)), event: undefined, reverse: false });
    });
  }
  if (address !== "" && (pageNames as readonly string[]).includes("blocks")) {
    const query = formatPlace({ ...place, event: undefined, at: timeText(ns) }).replace(/&page=events/, "&page=blocks");
    add("Its block", () => app.go(parsePlace(`${query.slice(1)}&address=${address}`)));
  }
  return stack ? [...go, ...menuEntries(app, { group: stack }, copies)] : [...go, ...copies];
}

/** Leads to an event or a moment. */
function Jump({ app }: { app: App }) {
  const text = useSignal("");
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const to = jumpOf(text.value);
    if (to) app.change(to);
  };
  return (
    <form class="jump" onSubmit={submit}>
      <input
        value={text.value}
        placeholder="go to #event, time or mark"
        aria-label="go to the number of an event, or to a time: 1.5s, 10%, peak, a mark"
        onInput={(event) => (text.value = event.currentTarget.value)}
      />
    </form>
  );
}

/** So many marks can be chosen from a list. */
const mostMarks = 500;

function Marks({ app }: { app: App }) {
  const marks = app.report.shown.value?.value.marks;
  if (!marks || marks.rows === 0) return null;
  const names = Array.from({ length: Math.min(marks.rows, mostMarks) }, (_, i) => marks.mark.at(i));
  return (
    <select
      aria-label="go to a mark"
      value=""
      onChange={(event) => app.change({ at: event.currentTarget.value, event: undefined, reverse: false })}
    >
      <option value="">go to a mark</option>
      {names.map((name) => (
        <option key={name} value={name}>
          {visible(name)}
        </option>
      ))}
    </select>
  );
}
