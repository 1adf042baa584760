// What the reader has changed in the tree, on the page of rows: the same edits of the same nodes as in the flame graph.
import { Texts } from "../columns.ts";
import { applyEdits, numbered, parseEdit } from "./flame/edits.ts";
import { Frames } from "./flame/frames.ts";
import type { Tree } from "./flame/tree.ts";
import { Group, hash } from "./group.ts";
import type { TreeNode } from "./outline.ts";

export interface EditedTree {
  root: TreeNode;
  /** The nodes of the tree before that each node stands for, the largest first. */
  sources: ReadonlyMap<TreeNode, readonly TreeNode[]>;
}

/** What edits are made of, and on. */
export interface TreeEdits {
  /** Subtrees that were asked for later, by the keys of their nodes. */
  parts: ReadonlyMap<number, TreeNode>;
  /** As the address has them. */
  collapse: readonly string[];
  /** The path that the tree was asked for. */
  below: readonly string[];
  /** Whether values of the metrics add up: of several nodes that become one, others are not known. */
  adds: readonly boolean[];
}

/** A tree after edits; each node has the numbers of all that it stands for. */
export function editedTree(root: TreeNode, { parts, collapse, below, adds }: TreeEdits): EditedTree {
  const nodes = [root]; // parents before their children
  const parent = [-1];
  for (let i = 0; i < nodes.length; i++) {
    for (const child of childrenOf(nodes[i]!, parts).children) {
      nodes.push(child);
      parent.push(i);
    }
  }
  const frames = new Frames();
  const tree = treeOf(nodes, parent, parts, frames);
  const edits = collapse.flatMap((text) => parseEdit(text) ?? []);
  const { tree: out, into } = applyEdits(tree, numbered(edits, frames, below));

  const sources = Array.from(out.parent, (): number[] => []);
  into.forEach((at, i) => void (at >= 0 && sources[at]!.push(i)));
  const rest = nodes.map(({ total }) => [...total]); // without the children's
  for (let i = 1; i < nodes.length; i++) nodes[i]!.total.forEach((value, m) => (rest[parent[i]!]![m]! -= value));

  const made: TreeNode[] = [];
  const known = new Map<TreeNode, readonly TreeNode[]>();
  out.parent.forEach((p, at) => {
    const list = sources[at]!.sort((a, b) => (nodes[b]!.total[0] || 0) - (nodes[a]!.total[0] || 0));
    const first = nodes[list.find((i) => tree.frame[i] === out.frame[at]) ?? list[0] ?? 0]!;
    // A frame that no node has stands for a module.
    const collapsed = at > 0 && !list.some((i) => tree.frame[i] === out.frame[at]);
    const group = at === 0 ? root.group : collapsed && first.group ? moduleOf(first.group) : first.group;
    const above = made[p];
    const sum = (of: (i: number) => readonly number[]) =>
      adds.map((sums, m) => {
        if (!sums && list.length > 1) return NaN;
        return list.reduce((all, i) => all + of(i)[m]!, 0);
      });
    const node: TreeNode = {
      key: above ? hash(group?.text ?? "", above.key) : root.key,
      group,
      parent: above ?? root.parent,
      children: [],
      total: sum((i) => (adds.every(Boolean) ? rest[i]! : rest[i]!.map((v, m) => (adds[m] ? v : nodes[i]!.total[m]!)))),
      self: sum((i) => nodes[i]!.self),
      folded: out.folded[at]!,
    };
    made.push(node);
    above?.children.push(node);
    known.set(node, list.map((i) => nodes[i]!));
  });
  for (let at = made.length - 1; at >= 0; at--) {
    const { total, parent: above, children } = made[at]!;
    children.sort((a, b) => (b.total[0] || 0) - (a.total[0] || 0));
    if (at === 0 || !above) continue;
    above.total = above.total.map((value, m) => (adds[m] ? value + total[m]! : value));
  }
  return { root: made[0]!, sources: known };
}

/** The children of a node, with those that were asked for later. */
function childrenOf(node: TreeNode, parts: ReadonlyMap<number, TreeNode>): Pick<TreeNode, "children" | "folded"> {
  return parts.get(node.key) ?? node;
}

/** Nodes as a tree of numbers, which edits change. */
function treeOf(
  nodes: readonly TreeNode[],
  parent: readonly number[],
  parts: ReadonlyMap<number, TreeNode>,
  frames: Frames,
): Tree {
  const numbers = new Map<Group["columns"], Int32Array>();
  const frameOf = ({ columns, row }: Group) => {
    let all = numbers.get(columns);
    if (!all) numbers.set(columns, (all = frames.number(columns)));
    return all[row] ?? 0;
  };
  const total = Float64Array.from(nodes, (node) => node.total[0] || 0);
  return {
    parent: Int32Array.from(parent),
    frame: Int32Array.from(nodes, ({ group }, i) => (group && i > 0 ? frameOf(group) : 0)),
    self: Float64Array.from(nodes, (node) => node.self[0] || 0),
    total,
    weight: total,
    folded: Int32Array.from(nodes, (node) => childrenOf(node, parts).folded),
  };
}

/** A column that has the same text in every row. */
class Same extends Texts {
  constructor(readonly text: string) {
    super(new Int32Array(), []);
  }

  override at(): string {
    return this.text;
  }
}

/** The module of a group, as a group of its own: what the reader asked for is not folded. */
function moduleOf({ columns, row }: Group): Group {
  const none = new Same("");
  const [by, kind] = [new Same("module"), new Same("other")];
  return new Group({ ...columns, by, function: none, file: none, offset: none, kind }, undefined, row);
}
