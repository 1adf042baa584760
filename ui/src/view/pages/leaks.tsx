// Leaks: what kept growing as small pictures, and all that was never freed: by call stack, by age, by growth.
import { signal, useSignal, type Signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { MetricName, Parameters, Timeline, Top } from "../../api.ts";
import type { App, Selected } from "../../app.ts";
import { filtersOf } from "../../model/filters.ts";
import type { Follower } from "../../model/follower.ts";
import { digits, exactSize, percent, plural, size } from "../../model/format.ts";
import { hash, type Group } from "../../model/group.ts";
import {
  curveOf,
  curvePath,
  curvesOf,
  endOf,
  executableOf,
  leakedOf,
  leaksOf,
  suppresses,
  suppressionOf,
  whyEmpty,
  type Curves,
  type Growth,
  type LeakAnswer,
  type Suspect,
} from "../../model/leaks.ts";
import { visible } from "../../model/names.ts";
import type { Place } from "../../model/place.ts";
import * as table from "../../model/table.ts";
import type { Scale, Sheet } from "../../model/table.ts";
import { timeText } from "../../model/time.ts";
import { taskOf, type Question } from "../../net/ask.ts";
import { copyText } from "../copy.ts";
import { Name } from "../name.tsx";
import { hasMoved } from "../pointer.ts";
import { Answered, useActions, useMainPart, usePart } from "../part.tsx";
import { EmptyBox, Refusal } from "../states.tsx";
import { Grid, GridCursor, type GridCell, type GridColumn, type GridData, type GridRow } from "../table.tsx";
import {
  copyRow,
  frameRows,
  groupRow,
  isWhole,
  lines,
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
import { WaysBack } from "../ways-back.tsx";

const mostLeaks = 10_000;
/** So many are drawn, and so many call stacks' curves are asked for: a function may grow at several. */
const mostPictures = 24;
const mostCurves = 10 * mostPictures;
const curveSteps = 60;
/** What kept growing may be freed before the end: the stacks with most at any moment are those to see. */
const curvesBy: MetricName = "own-peak";
/** Into how many parts the time is divided, to show when what leaked was allocated. */
const slices = 10;

const views = ["stack", "age", "growth"] as const;
type View = (typeof views)[number];

function viewOf(place: Place): View {
  return views.find((view) => view === place.order) ?? "stack";
}

/** Leaks do not follow a drag: what is leaked is known only with all events. */
function questionOf({ place }: Selected): Question<"leaks", LeakAnswer> {
  return { name: "leaks", parameters: { ...filtersOf(place), limit: mostLeaks }, read: leaksOf };
}

/** What leaked is known at once; what keeps growing may need all events. */
function firstOf({ place }: Selected): Question<"top", LeakAnswer> {
  // With other metrics, stacks that leak nothing would be there, too.
  const metric: MetricName[] = ["leaked", "leaked-blocks"];
  return { name: "top", parameters: { ...filtersOf(place), by: "stack", metric, limit: mostLeaks }, read: leakedOf };
}

export function Leaks({ app }: { app: App }) {
  const first = usePart(app, "leaks-first", (selected) => taskOf(selected.recording, firstOf(selected)));
  // The longer question is asked once the other one is answered: the server has few workers.
  const part = useMainPart(app, "leaks", (selected) => {
    const answered = first.shown.value?.task.key === taskOf(selected.recording, firstOf(selected)).key;
    return answered ? questionOf(selected) : undefined;
  });
  return (
    <Answered part={first} skeleton={rowsSkeleton}>
      {(leaked) => {
        const whole = part.shown.value;
        const current = whole?.task.key === taskOf(app.selection().recording, questionOf(app.selection())).key;
        return <Rows app={app} answer={whole && current ? whole.value : leaked} looking={<Looking part={part} />} />;
      }}
    </Answered>
  );
}

/** How far the search for what keeps growing is. */
function Looking({ part }: { part: Follower<LeakAnswer> }) {
  const wait = part.wait.value;
  if (wait?.phase === "failed") return <Refusal fault={wait.fault} />;
  const cancelled = wait?.phase === "cancelled";
  const share = wait?.phase === "busy" ? wait.progress?.share : undefined;
  return (
    <p class="quiet" role="status">
      {cancelled ? "not looked for" : "looking for it …"}
      {typeof share === "number" && ` ${percent(share, 1)}`}{" "}
      {wait && (
        <button type="button" class="plain" onClick={() => (cancelled ? part.retry() : part.cancel())}>
          {cancelled ? "look for it" : "Cancel"}
        </button>
      )}
    </p>
  );
}

// What the reader has suppressed, in this browser.
const storeKey = "heaptap.suppressed";
const rules: Signal<readonly string[]> = signal(kept());

function kept(): string[] {
  try {
    const list: unknown = JSON.parse(localStorage.getItem(storeKey) ?? "[]");
    return Array.isArray(list) ? list.filter((rule) => typeof rule === "string" && rule.startsWith("leak:")) : [];
  } catch {
    return [];
  }
}

function keep(list: readonly string[]): void {
  rules.value = list;
  try {
    localStorage.setItem(storeKey, JSON.stringify(list));
  } catch {
    // It lasts as long as the page.
  }
}

/** What is shown beside the name of what kept growing. */
function noteOf({ group, stacks }: Growth): string {
  if (stacks.length === 1) return group.note;
  return [group.headline?.place, plural(stacks.length, "call stack")].filter(Boolean).join(" · ");
}

/** What became of what kept growing, in words. */
function fateOf({ fate, leaked, end }: Growth): string {
  if (fate === "never freed") return `never freed: ${size(leaked)}`;
  return fate === "freed later" ? `freed after the range: ${size(end)}` : "freed in the end";
}

/** A row with all that is shown of it. */
interface Item {
  readonly key: number; // of the row
  readonly row: GridRow;
  readonly cells: readonly GridCell[];
  group?: Group;
  /** What the right side explains, if it is not the group's call stack. */
  names?: readonly string[] | undefined;
  act?: () => void;
}

/** An item whose row and cells are made when it is first seen: of thousands, some dozens are. */
function seenLater(group: Group, make: () => Pick<Item, "row" | "cells">): Item {
  let made: Pick<Item, "row" | "cells"> | undefined;
  return {
    group,
    key: group.key,
    get row() {
      return (made ??= make()).row;
    },
    get cells() {
      return (made ??= make()).cells;
    },
  };
}

/** What the right side explains of what kept growing: a single call stack, or the function with all of them. */
function namesOf({ group, stacks }: Growth): readonly string[] | undefined {
  const name = group.headline?.id;
  return stacks.length > 1 && name !== undefined ? [name] : undefined;
}

const none: GridCell = { text: "", exact: "", bar: 0 };

function cell(value: number, scale: Scale, full: number): GridCell {
  return { text: scale.text(value), exact: scale.exact(value), bar: full > 0 ? value / full : 0, value };
}

function column(key: string, title: string, hint: string, chars: number): GridColumn {
  const most = Math.max(chars, key.length + 1, title.length + 1);
  return { key, group: key, title: title || "\u00a0", hint, chars: most, sorts: false };
}

function Rows({ app, answer, looking }: { app: App; answer: LeakAnswer; looking: ComponentChildren }) {
  const place = app.place.value;
  const view = viewOf(place);
  const { sheet } = answer;
  const growing = answer.growing ?? [];
  const cursor = useMemo(() => new GridCursor(), []);
  const open = useSignal<ReadonlySet<number>>(new Set());
  const { show: showMenu, menu } = useMenu();
  const { say, notice } = useNotice();
  const executable = useMemo(() => executableOf(sheet.groups), [sheet]);

  const wanted = useSignal(false);
  wanted.value = growing.length > 0;
  const curves = usePart(app, "leaks-curves", ({ recording, place: at }) => {
    if (!wanted.value) return undefined;
    const parameters: Parameters["timeline"] = { ...filtersOf(at), by: "stack", metric: [curvesBy] };
    Object.assign(parameters, { top: mostCurves, steps: curveSteps });
    return taskOf(recording, { name: "timeline", parameters, read: (given) => curvesOf(given as Timeline) });
  });

  const leaked = sheet.total["leaked"];
  const blocks = sheet.total["leaked-blocks"];
  const made = sheet.total["allocations"];
  const all = sheet.whole["leaked"] ?? 0;
  const allBlocks = sheet.whole["leaked-blocks"] ?? 0;

  // What a rule hides is counted, and shown by itself.
  const hidden = useMemo(() => {
    const by = new Map<string, { bytes: number; blocks: number; stacks: number }>();
    const rows = new Set<number>();
    if (rules.value.length === 0) return { by, rows };
    sheet.groups.forEach((group, row) => {
      const stack = group.stack;
      const rule = rules.value.find((one) => suppresses(one, stack));
      if (rule === undefined) return;
      rows.add(row);
      const sum = by.get(rule) ?? { bytes: 0, blocks: 0, stacks: 0 };
      by.set(rule, {
        bytes: sum.bytes + (leaked?.[row] ?? 0),
        blocks: sum.blocks + (blocks?.[row] ?? 0),
        stacks: sum.stacks + 1,
      });
    });
    return { by, rows };
  }, [sheet, rules.value]);

  // When what leaked was allocated: asked part by part, because each needs the events of its time.
  const parts = useExtras<Sheet>(app, "leaks-age");
  const times = useMemo(() => {
    const { begin, end } = answer;
    const step = (end - begin) / slices;
    return Array.from({ length: slices }, (_, i) => ({ from: begin + i * step, to: begin + (i + 1) * step }));
  }, [answer]);
  const tasks = times.map(({ from, to }) => {
    const { recording, filters } = app.selection();
    const range = { from: timeText(from), to: timeText(to) };
    const metric = ["leaked" as const, "leaked-blocks" as const];
    const parameters = { ...filters, ...range, by: "stack" as const, metric, limit: 100 };
    return taskOf(recording, { name: "top", parameters, read: (top: Top) => table.sheetOf(top) });
  });
  const ages = tasks.map(({ key }) => key).join();
  useEffect(() => {
    parts.clear();
  }, [ages]);
  useEffect(() => {
    if (view === "age") for (const task of tasks) parts.ask(task);
  }, [view, ages]);

  const unfold = () => app.change({ unfolded: true }, "replace");
  const withFrames = (item: Item, group: Group, level: number): Item[] => {
    if (item.row.open !== true) return [item];
    const frames = frameRows(group, item.key, level + 1, !place.unfolded);
    const rows = frames.map((row) => ({ key: row.key, row, cells: [], ...(row.tone === "words" && { act: unfold }) }));
    return [item, ...rows];
  };

  const shown = useMemo((): { columns: GridColumn[]; items: Item[]; label: string } => {
    const isOpen = (key: number) => open.value.has(key);
    if (view === "growth") {
      const fastest = Math.max(...growing.map(({ perSecond }) => perSecond), 0);
      const rate = table.scaleOf("bytes/s", fastest);
      const most = Math.max(...growing.map(({ end }) => end), 0);
      const bytes = table.scaleOf("bytes", most);
      const cells = (one: Suspect) => [
        cell(one.perSecond, rate, fastest),
        { text: `${Math.round(100 * one.steadiness)} %`, exact: `${digits(100 * one.steadiness)} %`, bar: 0 },
        cell(one.begin, bytes, most),
        cell(one.end, bytes, most),
        cell(one.leaked, bytes, most),
      ];
      const stackOf = (one: Suspect, level: number) => {
        const row = { ...groupRow(one.group, open.value), level, indent: level - 1 };
        return withFrames({ key: row.key, row, cells: cells(one), group: one.group }, one.group, level);
      };
      const items = growing.flatMap((one): Item[] => {
        if (one.stacks.length === 1) return stackOf(one, 1);
        const { group, key, stacks } = one;
        const row = { ...groupRow(group, open.value), key, open: isOpen(key), title: group.name };
        const noted = { ...row, note: noteOf(one) };
        const head: Item = { key, row: noted, cells: cells(one), group, names: namesOf(one) };
        return row.open ? [head, ...stacks.flatMap((stack) => stackOf(stack, 2))] : [head];
      });
      const columns = [
        column("growth", rate.unit, "the slope of the line that fits the live bytes best", 7),
        column("steadiness", "", "how evenly the growth is spread over the time", 6),
        column("began", bytes.unit, "live bytes at the beginning", 7),
        column("ended", bytes.unit, "live bytes at the end", 7),
        column("leaked", bytes.unit, "bytes that were never freed: what leaks comes first", 7),
      ];
      return { columns, items, label: "functions that kept growing, leaks first" };
    }
    const bytes = table.scaleOf("bytes", view === "age" ? all : (leaked?.[0] ?? 0));
    const blockScale = table.scaleOf("count", allBlocks);
    const columns = [
      column("leaked", bytes.unit, "bytes that were never freed", 8),
      column("share", "", "of all that was never freed", 6),
      column("blocks", "", "blocks that were never freed", 7),
    ];
    const cells = (b: number, n: number, full: number) => [
      cell(b, bytes, full),
      { text: Number.isNaN(b) ? "–" : percent(b, all), exact: "", bar: 0 },
      cell(n, blockScale, 0),
    ];
    if (view === "age") {
      const answers = tasks.map(({ key }) => parts.answers.value.get(key));
      const sheets = answers.map((one) => (typeof one === "object" && "value" in one ? one.value : undefined));
      const full = Math.max(...sheets.map((one) => one?.whole["leaked"] ?? 0));
      const items = times.flatMap(({ from, to }, i) => {
        const one = sheets[i];
        const key = hash(`age ${i}`);
        const wait = answers[i];
        const problem =
          wait === "cancelled" ? "cancelled" : wait && "fault" in wait ? wait.fault.message : wait ? "" : "asking …";
        const rows = one?.groups.length ?? 0;
        const row: GridRow = {
          key, level: 1, indent: 0, open: rows > 0 ? isOpen(key) : undefined, tone: "words", note: problem, title: "",
          name: `allocated at ${app.clock.span({ begin: from, end: to })}`,
        };
        const sums = cells(one?.whole["leaked"] ?? NaN, one?.whole["leaked-blocks"] ?? NaN, full);
        const head: Item = { key, row, cells: sums };
        if (!one || row.open !== true) return [head];
        const stacks = one.groups.flatMap((group, n) => {
          const own = groupRow(group, open.value);
          const inner = hash("in", own.key + i);
          const item = { key: inner, row: { ...own, key: inner, level: 2, indent: 1, open: isOpen(inner) }, group };
          const numbers = cells(one.total["leaked"]?.[n] ?? NaN, one.total["leaked-blocks"]?.[n] ?? NaN, full);
          return withFrames({ ...item, cells: numbers }, group, 2);
        });
        return [head, ...stacks];
      });
      return { columns, items, label: "leaks by the time of their allocation" };
    }
    columns.push(column("allocations", "", "of the call stack, in all", 9));
    const counts = table.scaleOf("count", 0);
    const full = leaked?.[0] ?? 0;
    const items = sheet.groups.flatMap((group, i) => {
      if (hidden.rows.has(i)) return [];
      const item = seenLater(group, () => ({
        row: groupRow(group, open.value),
        cells: [...cells(leaked?.[i] ?? NaN, blocks?.[i] ?? NaN, full), cell(made?.[i] ?? NaN, counts, 0)],
      }));
      return isOpen(group.key) ? withFrames(item, group, 1) : [item];
    });
    return { columns, items, label: "leaks by call stack" };
  }, [answer, view, open.value, parts.answers.value, hidden, place.unfolded]);

  const { items, columns } = shown;
  const data = useMemo(
    (): GridData => ({
      label: shown.label,
      nameTitle: view === "age" ? "when it was allocated" : "call stack",
      nameSorts: false,
      columns,
      rows: items.length,
      more: view === "stack" ? sheet.more : 0,
      row: (i) => items[i]?.row ?? { ...blank },
      cell: (i, c) => items[i]?.cells[c] ?? none,
      find: (key) => items.findIndex((item) => item.key === key),
      sorted: view === "growth" ? "growth" : view === "age" ? "" : "leaked",
      reverse: false,
    }),
    [shown],
  );

  const explain = (group: Group, names?: readonly string[]) => {
    pick(app, { group, ...(names && { names }) });
    hover(group);
  };
  /** The ribbon over the timeline: of the function that the stack is named after. */
  const hover = (group: Group | undefined) => {
    const at = group?.headline;
    app.hovered.value = at?.named ? { function: at.name, module: at.module } : undefined;
  };
  const toggle = (i: number, on: boolean) => {
    const item = items[i];
    if (!item) return;
    const next = new Set(open.value);
    if (on) next.add(item.key);
    else next.delete(item.key);
    open.value = next;
  };
  const picked = useRef<Group | undefined>(undefined);
  const suppress = (group: Group, hide: boolean) => {
    const rule = suppressionOf(group.stack, executable);
    if (rule === undefined) return say("no rule: only a function that is on nearly every call stack is known");
    if (!hide) return void copyText(`${visible(rule)}\n`, "suppression");
    if (!rules.value.includes(rule)) keep([...rules.value, rule]);
  };
  const copy = (i: number) => copyRow(data, i);
  const saveCsv = () => saveRows("leaks", data, say);
  useActions(app, {
    "leaks.suppress": () => {
      const group = items[cursor.index(data)]?.group;
      if (group) suppress(group, false);
    },
    "rows.csv": saveCsv,
    "rows.copy": () => copy(cursor.index(data)),
  });
  const events = {
    pick: (i: number) => {
      const { group, names } = items[i] ?? {};
      if (!group) return;
      picked.current = group;
      explain(group, names);
    },
    hover: (i: number | undefined) => hover((i === undefined ? undefined : items[i]?.group) ?? picked.current),
    enter: (i: number) => {
      const item = items[i];
      if (item?.act) item.act();
      else if (item?.row.open !== undefined) toggle(i, !item.row.open);
    },
    open: toggle,
    menu: (i: number, at: { x: number; y: number }) => {
      const group = items[i]?.group;
      if (!group) return;
      showMenu(group.name, at, [
        ...menuEntries(app, { group }, [
          { title: "Copy the call stack", run: () => void copyText(stackText(group), "call stack") },
          { title: "Copy as Markdown", keys: "Ctrl+C", run: () => copy(i) },
        ]),
        { title: "Copy a suppression", run: () => suppress(group, false) },
        { title: "Suppress it here", run: () => suppress(group, true) },
      ]);
    },
    copy,
  };
  // The first row is open at first: its ribbon and its source show what the page is about. So it is in another view, if
  // that has not the row which was the current one.
  useEffect(() => {
    const first = items[0];
    const before = cursor.key.peek();
    if (!first?.group || (before !== undefined && cursor.index(data) >= 0)) return;
    open.value = new Set([first.key]);
    cursor.set(first.key, 0);
    picked.current = first.group;
    if (place.picked.length === 0 || before !== undefined) explain(first.group, first.names);
  }, [data]);
  useEffect(() => () => void (app.hovered.value = undefined), []);
  const choose = (one: Growth) => {
    picked.current = one.group;
    explain(one.group, namesOf(one));
    if (view !== "age") cursor.show(one.group.key);
  };
  const empty = view === "growth" ? answer.growing?.length === 0 : sheet.groups.length === 0;
  const damaged = { why: nothingIntact, command: "heaptap verify FILE" };
  const why = isWhole(app) ? whyEmpty(place, view === "growth") : damaged;
  return (
    <RowsPage
      notice={notice}
      missing={answer.missing}
      tools={
        <>
          <div class="choice-of" role="group" aria-label="leaks by">
            {views.map((name) => (
              <button
                key={name}
                type="button"
                aria-pressed={view === name}
                onClick={() => app.change({ order: name === "stack" ? undefined : name })}
              >
                by {name}
              </button>
            ))}
          </div>
          <button type="button" onClick={saveCsv}>
            Save as CSV
          </button>
          <span class="quiet count" title={exactSize(all)}>
            {size(all)} in {plural(allBlocks, "block")} at {plural(sheet.groups.length + sheet.more, "call stack")}
            {answer.runtime.blocks > 0 && ` · besides ${size(answer.runtime.bytes)} that the runtime keeps`}
          </span>
        </>
      }
    >
      {answer.growing === undefined && (
        <section class="suspects">
          <h2>Kept growing</h2>
          {looking}
        </section>
      )}
      {growing.length > 0 && view !== "growth" && (
        <Growths
          growing={growing}
          upTo={endOf(place)}
          curves={curves.shown.value?.value}
          choose={choose}
          hover={hover}
        />
      )}
      {empty ? (
        <EmptyBox {...why}>
          <WaysBack app={app} />
        </EmptyBox>
      ) : (
        <Grid data={data} events={events} cursor={cursor} />
      )}
      {hidden.by.size > 0 && view === "stack" && <Suppressed by={hidden.by} />}
      <MenuHere menu={menu} />
    </RowsPage>
  );
}

const blank: GridRow = { key: 0, level: 1, indent: 0, open: undefined, name: "", note: "", title: "", tone: "words" };

function stackText(group: Group): string {
  return group.stack.map(({ name, place }) => [name, place].filter(Boolean).join(" ")).join("\n");
}

/** Small pictures of what kept growing, leaks first, all over the same time. */
function Growths(props: {
  growing: readonly Growth[];
  upTo: string;
  curves: Curves | undefined;
  choose: (one: Growth) => void;
  hover: (group: Group | undefined) => void;
}) {
  const { growing, curves } = props;
  return (
    <section class="suspects">
      <h2>
        Kept growing <span class="quiet">live bytes that rose steadily, up to {props.upTo}</span>
      </h2>
      <ul>
        {growing.slice(0, mostPictures).map((one) => {
          const values = curves && curveOf(one, curves);
          const path = curves && values ? curvePath(curves.times, values) : "";
          const { group, stacks, fate } = one;
          const title = stackText(group).split("\n");
          if (stacks.length > 1) title.push(`and ${plural(stacks.length - 1, "other call stack")}`);
          const rate = `${size(one.perSecond)} per second`;
          return (
            <li key={one.key}>
              <button
                type="button"
                onClick={() => props.choose(one)}
                onPointerEnter={(event) => hasMoved(event) && props.hover(group)}
                onFocus={() => props.hover(group)}
                title={lines(title)}
              >
                <Name text={group.name} limit={34} />
                <span class="quiet">
                  <bdi>{visible(noteOf(one)).slice(0, 200)}</bdi>
                </span>
                {(path !== "" || !curves) && (
                  <svg viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true">
                    {path !== "" && <path class="area" d={`${path}L100 100L0 100Z`} />}
                    {path !== "" && <path class="curve" d={path} />}
                  </svg>
                )}
                <b title={exactSize(Math.round(one.perSecond))}>{rate}</b>
                <span class={fate === "never freed" ? "wrong" : "quiet"}>
                  {fateOf(one)}
                </span>
              </button>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

/** What rules of the reader hide, and the file that has them. */
function Suppressed(props: {
  by: ReadonlyMap<string, { bytes: number; blocks: number; stacks: number }>;
}) {
  const list = [...props.by];
  const file = `${list.map(([rule]) => visible(rule)).join("\n")}\n`;
  return (
    <section class="suppressed">
      <h2>
        Suppressed here{" "}
        <button type="button" class="plain" onClick={() => void copyText(file, "suppressions")}>
          copy for --suppressions
        </button>
      </h2>
      <ul>
        {list.map(([rule, { bytes, blocks, stacks }]) => (
          <li key={rule}>
            <Name text={rule} limit={80} />{" "}
            <span class="quiet">
              {size(bytes)} in {plural(blocks, "block")} at {plural(stacks, "call stack")}
            </span>{" "}
            <button type="button" class="plain" onClick={() => keep(rules.value.filter((one) => one !== rule))}>
              show again
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
