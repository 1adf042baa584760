// The call tree as rows, the nodes that count most first. What is not here is asked for as the reader opens it.
import { useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { Answers, ByName, MetricName, Parameters } from "../../api.ts";
import type { App, Selected } from "../../app.ts";
import { estimable, estimateOf, intervalText, isEstimated, type Estimate } from "../../model/estimate.ts";
import { percent } from "../../model/format.ts";
import type { Group } from "../../model/group.ts";
import { atOf, metricOf } from "../../model/metrics.ts";
import { namesOf, Outline, pathOf, treeInPlace, treeOf, type Line, type TreeNode } from "../../model/outline.ts";
import type { Place } from "../../model/place.ts";
import type { Subject } from "../../model/row-actions.ts";
import * as table from "../../model/table.ts";
import type { Column, Metric } from "../../model/table.ts";
import { editedTree } from "../../model/tree-edits.ts";
import { taskOf, type Question } from "../../net/ask.ts";
import { copyText } from "../copy.ts";
import { Answered, useActions } from "../part.tsx";
import { Grid, GridCursor, type GridColumn, type GridData, type GridRow } from "../table.tsx";
import {
  Columns,
  copyRow,
  gridColumn,
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

const groupings: readonly ByName[] = ["function", "line", "address", "file", "module", "region", "region-name"];
/** How many nodes are asked for at a time: those that count most. */
const nodesAtOnce = 2000;

/** How many levels of the hottest path are open at first. */
const firstLevels = 12;

function byOf(place: Place): ByName {
  return groupings.find((by) => by === place.by) ?? "function";
}

interface Answer {
  by: string;
  /** By which the nodes have their numbers: a rough answer may lack some. */
  names: readonly MetricName[];
  metrics: Metric[];
  root: TreeNode;
  missing: string | undefined;
  estimate?: Estimate | undefined;
}

function questionOf({ place, filters, rough }: Selected, quick: Quick = ""): Question<"tree", Answer> {
  const all = shownMetrics(place, filters);
  const few = quick === "estimate" ? estimable(all) : table.quickOf(all);
  const metric = rough || quick !== "" ? few : all;
  const parameters: Parameters["tree"] = { ...filters, by: byOf(place), metric, nodes: nodesAtOnce, threshold: "0" };
  Object.assign(parameters, atOf(place, metric));
  if (place.up) parameters.up = true;
  if (place.below.length > 0) parameters.below = [...place.below];
  if (rough || quick === "estimate") parameters.rough = "pixel";
  return { name: "tree", parameters, read: (answer) => answerOf(answer, all) };
}

function answerOf(answer: Answers["tree"], names: readonly MetricName[]): Answer {
  const { by, missing, estimate } = answer;
  const root = treeOf(nodesOf(answer), names);
  return { by, names, missing, estimate: estimate ?? undefined, metrics: table.metricsOf(answer.metrics), root };
}

function nodesOf(answer: Answers["tree"]) {
  if (!("nodes" in answer)) throw new TypeError("the answer is not a tree");
  return answer.nodes;
}

export function Tree({ app }: { app: App }) {
  const { part, quick, first } = useQuickPart(app, "tree", questionOf, ({ place, filters }) => {
    const { events } = app.about.shown.value?.value ?? {};
    return isEstimated(place, byOf(place), events) && estimable(shownMetrics(place, filters)).length > 0;
  });
  return (
    <Answered part={part} first={first} skeleton={rowsSkeleton}>
      {(_, shown) => {
        const { value, rough } = quick(shown);
        return <Rows app={app} answer={value} rough={rough} />;
      }}
    </Answered>
  );
}

/** What is shown, and what of it stays in the next drag. */
interface Arranged {
  root: TreeNode;
  columns: Column[];
  metrics: Metric[];
  names: readonly MetricName[];
}

function Rows({ app, answer, rough }: { app: App; answer: Answer; rough: boolean }) {
  const place = app.place.value;
  const metrics = answer.names;
  const cursor = useMemo(() => new GridCursor(), []);
  const open = useSignal<ReadonlySet<number>>(new Set());
  const asked = useSignal<ReadonlyMap<number, string>>(new Map()); // nodes whose rest was asked for, with their tasks
  const extras = useExtras<TreeNode>(app, "tree-more");
  const { show: showMenu, menu } = useMenu();
  const { say, notice } = useNotice();

  // Parts that were asked for belong to the answer before: they are asked for again.
  useEffect(() => {
    if (rough) return;
    const before = asked.peek();
    extras.clear();
    asked.value = new Map();
    const todo = before.size > 0 ? [answer.root] : [];
    for (let node = todo.pop(); node; node = todo.pop()) {
      if (before.has(node.key)) askBelowOne(node);
      todo.push(...node.children);
    }
  }, [answer, rough]);

  const last = useRef<Arranged | undefined>(undefined);
  const { root: whole, columns } = useMemo((): Arranged => {
    const before = last.current;
    // A drag begins with other metrics where it begins a range.
    const same = before?.names.join() === metrics.join();
    if (rough && before && same) return { ...before, root: treeInPlace(before.root, answer.root) };
    const values = (of: readonly number[]) =>
      Object.fromEntries(metrics.map((name, i) => [name, Float64Array.of(of[i] ?? NaN)]));
    const [total, self] = [values(answer.root.total), values(answer.root.total.map(() => 0))];
    const given = { by: answer.by, metrics: answer.metrics, groups: [], total, self, more: 0, whole: {} };
    const all = table.columnsOf(table.withMetrics(given, metrics, before?.metrics ?? []), before?.columns);
    // Names need the room: what a node allocates itself is shown of the first metric.
    const columns = all.filter(({ metric, side }) => side === "total" || metric === metrics[0]);
    return (last.current = { root: answer.root, columns, metrics: answer.metrics, names: metrics });
  }, [answer, rough]);

  const parts = useMemo(() => {
    const found = new Map<number, TreeNode>();
    for (const [node, task] of asked.value) {
      const extra = extras.answers.value.get(task);
      if (typeof extra === "object" && "value" in extra) found.set(node, extra.value);
    }
    return found;
  }, [asked.value, extras.answers.value]);
  const adds = metrics.map((name) => metricOf(name)?.adds ?? false);
  const edited = useMemo(() => {
    const { collapse, below } = place;
    if (collapse.length === 0) return undefined;
    return editedTree(whole, { parts, collapse, below, adds });
  }, [whole, parts, place.collapse.join("\0"), place.below.join("\0")]);
  const root = edited?.root ?? whole;
  /** The nodes of the answer that a node stands for, the largest first. */
  const sourcesOf = (node: TreeNode) => edited?.sources.get(node) ?? [node];
  const outline = useMemo(
    () => new Outline(root, { open: open.value, parts: edited ? noParts : parts, fold: !place.unfolded, adds }),
    [root, open.value, parts, place.unfolded],
  );
  // At first, the tree is open as far as there is only one way, and along the hottest path: by the first metric, which
  // a quick answer may lack, until the reader opens or closes something.
  const atFirst = useRef<{ open: ReadonlySet<number>; known: boolean } | undefined>(undefined);
  useEffect(() => {
    const known = !Number.isNaN(root.total[0] ?? NaN);
    const [now, before] = [open.value, atFirst.current];
    if (now.size > 0 && !(now === before?.open && known && !before.known)) return;
    open.value = new Set([...outline.opened(root), ...outline.hottest(root).open.slice(0, firstLevels)]);
    atFirst.current = { open: open.value, known };
  }, [outline]);
  const lines = useMemo((): Line[] => {
    const { total } = root;
    const first = { node: root, key: root.key, level: 1, indent: 0, open: undefined, total };
    const { self } = outline.below(root);
    return [{ ...first, kind: "node", self, via: 0, within: 0, rest: 0 }, ...outline.lines(2, 1)];
  }, [outline]);

  const changeOpen = (keys: readonly number[], wanted: boolean) => {
    const next = new Set(open.value);
    for (const key of keys) {
      if (wanted) next.add(key);
      else next.delete(key);
    }
    open.value = next;
  };
  /** Asks for what is below a node, or below those that it stands for. */
  const askBelow = (shown: TreeNode) => {
    const sources = sourcesOf(shown);
    for (const node of sources) if (sources.length === 1 || node.folded > 0) askBelowOne(node);
  };
  const askBelowOne = (node: TreeNode) => {
    const selected = app.selection();
    const question = questionOf(selected);
    const below = [...place.below, ...pathOf(node)];
    const task = taskOf(selected.recording, {
      name: "tree",
      parameters: { ...question.parameters, below, nodes: 10 * nodesAtOnce },
      read: (given) => treeOf(nodesOf(given), metrics, node),
    });
    asked.value = new Map(asked.value).set(node.key, task.key);
    extras.ask(task);
  };

  const share = ({ total }: Line) => (Number.isNaN(total[0]) ? "" : percent(total[0] ?? NaN, root.total[0] ?? 0));
  const shown = useMemo(() => {
    const alone = answer.metrics.length === 0;
    const list: { column: Column | undefined; grid: GridColumn }[] = columns.map((column) => ({
      column,
      grid: gridColumn(column, alone, column.side === "total", answer.estimate !== undefined),
    }));
    const hint = "the share of all that is counted";
    const shares: GridColumn = {
      key: "share", group: columns[0]?.metric ?? "", title: "share", hint, chars: 6, sorts: false,
    };
    list.splice(1, 0, { column: undefined, grid: shares });
    return list;
  }, [columns]);
  const valueOf = (line: Line, { metric, side }: Column) => {
    return (side === "total" ? line.total : line.self)[metrics.indexOf(metric)] ?? NaN;
  };
  const data = useMemo((): GridData => {
    const rows = new Map<number, GridRow>();
    return {
      label: `call tree by ${answer.by}, ${place.up ? "bottom-up" : "top-down"}`,
      nameTitle: place.up ? `${answer.by}, and below it its callers` : `${answer.by}, and below it what it calls`,
      nameSorts: false,
      columns: shown.map(({ grid }) => grid),
      rows: lines.length,
      more: 0,
      row: (i) => {
        const known = rows.get(i);
        if (known) return known;
        const line = lines[i];
        const made = line ? rowOf(line, i === 0 ? allOf(place) : undefined) : blank;
        rows.set(i, made);
        return made;
      },
      cell: (i, c) => {
        const line = lines[i];
        const column = shown[c]?.column;
        const nothing = { text: "", exact: "", bar: 0 };
        if (!line) return nothing;
        if (!column) return { ...nothing, text: share(line) || (line.kind === "rest" ? "" : "–") };
        const value = valueOf(line, column);
        if (line.kind === "rest" && Number.isNaN(value)) return nothing;
        const bar = column.full > 0 && value > 0 ? value / column.full : 0;
        const { text, exact } = { text: column.scale.text(value), exact: column.scale.exact(value) };
        const { margins } = line.node;
        if (!margins || line.kind === "rest" || Number.isNaN(value) || value === 0) return { text, exact, bar, value };
        // A self has those of folded frames in it, whose margins do not add up.
        if (column.side === "self") return { text: `≈ ${text}`, exact, bar, value };
        const margin = margins.total[metrics.indexOf(column.metric)] ?? NaN;
        const words = intervalText(value, margin, column.scale.exact);
        return { ...estimateOf(text, value, margin), exact: words, bar, value };
      },
      find: (key) => lines.findIndex((line) => line.key === key),
      sorted: `${metrics[0] ?? ""}.total`,
      reverse: false,
    };
  }, [lines, shown, root]);

  const lineAt = (i: number) => lines[i];
  const subjectOfNode = (node: TreeNode, group: Group): Subject => {
    const [source = node] = sourcesOf(node);
    const [path, names] = [pathOf(source), namesOf(source)].map((list) => [...place.below, ...list]);
    return { group, path: path ?? [], names: names ?? [], up: place.up };
  };
  const subjectOf = (i: number): Subject | undefined => {
    const line = lineAt(i);
    if (!line?.node.group || line.kind === "rest") return undefined;
    return subjectOfNode(line.node, line.node.group);
  };
  const toggle = (i: number, wanted: boolean) => {
    const line = lineAt(i);
    if (!line) return;
    if (!wanted) return changeOpen([line.key], false);
    changeOpen(outline.opened(line.node), true);
    const below = outline.below(line.node);
    if (below.list.length === 0 && below.rest > 0) askBelow(line.node);
  };
  const hottest = (from?: TreeNode) => {
    const at = cursor.index(data);
    const start = from ?? lineAt(at)?.node ?? root;
    const { open: keys, end } = outline.hottest(start);
    changeOpen(keys, true);
    cursor.show(end.key);
    const i = lines.findIndex(({ key }) => key === end.key);
    if (end.group) pick(app, subjectOfNode(end, end.group));
    if (i < 0 && keys.length === 0 && start.folded > 0) askBelow(start);
  };
  const copy = (i: number) => copyRow(data, i);
  const saveCsv = () => saveRows("tree", data, say);
  useActions(app, {
    "tree.hottest": () => hottest(),
    "tree.up": () => app.change({ up: !place.up, below: [] }),
    "rows.csv": saveCsv,
    "rows.copy": () => copy(cursor.index(data)),
  });
  const events = {
    pick: (i: number) => {
      const subject = subjectOf(i);
      if (subject) pick(app, subject);
    },
    hover: (i: number | undefined) => hover(app, i === undefined ? undefined : subjectOf(i)?.group),
    enter: (i: number) => {
      const line = lineAt(i);
      if (line?.kind === "rest") return askBelow(line.node);
      if (line?.open !== undefined) toggle(i, !line.open);
    },
    open: toggle,
    menu: (i: number, at: { x: number; y: number }) => {
      const subject = subjectOf(i);
      const line = lineAt(i);
      if (!subject || !line) return;
      showMenu(subject.group.name, at, [
        { title: "Open the hottest path from here", keys: "H", run: () => hottest(line.node) },
        ...menuEntries(app, subject, [
          { title: "Copy as Markdown", keys: "Ctrl+C", run: () => copy(i) },
          { title: "Copy the call path", run: () => void copyText(pathOf(line.node).join("\n"), "path") },
        ]),
      ]);
    },
    copy,
    // What counts most comes first: another column to sort by is another first metric.
    sort: (key: string) => {
      const first = metrics.find((name) => key === `${name}.total`);
      if (first) app.change({ metric: [first, ...metrics.filter((name) => name !== first)] }, "replace");
    },
    move: (group: string, to: string) => {
      const [from, at] = [metrics.findIndex((m) => m === group), metrics.findIndex((m) => m === to)];
      if (from >= 0 && at >= 0) app.change({ metric: table.moved(metrics, from, at) }, "replace");
    },
  };
  const empty = root.children.length === 0 && root.folded === 0;
  return (
    <RowsPage
      notice={notice}
      missing={answer.missing}
      tools={
        <>
          <div class="choice-of" role="group" aria-label="direction">
            <button type="button" aria-pressed={!place.up} onClick={() => app.change({ up: false, below: [] })}>
              top-down
            </button>
            <button type="button" aria-pressed={place.up} onClick={() => app.change({ up: true, below: [] })}>
              bottom-up
            </button>
          </div>
          <label class="choose">
            by{" "}
            <select value={answer.by} onChange={(event) => app.change({ by: event.currentTarget.value, below: [] })}>
              {groupings.map((by) => (
                <option key={by}>{by}</option>
              ))}
            </select>
          </label>
          <button type="button" onClick={() => hottest()} title="from the row that is chosen">
            Hottest path <kbd>H</kbd>
          </button>
          <button type="button" onClick={() => (open.value = new Set(outline.opened(root)))}>
            Close all
          </button>
          <Columns app={app} chosen={metrics} />
          <button type="button" onClick={saveCsv} title="the rows that are open">
            Save as CSV
          </button>
        </>
      }
    >
      {empty ? <Nothing app={app} /> : <Grid data={data} events={events} cursor={cursor} />}
      <MenuHere menu={menu} />
    </RowsPage>
  );
}

const noParts: ReadonlyMap<number, TreeNode> = new Map();

const blank: GridRow = { key: 0, level: 1, indent: 0, open: undefined, name: "", note: "", title: "", tone: "words" };

function allOf(place: Place): string {
  return place.below.length > 0 ? `all below ${place.below.at(-1) ?? ""}` : "all";
}

function rowOf(line: Line, all: string | undefined): GridRow {
  const row = nodeRow(line);
  return all === undefined ? row : { ...row, name: all, tone: "words" };
}
