// The table: every grouping with any metrics; rows open to callers and callees.
import { signal, useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { ByName, MetricName, Parameters, Sandwich, Tree } from "../../api.ts";
import type { App, Selected } from "../../app.ts";
import { estimable, estimateOf, intervalText, isEstimated } from "../../model/estimate.ts";
import { plural } from "../../model/format.ts";
import { hash, type Group } from "../../model/group.ts";
import { filtersOf } from "../../model/filters.ts";
import { Lines, type Block, type Sub } from "../../model/lines.ts";
import { atOf } from "../../model/metrics.ts";
import { Outline, treeInPlace, treeOf, type TreeNode } from "../../model/outline.ts";
import type { Place } from "../../model/place.ts";
import { onlyOf, type Subject } from "../../model/row-actions.ts";
import * as table from "../../model/table.ts";
import type { Column, Sheet } from "../../model/table.ts";
import { taskOf, type Question } from "../../net/ask.ts";
import { copyText } from "../copy.ts";
import { Answered, useActions } from "../part.tsx";
import { Grid, GridCursor, type GridData, type GridRow } from "../table.tsx";
import {
  Columns,
  copyRow,
  frameRows,
  gridColumn,
  groupRow,
  hover,
  menuEntries,
  MenuHere,
  nodeRow,
  Nothing,
  pick,
  rowsSkeleton,
  RowsPage,
  saveRows,
  shownMetrics,
  useExtras,
  useMenu,
  useNotice,
  useQuickPart,
  type Quick,
} from "./rows.tsx";

const groupings: readonly ByName[] = [
  ...(["function", "line", "address", "file", "module", "stack"] as const),
  ...(["thread", "size", "allocator", "region", "region-name"] as const),
];
const firstRows = 1000;
const pageRows = 10_000;
/** How many callers and callees are asked for first, and at most. */
const firstNodes = 200;
const mostNodes = 20_000;

function byOf(place: Place): ByName {
  return groupings.find((by) => by === place.by) ?? "function";
}

/** Whether what libraries allocate counts for the code that calls them: rows of code have it. */
function folds(place: Place): boolean {
  return !place.unfolded && table.isCode(byOf(place));
}

function sortOf(place: Place, metrics: readonly MetricName[]): table.Sort {
  const { sort, self, reverse } = place;
  if (sort === "name") return { key: "name", reverse };
  const metric = metrics.find((name) => name === sort) ?? metrics[0] ?? "peak";
  const side = self && !table.onlySelf(byOf(place)) ? "self" : "total";
  return { key: `${metric}.${side}`, reverse };
}

/** The order in which rows were asked for. */
type Order = Pick<Parameters["top"], "sort" | "self" | "reverse">;

/** The question of which all rows are here, without an order, and the order that it has. */
const complete = signal<{ rows: string; order: Order } | undefined>(undefined);

function questionOf({ place, filters, rough }: Selected, quick: Quick = ""): Question<"top", Sheet> {
  const metrics = shownMetrics(place, filters);
  const few = quick === "estimate" ? estimable(metrics) : table.quickOf(metrics);
  const metric = rough || quick !== "" ? few : metrics;
  const parameters: Parameters["top"] = { ...filters, by: byOf(place), metric, limit: firstRows };
  Object.assign(parameters, atOf(place, metric));
  if (folds(place)) parameters.fold = true;
  if (place.match !== undefined) parameters.match = place.match;
  if (rough || quick === "estimate") parameters.rough = "pixel";
  const order: Order = {};
  if (place.sort === "name" || metric.some((name) => name === place.sort)) order.sort = place.sort ?? "";
  if (place.self) order.self = true;
  if (place.reverse) order.reverse = true;
  const all = complete.value;
  const kept = all?.rows === rowsKey(place, parameters) ? all.order : order;
  const same = { ...parameters, ...order };
  return { name: "top", parameters: { ...parameters, ...kept }, same, read: table.sheetOf };
}

function rowsKey({ recording }: Place, { sort: _, self: __, reverse: ___, ...rows }: Parameters["top"]): string {
  return JSON.stringify([recording, rows]);
}

/** What belongs to an opened row: trees of callers and of callees, or one of what it counts. */
interface Relatives {
  metrics: readonly string[];
  callers: TreeNode | undefined;
  callees: TreeNode;
}

function relativesOf(group: Group, answer: Tree | Sandwich): Relatives {
  const metrics = table.metricsOf(answer.metrics).map(({ name }) => name);
  const root = (nodes: Tree["nodes"], what: string) => {
    const values = { total: [], self: [], children: [], folded: 0, parent: undefined, group: undefined };
    return treeOf(nodes, metrics, { ...values, key: hash(what, group.key) });
  };
  if ("nodes" in answer) return { metrics, callers: undefined, callees: root(answer.nodes, "tree") };
  return { metrics, callers: root(answer.callers, "callers"), callees: root(answer.callees, "callees") };
}

/** What is shown, and what of it stays in the next drag. */
interface Arranged {
  sheet: Sheet;
  columns: Column[];
  order: Uint32Array;
  folded: number;
}

/** Whether a column has numbers. */
function isKnown({ values }: Column): boolean {
  return values.some((value) => !Number.isNaN(value));
}

export function Table({ app }: { app: App }) {
  const { part, quick, first } = useQuickPart(app, "table", questionOf, ({ place, filters }) => {
    const { events } = app.about.shown.value?.value ?? {};
    return isEstimated(place, byOf(place), events) && estimable(shownMetrics(place, filters)).length > 0;
  });
  const phase = part.wait.value?.phase;
  const find = useRef<HTMLInputElement>(null);
  return (
    <>
      {(phase === "failed" || phase === "cancelled") && (
        <div class="tools">
          <By app={app} />
          <Match app={app} input={find} />
        </div>
      )}
      <Answered part={part} first={first} skeleton={rowsSkeleton}>
        {(_, shown) => {
          const { value, rough, task } = quick(shown);
          return <Rows app={app} first={value} rough={rough} asked={task.key} />;
        }}
      </Answered>
    </>
  );
}

function Rows({ app, first, rough, asked }: { app: App; first: Sheet; rough: boolean; asked: string }) {
  const place = app.place.value;
  const metrics = shownMetrics(place, filtersOf(place, app.brush.value));
  const sort = sortOf(place, metrics);
  const cursor = useMemo(() => new GridCursor(), []);
  const open = useSignal<ReadonlySet<number>>(new Set());
  const nodes = useSignal<ReadonlyMap<number, number>>(new Map()); // how many are asked for, of rows that got more
  const { show: showMenu, menu } = useMenu();
  const { say, notice } = useNotice();

  // Further pages of the same question.
  const pages = useExtras<Sheet>(app, "table-more");
  const relatives = useExtras<Relatives>(app, "table-open");
  const selection = JSON.stringify({ ...place, picked: [], sort: "", reverse: false, self: false, page: "" });
  useEffect(() => {
    if (!rough) pages.clear();
  }, [asked, rough]);

  const last = useRef<Arranged | undefined>(undefined);
  const joined = useMemo(() => {
    let sheet = table.withMetrics(first, metrics, last.current?.sheet.metrics ?? []);
    if (rough) return sheet;
    for (;;) {
      const next = pages.answers.value.get(pageTask(app, sheet.groups.length).key);
      if (typeof next !== "object" || !("value" in next)) return sheet;
      sheet = table.joined(sheet, next.value);
    }
  }, [first, rough, pages.answers.value]);
  useEffect(() => {
    if (rough || joined.more > 0) return;
    const { parameters } = questionOf(app.selection());
    const { sort: by, self, reverse } = parameters;
    const order: Order = { ...(by !== undefined && { sort: by }), ...(self && { self }), ...(reverse && { reverse }) };
    complete.value = { rows: rowsKey(place, parameters), order };
  }, [joined, rough]);
  useEffect(() => () => void (complete.value = undefined), []);
  const more = () => pages.ask(pageTask(app, joined.groups.length));

  const arranged = useMemo((): Arranged => {
    const before = last.current;
    const names = ({ metrics }: Sheet) => metrics.map(({ name }) => name).join();
    // A drag begins with other metrics where it begins a range.
    if (rough && before && names(before.sheet) === names(joined)) {
      const sheet = table.inPlace(before.sheet, joined);
      const columns = table.columnsOf(sheet, before.columns, true);
      const fresh = sheet.groups.length - before.sheet.groups.length;
      const order = new Uint32Array(before.order.length + fresh);
      order.set(before.order);
      for (let i = before.order.length, row = before.sheet.groups.length; i < order.length; ) order[i++] = row++;
      return { sheet, columns, order, folded: before.folded };
    }
    // What was estimated keeps its units when it is counted.
    const estimated = before?.sheet.estimate && !joined.estimate ? before.columns.filter(isKnown) : undefined;
    const columns = table.columnsOf(joined, estimated ?? before?.columns, estimated !== undefined);
    const all = table.sorted(joined.groups, sort, columns);
    const order = place.unfolded || (place.self && !folds(place)) ? all : table.withoutLibraries(joined.groups, all);
    return (last.current = { sheet: joined, columns, order, folded: all.length - order.length });
  }, [joined, rough, sort.key, sort.reverse, place.unfolded, place.self]);
  const { sheet, columns, order } = arranged;
  useEffect(() => {
    if (rough || sheet.groups.length < 5000) return;
    const id = setTimeout(() => table.byName(sheet.groups), 300);
    return () => clearTimeout(id);
  }, [sheet.groups, rough]);

  // What opened rows showed last: its rows stay, without numbers, until those of another selection are there.
  const keptRelatives = useRef(new Map<number, { value: Relatives }>());
  useEffect(() => keptRelatives.current.clear(), [sheet.by, metrics.join()]);
  const taskOfRow = (group: Group) => rowTask(app, group, metrics, nodes.value.get(group.key) ?? firstNodes);
  const changeOpen = (keys: readonly number[], wanted: boolean) => {
    const next = new Set(open.value);
    for (const key of keys) {
      if (wanted) next.add(key);
      else next.delete(key);
    }
    open.value = next;
  };

  // What the opened rows show. While the reader drags, it keeps its rows, without numbers.
  const lines = useMemo(() => {
    const blocks: Block<GridRow>[] = [];
    if (open.value.size === 0) return new Lines(order, blocks);
    order.forEach((row, after) => {
      const group = sheet.groups[row];
      if (!group || !open.value.has(group.key)) return;
      blocks.push({ after, subs: subsOf(group) });
    });
    return new Lines(order, blocks);
  }, [arranged, open.value, nodes.value, relatives.answers.value, place.unfolded, rough]);

  function subsOf(group: Group): Sub<GridRow>[] {
    if (group.by === "stack") {
      const rows = frameRows(group, group.key, 2, !place.unfolded);
      return rows.map((row): Sub<GridRow> => ({ kind: "frame", key: row.key, level: 2, row }));
    }
    const words = (text: string): Sub<GridRow>[] => [{ kind: "words", key: hash("words", group.key), level: 2, text }];
    const task = taskOfRow(group);
    if (!task) return words(noRelatives(group));
    const answer = relatives.answers.value.get(task.key) ?? keptRelatives.current.get(group.key);
    if (answer === undefined) return words("asking …");
    if (answer === "cancelled") return words("Cancelled.");
    if ("fault" in answer) return words([answer.fault.message, answer.fault.todo].filter(Boolean).join(" · "));
    const { callers, callees } = answer.value;
    const old = rough || !relatives.answers.value.has(task.key);
    keptRelatives.current.set(group.key, answer);
    const parts: [string, TreeNode][] = [[callers ? "callees" : "call tree", callees]];
    if (callers) parts.unshift(["callers", callers]);
    return parts.flatMap(([text, root]) => {
      const shown = old ? treeInPlace(root, { ...root, children: [], total: root.total.map(() => NaN) }) : root;
      const outline = new Outline(shown, { open: open.value, parts: new Map(), fold: !place.unfolded });
      const below = outline.lines(3, 2);
      const isOpen = below.length === 0 ? undefined : open.value.has(shown.key);
      const { key, total, self } = shown;
      const base = { node: shown, level: 2, indent: 1, kind: "node" as const, total, self, via: 0, within: 0, rest: 0 };
      const heading: Sub<GridRow> = { kind: "heading", key, level: 2, text, line: { ...base, key, open: isOpen } };
      const subs = below.map((line): Sub<GridRow> => ({ kind: "node", key: line.key, level: line.level, line }));
      return isOpen ? [heading, ...subs] : [heading];
    });
  }

  // Opened rows ask for what they show, again if the selection has changed.
  const askedFor = useRef(selection);
  useEffect(() => {
    if (rough) return;
    if (askedFor.current !== selection) relatives.clear();
    askedFor.current = selection;
    if (open.value.size === 0) return;
    for (const group of sheet.groups) {
      const task = open.value.has(group.key) ? taskOfRow(group) : undefined;
      if (task) relatives.ask(task);
    }
  }, [sheet, selection, open.value, nodes.value, rough]);

  /** A number of a row; undefined: the row has none. */
  function valueAt(i: number, { metric, side, values }: Column): number | undefined {
    const line = lines.at(i);
    if (typeof line === "number") return values[line] ?? NaN;
    if ((line.kind !== "node" && line.kind !== "heading") || line.line.kind === "rest") return undefined;
    const { total, self } = line.line;
    return (side === "total" ? total : self)[metrics.indexOf(metric)] ?? NaN;
  }

  const current = useRef({ key: 0, row: -1 }); // which row of the sheet the cursor was on
  const keyNow = cursor.key.value;
  const data = useMemo((): GridData => {
    const rows = new Map<number, GridRow>();
    const alone = table.onlySelf(sheet.by);
    return {
      label: `${sheet.by} by ${sort.key.replace(".", ", ")}`,
      nameTitle: sheet.by,
      nameSorts: true,
      columns: columns.map((column) => gridColumn(column, alone, true, sheet.estimate !== undefined)),
      rows: lines.length,
      more: sheet.more,
      row: (i) => {
        const known = rows.get(i);
        if (known) return known;
        const line = lines.at(i);
        const group = typeof line === "number" ? sheet.groups[line] : undefined;
        const made = group ? groupRow(group, open.value) : subRow(line as Sub<GridRow>);
        rows.set(i, made);
        return made;
      },
      cell: (i, c) => {
        const column = columns[c];
        const v = column && valueAt(i, column);
        if (!column || v === undefined) return { text: "", exact: "", bar: 0 };
        const bar = column.full > 0 && v > 0 ? v / column.full : 0;
        const exact = column.scale.exact(v);
        const at = lines.at(i);
        if (!sheet.estimate || typeof at !== "number") return { text: column.scale.text(v), exact, bar, value: v };
        const margin = sheet[column.side][`${column.metric}_margin`]?.[at] ?? NaN;
        const words = Number.isNaN(v) || v === 0 ? exact : intervalText(v, margin, column.scale.exact);
        return { ...estimateOf(column.scale.text(v), v, margin), exact: words, bar, value: v };
      },
      find: (key) => {
        const sub = lines.ofSub(key);
        if (sub >= 0) return sub;
        const { groups } = sheet;
        let { row } = current.current;
        if (current.current.key !== key || groups[row]?.key !== key) {
          // Another answer: only its first rows are looked through, because keys of many call stacks take time.
          row = groups.slice(0, firstRows).findIndex((group) => group.key === key);
          current.current = { key, row };
        }
        return row < 0 ? -1 : lines.ofRow(row);
      },
      sorted: sort.key,
      reverse: sort.reverse,
    };
  }, [arranged, lines, sort.key, sort.reverse]);

  useEffect(() => {
    const line = keyNow === undefined ? undefined : lines.at(cursor.index(data));
    if (keyNow !== undefined && typeof line === "number" && line >= 0) current.current = { key: keyNow, row: line };
  }, [keyNow, data]);

  const subjectOf = (i: number): Subject | undefined => {
    const line = lines.at(i);
    if (typeof line === "number") {
      const group = sheet.groups[line];
      return group && { group };
    }
    const group = line.kind === "node" && line.line.kind === "node" ? line.line.node.group : undefined;
    return group && { group };
  };
  const toggle = (i: number, wanted: boolean) => {
    const line = lines.at(i);
    const key = data.row(i).key;
    if (typeof line !== "number") {
      changeOpen([key], wanted);
      return;
    }
    const group = sheet.groups[line];
    if (!group) return;
    const headings = ["callers", "callees", "tree"].map((what) => hash(what, group.key));
    changeOpen(wanted ? [key, ...headings] : [key], wanted);
  };
  const enter = (i: number) => {
    const line = lines.at(i);
    if (typeof line !== "number" && line.kind === "node" && line.line.kind === "rest") return askMore(i);
    if (typeof line !== "number" && line.kind === "frame" && line.row.tone === "words") {
      return app.change({ unfolded: true }, "replace");
    }
    const row = data.row(i);
    if (row.open !== undefined) toggle(i, !row.open);
  };
  /** More of the callers and callees that a row shows. */
  const askMore = (i: number) => {
    let at = i;
    while (at > 0 && typeof lines.at(at) !== "number") at--;
    const line = lines.at(at);
    const group = typeof line === "number" ? sheet.groups[line] : undefined;
    if (!group) return;
    const now = nodes.value.get(group.key) ?? firstNodes;
    nodes.value = new Map(nodes.value).set(group.key, Math.min(mostNodes, now * 10));
  };
  const copy = (i: number) => copyRow(data, i);
  const saveCsv = () => saveRows(sheet.by, data, say);
  const find = useRef<HTMLInputElement>(null);
  useActions(app, {
    "find.here": () => find.current?.focus(),
    "rows.csv": saveCsv,
    "rows.copy": () => copy(cursor.index(data)),
  });
  const events = {
    pick: (i: number) => {
      const subject = subjectOf(i);
      if (subject) pick(app, subject);
    },
    hover: (i: number | undefined) => hover(app, i === undefined ? undefined : subjectOf(i)?.group),
    enter,
    open: toggle,
    menu: (i: number, at: { x: number; y: number }) => {
      const subject = subjectOf(i);
      if (!subject) return;
      const markdown = { title: "Copy as Markdown", keys: "Ctrl+C", run: () => copy(i) };
      const name = { title: "Copy the name", run: () => void copyText(subject.group.text, "name") };
      showMenu(subject.group.name, at, menuEntries(app, subject, [markdown, name]));
    },
    copy,
    sort: (key: string) => {
      const [metric = "", side] = key.split(".");
      const self = side === "self";
      const reverse = sort.key === key && !sort.reverse;
      app.change({ sort: metric, self, reverse }, "replace");
    },
    move: (group: string, to: string) => {
      const [from, at] = [metrics.findIndex((m) => m === group), metrics.findIndex((m) => m === to)];
      // The first metric is the one that is counted first on all pages: rows stay sorted as they are.
      const change = place.sort === undefined ? { sort: metrics[0] } : {};
      if (from >= 0 && at >= 0) app.change({ ...change, metric: table.moved(metrics, from, at) }, "replace");
    },
    end: more,
  };
  const all = order.length + sheet.more;
  return (
    <RowsPage
      notice={notice}
      missing={sheet.missing}
      tools={
        <>
          <By app={app} />
          <Match app={app} input={find} />
          <Columns app={app} chosen={metrics} />
          <button type="button" onClick={saveCsv} title={`the ${plural(order.length, "row")} that are here`}>
            Save as CSV
          </button>
          <span class="quiet count">
            {plural(all, "row")}
            {(folds(place) || arranged.folded > 0) && (
              <>
                {" · "}
                <button
                  type="button"
                  class="plain"
                  title="What they allocate counts for the code that calls them. Click to show them."
                  onClick={() => app.change({ unfolded: true }, "replace")}
                >
                  library functions folded
                </button>
              </>
            )}
            {place.unfolded && table.isCode(byOf(place)) && (
              <>
                {" · "}
                <button type="button" class="plain" onClick={() => app.change({ unfolded: false }, "replace")}>
                  fold library functions
                </button>
              </>
            )}
          </span>
        </>
      }
    >
      {all === 0 ? <Nothing app={app} /> : <Grid data={data} events={events} cursor={cursor} />}
      <MenuHere menu={menu} />
    </RowsPage>
  );
}

/** What the rows are. */
function By({ app }: { app: App }) {
  return (
    <label class="choose">
      by{" "}
      <select
        value={byOf(app.place.value)}
        onChange={(event) => app.change({ by: event.currentTarget.value, picked: [] })}
      >
        {groupings.map((by) => (
          <option key={by}>{by}</option>
        ))}
      </select>
    </label>
  );
}

/** The rows whose names contain a text. It waits until the reader has stopped typing. */
function Match({ app, input }: { app: App; input: { current: HTMLInputElement | null } }) {
  const timer = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  const { match } = app.place.value;
  return (
    <input
      ref={input}
      type="search"
      class="match"
      placeholder="only names with …"
      aria-label="only rows whose names contain this text, or match this /pattern/"
      defaultValue={match ?? ""}
      onInput={(event) => {
        const text = event.currentTarget.value;
        clearTimeout(timer.current);
        timer.current = window.setTimeout(() => app.change({ match: text === "" ? undefined : text }, "replace"), 150);
      }}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || event.currentTarget.value === "") return;
        event.currentTarget.value = "";
        app.change({ match: undefined }, "replace");
      }}
    />
  );
}

function pageTask(app: App, skip: number) {
  const selected = app.selection();
  const question = questionOf(selected);
  return taskOf(selected.recording, { ...question, parameters: { ...question.parameters, skip, limit: pageRows } });
}

/** Asks for the callers and callees of a group, or for the tree of what it counts; undefined: there is no question. */
function rowTask(app: App, group: Group, metric: readonly MetricName[], nodes: number) {
  const { filters, recording, place } = app.selection();
  const only = onlyOf(group);
  const by = ["line", "address"].find((name) => name === group.by) ?? "function";
  const parameters: Parameters["tree"] = { ...filters, by: by as ByName, metric: [...metric], nodes, threshold: "0" };
  Object.assign(parameters, atOf(place, metric));
  if (folds(place)) parameters.fold = true;
  if (only?.focus) parameters.focus = [...(filters.focus ?? []), ...only.focus];
  else if (only) Object.assign(parameters, only);
  else if (group.by === by && group.pattern !== undefined) parameters.of = group.pattern;
  else return undefined;
  return taskOf(recording, { name: "tree", parameters, read: (answer) => relativesOf(group, answer) });
}

function noRelatives(group: Group): string {
  if (group.by === "allocator") return "It is known how it was called, but not from where: see the table by stack.";
  if (/^region/.test(group.by)) return "What was allocated outside of all regions.";
  return "Callers are found by name, and this has none: its module has no symbols, or they were stripped.";
}

function subRow(sub: Sub<GridRow>): GridRow {
  const { key, level } = sub;
  const base = { key, level, indent: level - 1, open: undefined, note: "", title: "" };
  switch (sub.kind) {
    case "words":
      return { ...base, name: sub.text, tone: "words" };
    case "heading":
      return { ...base, name: sub.text, tone: "words", open: sub.line.open };
    case "frame":
      return sub.row;
    case "node":
      return nodeRow(sub.line);
  }
}
