// The question `tree`, and what the flame graph makes of the answer.
import type { Answers, ComparedTree, MetricName, NodeColumns, Parameters, Sandwich, Tree as Answer } from "../api.ts";
import type { Estimate } from "../model/estimate.ts";
import type { Frames } from "../model/flame/frames.ts";
import { treeOf, type Tree } from "../model/flame/tree.ts";

/** Nodes of a tree that is asked while the reader drags, and of one that is looked at. */
export const roughNodes = 4000;
export const exactNodes = 20_000;

export type TreeParameters = Parameters["tree"];

export interface FlameAnswer {
  /** The tree; of callers and callees, that of the callees. */
  tree: Tree;
  callers: Tree | undefined;
  /** The frame of the root, if the tree is a part of another one. */
  root: number | undefined;
  missing: string;
  /** From what the values were estimated; undefined: they are exact. */
  estimate: Estimate | undefined;
}

/** Makes trees of an answer. `mean` is the metric that colours: what it is multiplied with adds up. */
export function flameOf(answer: Answers["tree"], frames: Frames, metric: MetricName, mean?: MetricName): FlameAnswer {
  const read = (nodes: NodeColumns) => {
    const numbers = frames.number(nodes.group.of);
    const { rows, parent, folded, first } = nodes;
    const column = (of: NodeColumns["total"], name: MetricName) => of[name] ?? new Float64Array(rows);
    const tree = treeOf(
      {
        rows,
        parent,
        folded,
        first,
        group: nodes.group.row,
        self: column(nodes.self, metric),
        total: column(nodes.total, metric),
        mean: mean && column(nodes.total, mean),
      },
      numbers,
    );
    const root = nodes.group.row[0] ?? -1;
    return { tree, root: root < 0 ? undefined : numbers[root] };
  };
  const common = { missing: answer.missing ?? "", estimate: answer.estimate ?? undefined };
  if (isSandwich(answer)) {
    return { tree: read(answer.callees).tree, callers: read(answer.callers).tree, root: undefined, ...common };
  }
  return { ...read(answer.nodes), callers: undefined, ...common };
}

function isSandwich(answer: Answer | Sandwich): answer is Sandwich {
  return "callers" in answer;
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
    estimate: undefined,
  };
}
