// Call trees as rows: which nodes are open, which are folded, and what is left out.
import type { NodeColumns } from "../api.ts";
import { Group, hash } from "./group.ts";

export interface TreeNode {
  /** A number for the path from the root: the same node has the same one in every answer. */
  key: number;
  /** Undefined: the root, which is everything. */
  group: Group | undefined;
  parent: TreeNode | undefined;
  /** In the order of the first metric, largest first, as the API sends them. */
  children: TreeNode[];
  /** By metric, as in the answer. */
  total: readonly number[];
  self: readonly number[];
  /** Of an estimate: by how much the totals and the selves may be off; NaN: not known. */
  margins?: { total: readonly number[]; self: readonly number[] };
  /** Children that were not sent. */
  folded: number;
}

/** The tree of an answer; of what is below a node of another tree, that node is its root. */
export function treeOf(nodes: NodeColumns, metrics: readonly string[], below?: TreeNode): TreeNode {
  const all: TreeNode[] = [];
  const values = (records: NodeColumns["total"], i: number) => metrics.map((name) => records[name]?.[i] ?? NaN);
  const margins = metrics.map((name) => `${name}_margin`);
  const estimated = margins.some((name) => nodes.total[name]);
  const off = (records: NodeColumns["total"], i: number) => margins.map((name) => records[name]?.[i] ?? NaN);
  for (let i = 0; i < nodes.rows; i++) {
    const row = nodes.group.row[i] ?? -1;
    const group = row < 0 ? undefined : new Group(nodes.group.of, undefined, row);
    const at = nodes.parent[i] ?? -1;
    const parent = at >= 0 && at < i ? all[at] : undefined; // parents come before their children
    const node: TreeNode = {
      key: parent ? hash(group?.text ?? "", parent.key) : (below?.key ?? 1),
      group: parent || !below ? group : below.group,
      parent: parent ?? below?.parent,
      children: [],
      total: values(nodes.total, i),
      self: values(nodes.self, i),
      folded: nodes.folded[i] || 0,
      ...(estimated && { margins: { total: off(nodes.total, i), self: off(nodes.self, i) } }),
    };
    all.push(node);
    parent?.children.push(node);
  }
  const [root] = all;
  if (!root) throw new TypeError("a tree without a root");
  return root;
}

/** The names of the nodes from the outermost one to this one, as `below` takes them. */
export function pathOf(node: TreeNode): string[] {
  const path: string[] = [];
  for (let at: TreeNode | undefined = node; at?.parent; at = at.parent) path.unshift(at.group?.text ?? "");
  return path;
}

/**
 * The numbers of a rough answer in the tree before: nodes keep their order; those that it does not have stay, with
 * numbers that are not known, and new ones come last.
 */
export function treeInPlace(before: TreeNode, now: TreeNode): TreeNode {
  const root: TreeNode = { ...now, parent: undefined, children: [] };
  const todo: { old: TreeNode; fresh: TreeNode | undefined; node: TreeNode }[] = [];
  todo.push({ old: before, fresh: now, node: root });
  for (let one = todo.pop(); one; one = todo.pop()) {
    const { old, fresh, node } = one;
    const rest = new Map(fresh?.children.map((child) => [child.key, child]));
    for (const child of old.children) {
      const same = rest.get(child.key);
      rest.delete(child.key);
      const nothing = child.total.map(() => NaN);
      const numbers = same ?? { ...child, total: nothing, self: nothing };
      const copy: TreeNode = { ...numbers, parent: node, children: [] };
      node.children.push(copy);
      todo.push({ old: child, fresh: same, node: copy });
    }
    for (const child of rest.values()) node.children.push({ ...child, parent: node });
  }
  return root;
}

/** The names of the same nodes, as the right side explains them: functions by their names alone. */
export function namesOf(node: TreeNode): string[] {
  const names: string[] = [];
  for (let at: TreeNode | undefined = node; at?.parent; at = at.parent) {
    names.unshift(at.group?.function || (at.group?.text ?? ""));
  }
  return names;
}

/** What decides how a tree is shown. */
export interface Look {
  open: ReadonlySet<number>;
  /** Subtrees that were asked for later, by the keys of their nodes. */
  parts: ReadonlyMap<number, TreeNode>;
  /** Whether frames of libraries are folded. */
  fold: boolean;
  /** By metric, whether values add up; undefined: those of all do. */
  adds?: readonly boolean[];
}

/** A row of a tree. */
export interface Line {
  key: number;
  node: TreeNode;
  level: number;
  /** By how many steps it is indented: only children are not, as on the command line. */
  indent: number;
  /** What this row is: a node, or what a node does not show. */
  kind: "node" | "rest";
  /** By metric: of a node its total, of a rest what its node has besides all rows below it. */
  total: readonly number[];
  /** By metric: what a node allocates itself and through folded frames that are in no row. Of a rest, not known. */
  self: readonly number[];
  /** Folded frames between its parent and it, and below it where nothing else is. */
  via: number;
  within: number;
  /** Of a node with children: whether they are shown. */
  open: boolean | undefined;
  /** Of a rest: how many children are not here. */
  rest: number;
}

/** What is shown below a node. */
interface Below {
  list: { node: TreeNode; via: number }[];
  within: number;
  rest: number;
  /** By metric: the node's own self and that of the folded nodes. So self and rows below add up to its total. */
  self: readonly number[];
}

/** The most indented lines are still readable. */
const mostIndent = 24;

export class Outline {
  readonly #owned: boolean;
  readonly #below = new Map<TreeNode, Below>();

  constructor(
    readonly root: TreeNode,
    readonly look: Look,
  ) {
    this.#owned = look.fold && hasOwn(root, look);
  }

  /** The rows, without the root's own. */
  lines(level = 1, indent = 0): Line[] {
    const lines: Line[] = [];
    const todo: Line[] = [];
    const push = (node: TreeNode, level: number, indent: number) => {
      const below = this.below(node);
      const deeper = Math.min(mostIndent, below.list.length + (below.rest > 0 ? 1 : 0) > 1 ? indent + 1 : indent);
      if (below.rest > 0) {
        const line = { key: hash("(rest)", node.key), node, level, indent: deeper, kind: "rest" as const };
        const [total, self] = [this.#remainder(node, below), node.self.map(() => NaN)];
        todo.push({ ...line, total, self, via: 0, within: 0, open: undefined, rest: below.rest });
      }
      for (let i = below.list.length - 1; i >= 0; i--) {
        const child = below.list[i];
        if (!child) continue;
        const inner = this.below(child.node);
        const open = inner.list.length + inner.rest > 0 ? this.look.open.has(child.node.key) : undefined;
        const line = { key: child.node.key, node: child.node, level, indent: deeper, kind: "node" as const };
        const { total } = child.node;
        todo.push({ ...line, total, self: inner.self, via: child.via, within: inner.within, open, rest: 0 });
      }
    };
    push(this.root, level, indent);
    for (let line = todo.pop(); line; line = todo.pop()) {
      lines.push(line);
      if (line.open === true) push(line.node, line.level + 1, line.indent);
    }
    return lines;
  }

  /**
   * What is shown below a node: its children and, instead of those that are folded, theirs. A folded child is shown
   * nevertheless if a node below it would otherwise stand twice below the same one.
   */
  below(node: TreeNode): Below {
    const known = this.#below.get(node);
    if (known) return known;
    const { children, folded } = part(node, this.look);
    const below: Below = { list: [], within: 0, rest: folded, self: node.self };
    this.#below.set(node, below);
    if (!this.look.fold) {
      below.list = children.map((child) => ({ node: child, via: 0 }));
      return below;
    }
    const seen = new Map<string, number>();
    const see = (child: TreeNode) => {
      const text = child.group?.text ?? "";
      seen.set(text, (seen.get(text) ?? 0) + 1);
    };
    const through = children.map((child) => {
      const found = this.#folds(child) ? this.#through(child) : undefined;
      if (found) found.list.forEach((one) => see(one.node));
      else see(child);
      return found;
    });
    children.forEach((child, i) => {
      const found = through[i];
      const twice = found?.list.some((one) => (seen.get(one.node.group?.text ?? "") ?? 0) > 1);
      const nothingElse = node === this.root && found?.list.length === 0 && child.group?.kind !== "start";
      if (!found || twice || nothingElse) {
        below.list.push({ node: child, via: 0 });
        return;
      }
      if (found.list.length === 0) below.within += found.within;
      below.list.push(...found.list);
      below.rest += found.rest;
      below.self = this.#sum(below.self, found.self);
    });
    return below;
  }

  /** Sums by metric; of values that do not add up, one is known only where the other one is nothing. */
  #sum(a: readonly number[], b: readonly number[]): number[] {
    const { adds } = this.look;
    return a.map((x, i) => (!b[i] ? x : (adds?.[i] ?? true) ? x + (b[i] ?? NaN) : x === 0 ? (b[i] ?? NaN) : NaN));
  }

  /** What a node has besides its self and the nodes that are shown below it. */
  #remainder(node: TreeNode, { list, self }: Below): number[] {
    const { adds } = this.look;
    return node.total.map((total, i) => {
      if (!(adds?.[i] ?? true)) return NaN;
      const known = list.reduce((sum, child) => sum + (child.node.total[i] ?? NaN), self[i] ?? NaN);
      return Math.max(0, total - known);
    });
  }

  #folds(node: TreeNode): boolean {
    const kind = node.group?.kind ?? "";
    return kind === "start" || kind === "wrapper" || (kind === "library" && this.#owned);
  }

  /** What is reached from a folded node by folded ones only. */
  #through(node: TreeNode): Below {
    const found: Below = { list: [], within: 0, rest: 0, self: node.self.map(() => 0) };
    const todo = [{ node, via: 0 }];
    for (let one = todo.pop(); one; one = todo.pop()) {
      if (!this.#folds(one.node)) {
        found.list.push(one);
        continue;
      }
      const counted = one.node.group?.kind === "start" ? 0 : 1;
      found.within += counted;
      found.self = this.#sum(found.self, one.node.self);
      const { children, folded } = part(one.node, this.look);
      found.rest += folded;
      for (let i = children.length - 1; i >= 0; i--) {
        const child = children[i];
        if (child) todo.push({ node: child, via: one.via + counted });
      }
    }
    return found;
  }

  /**
   * The hottest path down from a node: always the child with the most by a metric, as long as that is at least half of
   * its parent's. The keys to open to see it, and where it ends.
   */
  hottest(from: TreeNode, metric = 0): { open: number[]; end: TreeNode } {
    const open: number[] = [];
    const value = (node: TreeNode) => node.total[metric] || 0;
    for (let at = from; ; ) {
      let most: TreeNode | undefined;
      for (const { node } of this.below(at).list) if (!most || value(node) > value(most)) most = node;
      const enough = most && value(most) > 0 && (at === from || 2 * value(most) >= value(at));
      if (!most || !enough) return { open, end: at };
      open.push(at.key);
      at = most;
    }
  }

  /** The keys to open with a node: itself, and its only child, and so on. */
  opened(node: TreeNode): number[] {
    const keys = [node.key];
    for (let at = node; ; ) {
      const { list, rest } = this.below(at);
      const only = list[0]?.node;
      if (!only || list.length > 1 || rest > 0) return keys;
      keys.push(only.key);
      at = only;
    }
  }
}

/** The children of a node, and how many of them are not here. */
function part(node: TreeNode, look: Look): { children: readonly TreeNode[]; folded: number } {
  return look.parts.get(node.key) ?? node;
}

function hasOwn(root: TreeNode, look: Look): boolean {
  const todo = [root];
  for (let node = todo.pop(); node; node = todo.pop()) {
    if (node.group?.kind === "own") return true;
    todo.push(...part(node, look).children);
  }
  return false;
}
