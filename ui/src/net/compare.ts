// The question `diff`, and what the app makes of the answer.
import type { Answers, Compared, ComparedTree, MetricName } from "../api.ts";
import type { Frames } from "../model/flame/frames.ts";
import { treeOf, type Tree } from "../model/flame/tree.ts";
import { changesOf, type Changes } from "../model/changes.ts";
import type { FlameAnswer } from "./flame.ts";

/** The rows of a table of changes. */
export function readChanges(answer: Answers["diff"]): Changes {
  if ("nodes" in answer) throw new TypeError("the answer is a tree");
  return changesOf(answer satisfies Compared);
}

/** Two trees with the same nodes, as the flame graph compares them. */
export function flamesOf(
  answer: Answers["diff"],
  frames: Frames,
  metric: MetricName,
): FlameAnswer & { earlier: Tree } {
  if (!("nodes" in answer)) throw new TypeError("the answer is not a tree");
  const { nodes, after, before } = answer satisfies ComparedTree;
  const numbers = frames.number(nodes.group.of);
  const side = (total: typeof nodes.after, self: typeof nodes.after) =>
    treeOf(
      {
        rows: nodes.rows,
        parent: nodes.parent,
        folded: nodes.folded,
        group: nodes.group.row,
        self: self[metric] ?? new Float64Array(nodes.rows),
        total: total[metric] ?? new Float64Array(nodes.rows),
      },
      numbers,
    );
  const root = nodes.group.row[0] ?? -1;
  return {
    tree: side(nodes.after, nodes.self_after),
    earlier: side(nodes.before, nodes.self_before),
    callers: undefined,
    root: root < 0 ? undefined : numbers[root],
    missing: after.missing || before.missing || "",
  };
}
