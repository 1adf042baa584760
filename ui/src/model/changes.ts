// What has changed, as rows: the values of groups on both sides, how much they differ, and in which way.
import type { Compared, ComparedNodeColumns, MetricName, NodeColumns } from "../api.ts";
import { digits } from "./format.ts";
import { groupsOf, type Group } from "./group.ts";
import { metricsOf, scaleOf, type Metric, type Scale } from "./table.ts";

/** In the order of the column: what is new first. */
export const statuses = ["new", "grown", "shrunk", "gone", "varying", "unchanged"] as const;

export interface Changes {
  by: string;
  metrics: Metric[];
  groups: readonly Group[];
  status: readonly string[];
  /** By metric. */
  before: Readonly<Record<string, Float64Array>>;
  after: Readonly<Record<string, Float64Array>>;
  /** Of repeated runs, by metric and row: the least and the most of both sides. */
  spread: Readonly<Record<string, Float64Array>>;
  /** What everything has. */
  total: { before: Readonly<Record<string, number>>; after: Readonly<Record<string, number>> };
  totalSpread: Readonly<Record<string, number>>;
  runs: { before: number; after: number };
  scaled: boolean;
  more: number;
  unchanged: number;
  missing: string;
}

/** The table of an answer. */
export function changesOf(answer: Compared): Changes {
  const { rows, before, after } = answer;
  const whole = (values: Record<string, number | null>) =>
    Object.fromEntries(Object.entries(values).map(([name, value]) => [name, value ?? NaN]));
  return {
    by: answer.by,
    metrics: metricsOf(answer.metrics),
    groups: groupsOf(rows.group, answer.frames),
    status: Array.from({ length: rows.rows }, (_, i) => rows.status.at(i)),
    before: rows.before,
    after: rows.after,
    spread: rows.spread,
    total: { before: whole(before.total), after: whole(after.total) },
    totalSpread: whole(answer.spread),
    runs: { before: answer.before_runs, after: answer.after_runs },
    scaled: answer.scaled,
    more: answer.more,
    unchanged: answer.unchanged,
    missing: after.missing || before.missing || "",
  };
}

/** By how many percent a value has changed; "" where it has not, or there was nothing. */
export function percentText(before: number, after: number): string {
  if (before === after || Number.isNaN(before) || Number.isNaN(after)) return "";
  if (before === 0) return "new";
  if (after === 0) return "gone";
  const share = (100 * (after - before)) / before;
  if (Math.abs(share) >= 9999.5) return `×${digits(after / before)}`;
  if (Math.abs(share) < 0.1) return `${share > 0 ? "+" : "−"}<0.1 %`;
  return `${share > 0 ? "+" : "−"}${Math.abs(share).toFixed(1)} %`;
}

/** A change with its sign. */
export function signedText(scale: Scale, change: number): string {
  if (Number.isNaN(change)) return "–";
  return change > 0 ? `+${scale.text(change)}` : change < 0 ? `−${scale.text(-change)}` : "0";
}

/** A column of a table of changes. */
export interface ChangeColumn {
  /** peak.before */
  key: string;
  metric: MetricName;
  what: "before" | "after" | "change" | "percent" | "status";
  scale: Scale;
  /** What rows are sorted by. */
  values: Float64Array;
  text: (row: number) => string;
  exact: (row: number) => string;
}

/** The columns: of the first metric all, of the others the change. */
export function columnsOf(changes: Changes): ChangeColumn[] {
  const none = new Float64Array(changes.groups.length);
  return changes.metrics.flatMap(({ name, unit }, i): ChangeColumn[] => {
    const [before, after] = [changes.before[name] ?? none, changes.after[name] ?? none];
    let most = 0;
    for (const list of [before, after]) for (const value of list) if (value > most) most = value;
    const scale = scaleOf(unit, most);
    const change = after.map((value, row) => value - (before[row] ?? 0));
    const share = after.map((value, row) => {
      const was = before[row] ?? 0;
      return was === 0 ? (value === 0 ? 0 : Infinity) : (value - was) / was;
    });
    const range = (side: "before" | "after", row: number) => {
      const [least, largest] = ["least", "most"].map((end) => changes.spread[`${name}_${side}_${end}`]?.[row]);
      if (least === undefined || largest === undefined) return "";
      return `, the median of ${changes.runs[side]}: ${scale.exact(least)} to ${scale.exact(largest)}`;
    };
    const side = (what: "before" | "after", values: Float64Array): ChangeColumn => ({
      key: `${name}.${what}`, metric: name, what, scale, values,
      text: (row) => scale.text(values[row] ?? NaN),
      exact: (row) => scale.exact(values[row] ?? NaN) + range(what, row),
    });
    const changed: ChangeColumn = {
      key: `${name}.change`, metric: name, what: "change", scale, values: change,
      text: (row) => signedText(scale, change[row] ?? NaN),
      exact: (row) => `${scale.exact(before[row] ?? NaN)} → ${scale.exact(after[row] ?? NaN)}`,
    };
    if (i > 0) return [changed];
    return [
      side("before", before),
      side("after", after),
      changed,
      {
        key: `${name}.percent`, metric: name, what: "percent", scale, values: share,
        text: (row) => percentText(before[row] ?? NaN, after[row] ?? NaN),
        exact: () => "of the value before",
      },
      {
        key: "status", metric: name, what: "status", scale,
        values: Float64Array.from(changes.status, (text) => -statuses.findIndex((one) => one === text)),
        text: (row) => changes.status[row] ?? "",
        exact: (row) =>
          changes.status[row] === "varying" ? "the runs of both sides overlap: it may have changed by chance" : "",
      },
    ];
  });
}

/** The rows in order: changes by how large they are, up or down; else by the column, largest first. */
export function ordered(columns: readonly ChangeColumn[], groups: readonly Group[], key: string, reverse: boolean) {
  const order = groups.map((_, i) => i);
  const sign = reverse ? -1 : 1;
  if (key === "name") {
    const names = groups.map(({ name }) => name.toLowerCase());
    return order.sort((a, b) => sign * ((names[a] ?? "") < (names[b] ?? "") ? -1 : 1));
  }
  const column = columns.find((one) => one.key === key);
  if (!column || key.endsWith(".change")) {
    // The answer has the largest change of the first metric first.
    const values = column?.values;
    if (values && column !== columns.find(({ what }) => what === "change")) {
      order.sort((a, b) => Math.abs(values[b] ?? 0) - Math.abs(values[a] ?? 0) || a - b);
    }
    return reverse ? order.reverse() : order;
  }
  const value = (row: number) => column.values[row] ?? 0;
  // Equal ones may be infinite.
  return order.sort((a, b) => (value(a) === value(b) ? a - b : sign * (value(b) - value(a))));
}

/** The nodes of a tree of changes as those of a tree, whose numbers are: before, after, and the change. */
export const treeNumbers = ["before", "after", "change"] as const;

export function nodesOf(nodes: ComparedNodeColumns, metric: string): NodeColumns {
  const side = (before: Float64Array | undefined, after: Float64Array | undefined): NodeColumns["total"] => {
    const [a, b] = [before ?? new Float64Array(nodes.rows), after ?? new Float64Array(nodes.rows)];
    return { before: a, after: b, change: b.map((value, i) => value - (a[i] ?? 0)) };
  };
  return {
    rows: nodes.rows, parent: nodes.parent, group: nodes.group, folded: nodes.folded,
    total: side(nodes.before[metric], nodes.after[metric]),
    self: side(nodes.self_before[metric], nodes.self_after[metric]),
    first: new Float64Array(nodes.rows),
  };
}
