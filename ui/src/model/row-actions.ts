// What can be done with a row, as changes of the place: the same for rows of all pages.
import { treePages, type Filters } from "./filters.ts";
import type { Frame, Group } from "./group.ts";
import type { Action } from "./keys.ts";
import type { Place } from "./place.ts";
import { changeOf, transformsOf, type Transform } from "./transforms.ts";

const rows = { section: "Rows" } as const;

/** The actions of pages of rows. */
export const rowsActions: readonly Action[] = [
  { ...rows, id: "rows.copy", keys: [], title: "Copy the row as Markdown" },
  { ...rows, id: "rows.csv", keys: [], title: "Export the rows: save them as comma-separated values" },
  { ...rows, id: "tree.hottest", keys: ["h", "H"], title: "Open the hottest path", page: "tree" },
  { ...rows, id: "tree.up", keys: ["u"], title: "Top-down or bottom-up", page: "tree" },
  { ...rows, id: "leaks.suppress", keys: [], title: "Copy a suppression for the leak", page: "leaks" },
  { ...rows, id: "generations.table", keys: [], title: "Generations as a table", page: "generations" },
  { ...rows, id: "heap.table", keys: [], title: "The heap as a table", page: "heap" },
  { ...rows, id: "heap.play", keys: ["k"], title: "Play or pause", page: "heap" },
];

export interface RowAction {
  label: string;
  hint?: string;
  /** It leads to the row elsewhere, and counts the same. */
  opens?: true;
  change: Partial<Place>;
}

/** What a row is about. */
export interface Subject {
  group: Group;
  /** Its path in a tree, outermost first, as `below` takes it; undefined: it is not a node. */
  path?: readonly string[];
  /** The names on this path, as the right side takes them. */
  names?: readonly string[];
  /** The tree begins with the functions that allocate. */
  up?: boolean;
}

/** What the right side explains: the names of a path, outermost first. */
export function pickedOf({ group, names }: Subject): string[] {
  if (names) return [...names];
  if (group.by === "stack") return group.stack.map(({ id }) => id).reverse();
  return [group.function || group.text];
}

/** The changes of the place that a row offers. */
export function rowActions(place: Place, subject: Subject): RowAction[] {
  const { group } = subject;
  const found: RowAction[] = [];
  const add = (label: string, change: Partial<Place>, hint = "") =>
    found.push({ label, change, ...(hint && { hint }) });
  const picked = pickedOf(subject);
  const all = transforms(subject);
  const focus = all.find(({ id }) => id === "focus");
  const one = focus && changeOf(place, focus);
  const open = (label: string, change: Partial<Place>) => found.push({ label, change, opens: true });
  if (one) open("Open in the flame graph", { page: "flame", ...one, picked });
  const source = sourceOf(group);
  if (source) open("Open the source", { page: "source", ...source, picked });
  if (one && place.page !== "tree") open("Open in the tree", { page: "tree", ...one, below: [], picked });
  for (const one of all) {
    const change = changeOf(place, one);
    // What changes a tree is seen in one.
    const there = treePages.includes(place.page) || !("edit" in one.does || "below" in change);
    if (there) add(one.title, change, one.hint);
    else add(`${one.title}, in the flame graph`, { page: "flame", ...change, picked }, one.hint);
  }
  const below = all.find(({ id }) => id === "below");
  if (below && place.page === "tree") {
    add("This subtree in the flame graph", { page: "flame", ...changeOf(place, below), picked });
  }
  return found;
}

/** What changes what counts, by a row. */
export function transforms({ group, path, up }: Subject): Transform[] {
  const { by, tid, sizes, unknown } = group;
  const headline = by === "stack" ? group.headline : undefined;
  const stack = by === "stack" ? group.stack : [];
  // A call stack is a node of the tree: the one where its name is.
  const of = headline && stack.slice(stack.indexOf(headline)).map(({ id }) => id).reverse();
  return transformsOf({
    name: group.name,
    by,
    function: headline ? (headline.named ? headline.name : "") : group.function,
    module: headline ? headline.module : group.module,
    pattern: group.pattern,
    thread: tid === undefined ? undefined : String(tid),
    region: /^region/.test(by) && !unknown ? group.text : undefined,
    size: sizes && `${sizes.min}..${sizes.max}`,
    path: path ?? of,
    up,
  });
}

/** Where the source of a group is; undefined: that is not known. */
export function sourceOf(group: Group): { file: string; line: string | undefined } | undefined {
  const at: Group | Frame | undefined = group.by === "stack" ? group.headline : group;
  if (!at || at.file === "") return undefined;
  return { file: at.file, line: at.line > 0 ? String(at.line) : undefined };
}

/** The parameters that count only what belongs to a group, for questions about an opened row. */
export function onlyOf(group: Group): Pick<Filters, "thread" | "size" | "region" | "focus"> | undefined {
  const { tid, sizes, pattern } = group;
  if (tid !== undefined) return { thread: [String(tid)] };
  if (sizes) return { size: `${sizes.min}..${sizes.max}` };
  if (/^region/.test(group.by) && !group.unknown) return { region: [group.text] };
  if ((group.by === "file" || group.by === "module") && pattern !== undefined) return { focus: [pattern] };
  return undefined;
}
