// Processes as a tree: rows in the order of a walk, each with its depth.

export interface Node {
  id: string;
  /** The id of its parent; undefined if it has none or that was not recorded. */
  parent: string | undefined;
}

export interface Row<T> {
  node: T;
  depth: number;
}

/**
 * The rows of a tree: parents before their children, siblings in the order of the list. A node whose parent is not in
 * the list is a root; so is the first of a cycle, which only a damaged recording has.
 */
export function rows<T extends Node>(nodes: readonly T[]): Row<T>[] {
  const known = new Set(nodes.map(({ id }) => id));
  const children = new Map<string, T[]>();
  const roots: T[] = [];
  for (const node of nodes) {
    if (node.parent === undefined || node.parent === node.id || !known.has(node.parent)) {
      roots.push(node);
      continue;
    }
    const siblings = children.get(node.parent);
    if (siblings) siblings.push(node);
    else children.set(node.parent, [node]);
  }
  const found: Row<T>[] = [];
  const seen = new Set<T>();
  const walk = (root: T) => {
    const stack: Row<T>[] = [{ node: root, depth: 0 }];
    for (let row = stack.pop(); row; row = stack.pop()) {
      if (seen.has(row.node)) continue;
      seen.add(row.node);
      found.push(row);
      const below = children.get(row.node.id) ?? [];
      for (let i = below.length - 1; i >= 0; i--) {
        const node = below[i];
        if (node) stack.push({ node, depth: row.depth + 1 });
      }
    }
  };
  for (const root of roots) walk(root);
  for (const node of nodes) walk(node); // those in cycles
  return found;
}
