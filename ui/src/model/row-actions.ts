// What can be done with a row, as changes of the place: the same for rows of all pages.
import type { Filters } from "./filters.ts";
import type { Frame, Group } from "./group.ts";
import type { Action } from "./keys.ts";
import type { Place } from "./place.ts";

const rows = { section: "Rows" } as const;

/** The actions of pages of rows. */
export const rowsActions: readonly Action[] = [
  { ...rows, id: "rows.copy", keys: [], title: "Copy the row as Markdown" },
  { ...rows, id: "rows.csv", keys: [], title: "Save the rows as comma-separated values" },
  { ...rows, id: "tree.hottest", keys: ["h", "H"], title: "Open the hottest path", page: "tree" },
  { ...rows, id: "tree.up", keys: ["u"], title: "Top-down or bottom-up", page: "tree" },
  { ...rows, id: "leaks.suppress", keys: [], title: "Copy a suppression for the leak", page: "leaks" },
];

export interface RowAction {
  label: string;
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
  const { group, path } = subject;
  const found: RowAction[] = [];
  const add = (label: string, change: Partial<Place>) => found.push({ label, change });
  const one = oneOf(place, group);
  const picked = pickedOf(subject);
  const { pattern } = group;
  if (one) add("Open in the flame graph", { page: "flame", ...one, picked });
  if (one && place.page !== "tree") add("Open in the tree", { page: "tree", ...one, below: [], picked });
  const source = sourceOf(group);
  if (source) add("Open the source", { page: "source", ...source, picked });
  if (one) add(`Count only this ${kindOf(group)}`, one);
  if (pattern !== undefined) {
    add("Leave out what passes here", { ignore: [...place.ignore, pattern] });
    add("Charge to the callers", { hide: [...place.hide, pattern] });
  }
  if (path && !subject.up) {
    const below = [...path];
    add("Show only this subtree", { below });
    if (place.page !== "flame") add("This subtree in the flame graph", { page: "flame", below, picked });
  }
  return found;
}

function kindOf({ by }: Group): string {
  return by === "size" ? "size" : by === "address" || by === "line" ? "function" : by.replace("-name", "");
}

/** The filter that leaves only what belongs to a group; undefined: there is none. */
function oneOf(place: Place, group: Group): Partial<Place> | undefined {
  const { tid, sizes, pattern } = group;
  if (tid !== undefined) return { thread: [String(tid)] };
  if (sizes) return { size: `${sizes.min}..${sizes.max}` };
  if ((group.by === "region" || group.by === "region-name") && !group.unknown) return { region: [group.text] };
  if (group.by === "module" && group.module !== "") return { module: [group.module] };
  return pattern === undefined ? undefined : { focus: [...place.focus, pattern] };
}

/** Where the source of a group is; undefined: that is not known. */
export function sourceOf(group: Group): { file: string; line: string | undefined } | undefined {
  const at: Group | Frame | undefined = group.by === "stack" ? group.headline : group;
  if (!at || at.file === "") return undefined;
  return { file: at.file, line: at.line > 0 ? String(at.line) : undefined };
}

/** The parameters that count only what belongs to a group, for questions about an opened row. */
export function onlyOf(group: Group): Pick<Filters, "thread" | "size" | "region" | "module" | "focus"> | undefined {
  const { tid, sizes, pattern } = group;
  if (tid !== undefined) return { thread: [String(tid)] };
  if (sizes) return { size: `${sizes.min}..${sizes.max}` };
  if (/^region/.test(group.by) && !group.unknown) return { region: [group.text] };
  if (group.by === "module" && group.module !== "") return { module: [group.module] };
  if (group.by === "file" && pattern !== undefined) return { focus: pattern };
  return undefined;
}

