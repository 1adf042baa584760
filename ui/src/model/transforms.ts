// What can be done with a frame or a row, on every page: parameters of the question, and edits of the tree that was
// sent. Each is a word in the address that can be taken back by itself.
import { literally } from "./filters.ts";
import { formatEdit, type Edit } from "./flame/edits.ts";
import { base } from "./names.ts";
import type { Place } from "./place.ts";

/** What a frame or a row stands for. */
export interface Subject {
  /** What is shown of it. */
  name: string;
  /** function, line, module, thread ... */
  by: string;
  function: string;
  module: string;
  /** What `focus`, `ignore` and `hide` find it by; undefined: it has no name. */
  pattern?: string | undefined;
  thread?: string | undefined;
  region?: string | undefined;
  /** A range of sizes. */
  size?: string | undefined;
  /** The names from the root of the whole tree to it, as `below` takes them; undefined: it is no single node. */
  path?: readonly string[] | undefined;
  /** The tree begins with the functions that allocate. */
  up?: boolean | undefined;
}

/** Filters of a place, and the texts that they get. */
export type Asked = Partial<Pick<Place, "focus" | "ignore" | "hide" | "thread" | "region" | "size" | "below">>;

/** What an entry of a menu does: in words, and in the address. */
export interface Transform {
  id: string;
  title: string;
  hint: string;
  does: { ask: Asked } | { edit: Edit };
}

/** The transforms that a frame or a row offers. */
export function transformsOf(subject: Subject): Transform[] {
  const { name, by, pattern, thread, region, size, path, module, up } = subject;
  const list: Transform[] = [];
  const ask = (id: string, title: string, hint: string, what: Asked) =>
    list.push({ id, title, hint, does: { ask: what } });
  const edit = (id: string, title: string, hint: string, what: Edit) =>
    list.push({ id, title, hint, does: { edit: what } });
  if (thread !== undefined) ask("focus", `Only thread ${name}`, "what it allocated", { thread: [thread] });
  else if (region !== undefined) ask("focus", `Only region ${name}`, "what was allocated in it", { region: [region] });
  else if (size !== undefined) ask("focus", `Only ${name}`, "blocks of this size", { size });
  else if (pattern !== undefined) {
    const what = by === "module" || by === "file" ? "file" : "function";
    ask("focus", `Focus on ${name}`, `only call stacks through this ${what}`, { focus: [pattern] });
    ask("ignore", `Ignore ${name}`, `only call stacks without this ${what}`, { ignore: [pattern] });
    ask("charge", `Charge ${name} to its callers`, `without this ${what}, on every call stack`, { hide: [pattern] });
  }
  if (path) {
    const into = up ? "what it calls" : "its caller";
    edit("merge", `Merge into ${into}`, "only this node", { kind: "merge", path: [...path] });
    const hint = "neither this node nor what is below it counts";
    edit("drop", "Drop this subtree", hint, { kind: "drop", path: [...path] });
  }
  if (subject.function !== "") {
    const of = subject.function;
    edit("recursion", `Collapse recursion of ${name}`, "once on each path", { kind: "recursion", of });
  }
  if (module !== "" && by !== "module") {
    const title = `Collapse library ${base(module)}`;
    edit("module", title, "its consecutive frames become one", { kind: "module", of: module });
  }
  if (path) ask("below", "Focus on this subtree", "shares are of this node", { below: [...path] });
  return list;
}

/** The change of a place that a transform is. */
export function changeOf(place: Place, { does }: Transform): Partial<Place> {
  if ("edit" in does) return { collapse: [...place.collapse, formatEdit(does.edit)] };
  const change: Partial<Place> = { ...does.ask };
  for (const name of ["focus", "ignore", "hide"] as const) {
    const more = does.ask[name];
    if (more) change[name] = [...place[name], ...more];
  }
  return change;
}

/** A pattern that finds a frame by its function, or of a file's frame by the file; undefined: it has no name. */
export function patternOf(by: string, function_: string, module: string, file = ""): string | undefined {
  const name = by === "module" ? module : by === "file" ? file : function_;
  return name === "" ? undefined : literally(name);
}
