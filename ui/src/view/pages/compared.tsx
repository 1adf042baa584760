// What has changed, on any page: a table of groups, or a call tree, with both sides.
import { untracked, useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { Answers, ByName, MetricName } from "../../api.ts";
import type { App, Selected } from "../../app.ts";
import {
  columnsOf,
  nodesOf,
  ordered,
  percentText,
  signedText,
  treeNumbers,
  type ChangeColumn,
  type Changes,
} from "../../model/changes.ts";
import { comparisonOf, diffCommand, metricsFor, shownOf, sidesOf, type DiffParameters } from "../../model/compare.ts";
import { plural } from "../../model/format.ts";
import type { Values } from "../../model/commands.ts";
import { labelAt, metricOf } from "../../model/metrics.ts";
import { location } from "../../model/names.ts";
import { namesOf, Outline, pathOf, treeOf, type Line, type TreeNode } from "../../model/outline.ts";
import type { Place } from "../../model/place.ts";
import type { Subject } from "../../model/row-actions.ts";
import { isCode, scaleOf, withoutLibraries, type Scale } from "../../model/table.ts";
import { taskOf, type Question } from "../../net/ask.ts";
import { readChanges } from "../../net/compare.ts";
import { copyText } from "../copy.ts";
import { goOf } from "../go-of.ts";
import { GoLink } from "../go.tsx";
import { Name } from "../name.tsx";
import { Answered, useActions } from "../part.tsx";
import { EmptyBox } from "../states.tsx";
import { Grid, GridCursor, type GridColumn, type GridData, type GridRow } from "../table.tsx";
import {
  Columns,
  copyRow,
  groupRow,
  hover,
  menuEntries,
  MenuHere,
  nodeRow,
  pick,
  rowsSkeleton,
  RowsPage,
  saveRows,
  shownMetrics,
  useMenu,
  useNotice,
} from "./rows.tsx";

const groupings: readonly ByName[] = [
  ...(["function", "line", "address", "file", "module", "stack"] as const),
  ...(["thread", "size", "allocator", "region", "region-name"] as const),
];

const figures: readonly MetricName[] = ["peak", "bytes", "allocations", "leaked", "temporary"];

function byOf(place: Place): ByName {
  return shownOf(place).by ?? groupings.find((by) => by === place.by) ?? "function";
}

function metricsOf({ place, filters }: Selected): MetricName[] {
  const compared = comparisonOf(place, filters);
  const own = shownOf(place).metrics;
  const first = place.page === "overview" && place.metric.length === 0 ? figures : undefined;
  const wanted = own ?? first ?? shownMetrics(place, filters);
  return compared ? metricsFor(compared, wanted) : [...wanted];
}

function parametersOf(selected: Selected): DiffParameters | undefined {
  const { place, filters } = selected;
  const compared = comparisonOf(place, filters);
  if (!compared) return undefined;
  const by = byOf(place);
  const sides = sidesOf(place, compared, filters);
  if (shownOf(place).kind === "tree") {
    const tree = { tree: true, by, metric: metricsOf(selected).slice(0, 1), nodes: 20_000, threshold: "0" };
    return {
      ...sides, ...tree, ...(place.up && { up: true }), ...(place.below.length > 0 && { below: [...place.below] }),
    };
  }
  const folds = !place.unfolded && isCode(by);
  return { ...sides, by, metric: metricsOf(selected), limit: 10_000, ...(folds && { fold: true }) };
}

/** The question of a page, which the bottom line shows as a command. */
function useDiff<T>(app: App, read: (answer: Answers["diff"]) => T) {
  const part = useMemo(() => app.follower<T>("diff", false), [app]);
  useEffect(() => {
    const stop = app.put(part, (selected) => {
      const parameters = parametersOf(selected);
      const compared = comparisonOf(selected.place, selected.filters);
      if (!parameters || !compared) return undefined;
      const values = parameters as Values;
      untracked(() => {
        app.asked.value = {
          question: "diff", values, part,
          // Files have names once the recordings are known, which may be after the question is asked.
          command: (run, recording) => {
            return diffCommand(app.runs.shown.value?.value ?? [], run, recording, compared, parameters);
          },
        };
      });
      const question: Question<"diff", T> = { name: "diff", parameters, read };
      return taskOf(selected.recording, question);
    });
    return () => {
      stop();
      if (app.asked.peek()?.part === part) app.asked.value = undefined;
      part.clear();
    };
  }, [part]);
  return part;
}

export function Compared({ app }: { app: App }) {
  return shownOf(app.place.value).kind === "tree" ? <TreeOfChanges app={app} /> : <TableOfChanges app={app} />;
}

function TableOfChanges({ app }: { app: App }) {
  const part = useDiff(app, readChanges);
  return (
    <Answered part={part} skeleton={rowsSkeleton}>
      {(changes) => <Table app={app} changes={changes} />}
    </Answered>
  );
}

function Table({ app, changes }: { app: App; changes: Changes }) {
  const place = app.place.value;
  const shown = shownOf(place);
  const cursor = useMemo(() => new GridCursor(), []);
  const { show: showMenu, menu } = useMenu();
  const { say, notice } = useNotice();
  const columns = useMemo(() => columnsOf(changes), [changes]);
  const first = columns.find(({ what }) => what === "change")?.key ?? "";
  const sort = columns.some(({ key }) => key === place.sort) || place.sort === "name" ? (place.sort ?? first) : first;
  const file = shown.source ? place.file : undefined;
  const match = place.match?.toLowerCase();
  const order = useMemo(() => {
    const sorted = Uint32Array.from(ordered(columns, changes.groups, sort, place.reverse));
    const all = place.unfolded || place.self ? sorted : withoutLibraries(changes.groups, sorted);
    return [...all].filter((row) => {
      const group = changes.groups[row];
      if (file !== undefined && group?.file !== file) return false;
      return match === undefined || (group?.name.toLowerCase().includes(match) ?? false);
    });
  }, [changes, sort, place.reverse, place.unfolded, place.self, file, match]);
  const data = useMemo((): GridData => {
    const rows = new Map<number, GridRow>();
    const closed: ReadonlySet<number> = new Set();
    return {
      label: `what has changed, by ${changes.by}`,
      nameTitle: changes.by,
      nameSorts: true,
      columns: columns.map((column) => headOf(column, order)),
      rows: order.length,
      more: changes.more,
      row: (i) => {
        const known = rows.get(i);
        if (known) return known;
        const group = changes.groups[order[i] ?? -1];
        const made = group ? { ...groupRow(group, closed), open: undefined } : blank;
        rows.set(i, made);
        return made;
      },
      cell: (i, c) => {
        const [row, column] = [order[i] ?? -1, columns[c]];
        if (!column) return { text: "", exact: "", bar: 0 };
        const number = column.what === "status" ? {} : { value: column.values[row] ?? NaN };
        return { text: column.text(row), exact: column.exact(row), bar: 0, ...number };
      },
      find: (key) => order.findIndex((row) => changes.groups[row]?.key === key),
      sorted: sort,
      reverse: place.reverse,
    };
  }, [columns, order, sort, place.reverse]);
  const subjectOf = (i: number): Subject | undefined => {
    const group = changes.groups[order[i] ?? -1];
    return group && { group };
  };
  const copy = (i: number) => copyRow(data, i);
  useActions(app, {
    "rows.csv": () => saveRows(`changes-${changes.by}`, data, say),
    "rows.copy": () => copy(cursor.index(data)),
  });
  const events = {
    pick: (i: number) => {
      const subject = subjectOf(i);
      if (subject) pick(app, subject);
    },
    hover: (i: number | undefined) => hover(app, i === undefined ? undefined : subjectOf(i)?.group),
    menu: (i: number, at: { x: number; y: number }) => {
      const subject = subjectOf(i);
      if (!subject) return;
      const markdown = { title: "Copy as Markdown", keys: "Ctrl+C", run: () => copy(i) };
      showMenu(subject.group.name, at, menuEntries(app, subject, [markdown]));
    },
    copy,
    sort: (key: string) => app.change({ sort: key, reverse: sort === key && !place.reverse }, "replace"),
  };
  const chooses = shown.by === undefined;
  return (
    <RowsPage
      notice={notice}
      missing={changes.missing}
      tools={
        <>
          {chooses && (
            <label class="choose">
              by{" "}
              <select
                value={changes.by}
                onChange={(event) => app.change({ by: event.currentTarget.value, picked: [] })}
              >
                {groupings.map((by) => (
                  <option key={by}>{by}</option>
                ))}
              </select>
            </label>
          )}
          {!shown.metrics && !shown.totals && <Columns app={app} chosen={changes.metrics.map(({ name }) => name)} />}
          <span class="count quiet">
            {plural(order.length + changes.more, "row")} changed
            {changes.unchanged > 0 && `, ${plural(changes.unchanged, "row")} unchanged`}
            {file !== undefined && ", in this file"}
            {Math.max(changes.runs.before, changes.runs.after) > 1 &&
              ` · medians of ${changes.runs.before} and ${changes.runs.after} runs`}
          </span>
        </>
      }
    >
      {shown.totals && <Totals app={app} changes={changes} />}
      {order.length === 0 ? (
        <EmptyBox why="Nothing has changed." />
      ) : shown.totals ? (
        <Largest app={app} changes={changes} columns={columns} order={order} />
      ) : (
        <Grid data={data} events={events} cursor={cursor} />
      )}
      <MenuHere menu={menu} />
    </RowsPage>
  );
}

/** What both sides have in all. */
function Totals({ app, changes }: { app: App; changes: Changes }) {
  return (
    <table class="totals" aria-label="Totals">
      <thead>
        <tr>
          <th scope="col">in all</th>
          <th scope="col" class="number">
            A
          </th>
          <th scope="col" class="number">
            B
          </th>
          <th scope="col" class="number">
            change
          </th>
          <th scope="col" class="number">
            %
          </th>
        </tr>
      </thead>
      <tbody>
        {changes.metrics.map(({ name, unit }) => {
          const [before, after] = [changes.total.before[name] ?? NaN, changes.total.after[name] ?? NaN];
          const scale = scaleOf(unit, Math.max(before, after, 0));
          const own = scaleOf(unit, Math.abs(after - before));
          const text = (value: number) => [scale.text(value), scale.unit].filter(Boolean).join(" ");
          return (
            <tr key={name}>
              <th scope="row">{labelAt(name, app.place.value, app.clock)}</th>
              <td class="number" title={scale.exact(before) + rangeOf(changes, name, "before", scale)}>
                {text(before)}
              </td>
              <td class="number" title={scale.exact(after) + rangeOf(changes, name, "after", scale)}>
                {text(after)}
              </td>
              <td class="number" title={scale.exact(after - before)}>
                {signedText(own, after - before)} {own.unit}
              </td>
              <td class="number">
                {percentText(before, after)}
                {overlaps(changes, name) && <span class="quiet"> varies</span>}
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

function ends(changes: Changes, name: string, side: "before" | "after"): [number, number] | undefined {
  const [least, most] = ["least", "most"].map((end) => changes.totalSpread[`${name}_${side}_${end}`]);
  return least === undefined || most === undefined ? undefined : [least, most];
}

function rangeOf(changes: Changes, name: string, side: "before" | "after", scale: Scale): string {
  const known = ends(changes, name, side);
  return known ? `, the median of ${changes.runs[side]}: ${scale.exact(known[0])} to ${scale.exact(known[1])}` : "";
}

/** Whether the runs of both sides overlap, so that a change may be chance. */
function overlaps(changes: Changes, name: string): boolean {
  const [a, b] = [ends(changes, name, "before"), ends(changes, name, "after")];
  const same = changes.total.before[name] === changes.total.after[name];
  return !same && a !== undefined && b !== undefined && a[0] <= b[1] && b[0] <= a[1];
}

/** How many rows the overview has. */
const mostLargest = 12;

const inSource = { page: "source", picked: [] } as const;

/** The largest changes, with their places in the source. */
function Largest(props: { app: App; changes: Changes; columns: readonly ChangeColumn[]; order: readonly number[] }) {
  const { app, changes, columns, order } = props;
  const shown = columns.slice(0, 5);
  return (
    <section>
      <h2>What has changed most</h2>
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">call stack</th>
              {shown.map((column) => (
                <th key={column.key} scope="col" class={cellClass(column)}>
                  {headOf(column, []).title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {order.slice(0, mostLargest).map((row) => {
              const group = changes.groups[row];
              if (!group) return null;
              const { headline } = group;
              const callers = group.stack.slice(group.stack.findIndex((frame) => frame === headline) + 1);
              const caller = callers.find(({ kind }) => kind === "own");
              return (
                <tr key={row}>
                  <td>
                    <button type="button" class="plain function" onClick={() => pick(app, { group })}>
                      <Name text={group.name} limit={72} />
                    </button>
                    <div class="quiet">
                      {[headline, caller].map(
                        (frame, i) =>
                          frame &&
                          frame.line > 0 && (
                            <span key={i} class="at">
                              {i > 0 && <> ← <Name text={frame.name} limit={40} /> </>}
                              <GoLink
                                go={goOf(app, { ...inSource, file: frame.file, line: String(frame.line) })}
                              >
                                <bdi>{location(frame.file, frame.line)}</bdi>
                              </GoLink>
                            </span>
                          ),
                      )}
                    </div>
                  </td>
                  {shown.map((column) => (
                    <td key={column.key} class={cellClass(column)} title={column.exact(row)}>
                      {column.text(row)}
                    </td>
                  ))}
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </section>
  );
}

/** In narrow windows, the change alone is shown. */
function cellClass({ what }: ChangeColumn): string {
  return what === "status" ? "wide" : what === "change" ? "number" : "number wide";
}

const blank: GridRow = { key: 0, level: 1, indent: 0, open: undefined, name: "", note: "", title: "", tone: "words" };

function headOf(column: ChangeColumn, order: readonly number[]): GridColumn {
  const { metric, what, scale, key } = column;
  const { short, label } = metricOf(metric) ?? { short: metric, label: metric };
  const words = { before: "A", after: "B", change: "change", percent: "%", status: "status" }[what];
  const title = [words, ["before", "after", "change"].includes(what) ? scale.unit : ""].filter(Boolean).join(" ");
  const hints = {
    before: `${label}: side A`, after: `${label}: side B`, change: `${label}: B less A`,
    percent: "the change as a share of A", status: "new, gone, grown, shrunk; varying: within the spread of the runs",
  };
  // The heading stands over the first of a metric's columns.
  const heads = what === "before" || what === "change";
  let chars = Math.max(title.length, heads ? Math.min(short.length, 13) : 0) + 1;
  for (const row of order.slice(0, 500)) chars = Math.max(chars, column.text(row).length);
  return { key, group: what === "status" ? "status" : metric, heading: what === "status" ? "\u00a0" : short, title,
    hint: hints[what], chars, sorts: true };
}

/** A call tree of what has changed. */
function TreeOfChanges({ app }: { app: App }) {
  const part = useDiff(app, (answer) => {
    if (!("nodes" in answer)) throw new TypeError("the answer is not a tree");
    const metric = answer.metrics.name.at(0);
    return {
      metric, unit: answer.metrics.unit.at(0), by: answer.by,
      missing: answer.after.missing || answer.before.missing || "",
      root: treeOf(nodesOf(answer.nodes, metric), treeNumbers),
    };
  });
  return (
    <Answered part={part} skeleton={rowsSkeleton}>
      {(tree) => <Tree app={app} {...tree} />}
    </Answered>
  );
}

interface TreeProps {
  app: App;
  root: TreeNode;
  metric: string;
  unit: string;
  by: string;
  missing: string;
}

function Tree({ app, root, metric, unit, by, missing }: TreeProps) {
  const place = app.place.value;
  const cursor = useMemo(() => new GridCursor(), []);
  const open = useSignal<ReadonlySet<number>>(new Set());
  const { show: showMenu, menu } = useMenu();
  const { say, notice } = useNotice();
  const outline = useMemo(
    () => new Outline(root, { open: open.value, parts: noParts, fold: !place.unfolded }),
    [root, open.value, place.unfolded],
  );
  const begun = useRef<TreeNode | undefined>(undefined);
  useEffect(() => {
    if (begun.current === root) return;
    begun.current = root;
    open.value = new Set([...open.value, ...outline.opened(root), ...outline.hottest(root).open.slice(0, 12)]);
  }, [outline]);
  const lines = useMemo((): Line[] => {
    const first = { node: root, key: root.key, level: 1, indent: 0, open: undefined, total: root.total };
    return [
      { ...first, kind: "node", self: outline.below(root).self, via: 0, within: 0, rest: 0 },
      ...outline.lines(2, 1),
    ];
  }, [outline]);
  const scale = useMemo(() => scaleOf(unit, Math.max(root.total[0] ?? 0, root.total[1] ?? 0)), [root, unit]);
  const data = useMemo((): GridData => {
    const { short, label } = metricOf(metric) ?? { short: metric, label: metric };
    const heads = [`A ${scale.unit}`, `B ${scale.unit}`, `change ${scale.unit}`, "%", "itself"];
    const keys = ["before", "after", "change", "percent", "self"];
    const texts = (line: Line): string[] => {
      const [before = NaN, after = NaN, change = NaN] = line.total;
      if (line.kind === "rest") return ["", "", "", "", ""];
      return [
        scale.text(before), scale.text(after), signedText(scale, change), percentText(before, after),
        signedText(scale, line.self[2] ?? NaN),
      ];
    };
    return {
      label: `call tree of what has changed, by ${by}`,
      nameTitle: place.up ? `${by}, and below it its callers` : `${by}, and below it what it calls`,
      nameSorts: false,
      columns: heads.map((head, i) => ({
        key: keys[i] ?? "", group: i === 4 ? "self" : metric, heading: i === 4 ? "change" : short, title: head.trim(),
        hint: label, chars: Math.max(9, head.length + 1), sorts: false,
      })),
      rows: lines.length,
      more: 0,
      row: (i) => {
        const line = lines[i];
        if (!line) return blank;
        return i === 0 ? { ...nodeRow(line), name: "everything", tone: "words" } : nodeRow(line);
      },
      cell: (i, c) => {
        const line = lines[i];
        const exact = line && line.kind === "node" ? scale.exact(line.total[c] ?? NaN) : "";
        return { text: line ? (texts(line)[c] ?? "") : "", exact: c < 3 ? exact : "", bar: 0 };
      },
      find: (key) => lines.findIndex((line) => line.key === key),
      sorted: "",
      reverse: false,
    };
  }, [lines, scale]);
  const subjectOf = (i: number): Subject | undefined => {
    const line = lines[i];
    if (!line?.node.group || line.kind === "rest") return undefined;
    const [path, names] = [pathOf(line.node), namesOf(line.node)].map((list) => [...place.below, ...list]);
    return { group: line.node.group, path: path ?? [], names: names ?? [], up: place.up };
  };
  const toggle = (i: number, wanted: boolean) => {
    const line = lines[i];
    if (!line) return;
    const next = new Set(open.value);
    if (wanted) for (const key of outline.opened(line.node)) next.add(key);
    else next.delete(line.key);
    open.value = next;
  };
  useActions(app, {
    "tree.up": () => app.change({ up: !place.up, below: [] }),
    "rows.csv": () => saveRows("tree-of-changes", data, say),
    "rows.copy": () => copyRow(data, cursor.index(data)),
  });
  const events = {
    pick: (i: number) => {
      const subject = subjectOf(i);
      if (subject) pick(app, subject);
    },
    hover: (i: number | undefined) => hover(app, i === undefined ? undefined : subjectOf(i)?.group),
    enter: (i: number) => {
      const line = lines[i];
      if (line?.open !== undefined) toggle(i, !line.open);
    },
    open: toggle,
    menu: (i: number, at: { x: number; y: number }) => {
      const subject = subjectOf(i);
      if (!subject) return;
      showMenu(subject.group.name, at, menuEntries(app, subject, [
        { title: "Copy the call path", run: () => void copyText((subject.path ?? []).join("\n"), "path") },
      ]));
    },
    copy: (i: number) => copyRow(data, i),
  };
  return (
    <RowsPage
      notice={notice}
      missing={missing}
      tools={
        <div class="choice-of" role="group" aria-label="direction">
          <button type="button" aria-pressed={!place.up} onClick={() => app.change({ up: false, below: [] })}>
            top-down
          </button>
          <button type="button" aria-pressed={place.up} onClick={() => app.change({ up: true, below: [] })}>
            bottom-up
          </button>
        </div>
      }
    >
      {root.children.length === 0 ? (
        <EmptyBox why="Nothing has changed." />
      ) : (
        <Grid data={data} events={events} cursor={cursor} />
      )}
      <MenuHere menu={menu} />
    </RowsPage>
  );
}

const noParts = new Map<number, TreeNode>();
