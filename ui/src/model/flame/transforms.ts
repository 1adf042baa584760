// What the menu of a frame offers: each entry is a parameter of the question, or an edit of the tree that was sent.
import { literally } from "../filters.ts";
import { base } from "../names.ts";
import type { Edit } from "./edits.ts";
import { Frames } from "./frames.ts";

/** A parameter of the question `tree`, and one more value for it. */
export interface Asked {
  parameter: "focus" | "ignore" | "hide" | "below";
  values: string[];
}

/** What an entry of the menu does: in words, and in the address. */
export interface Transform {
  id: string;
  title: string;
  hint: string;
  does: { ask: Asked } | { edit: Edit };
}

/** What can be done with a node. `path` leads to it from the root of the tree, and `below` to that. */
export function transformsOf(
  frames: Frames,
  path: readonly number[],
  below: readonly string[],
  up: boolean,
): Transform[] {
  const frame = path.at(-1);
  if (frame === undefined || !path.every(Frames.real)) return [];
  const name = frames.names[frame] ?? "";
  const function_ = frames.functions[frame] ?? "";
  const module = frames.modules[frame] ?? "";
  const texts = [...below, ...path.map((f) => nameIn(frames, f))];
  const list: Transform[] = [];
  const ask = (id: string, title: string, hint: string, parameter: Asked["parameter"], values: string[]) =>
    list.push({ id, title, hint, does: { ask: { parameter, values } } });
  const edit = (id: string, title: string, hint: string, what: Edit) =>
    list.push({ id, title, hint, does: { edit: what } });
  if (function_ !== "") {
    const pattern = [literally(function_)];
    ask("focus", `Focus on ${name}`, "only call stacks with this function", "focus", pattern);
    ask("ignore", `Ignore ${name}`, "only call stacks without this function", "ignore", pattern);
    ask("charge", `Charge ${name} to its callers`, "without this function, on every call stack", "hide", pattern);
  }
  if (module !== "" && function_ === "") {
    const pattern = [literally(module)];
    ask("focus", `Focus on ${name}`, "only call stacks through this file", "focus", pattern);
    ask("ignore", `Ignore ${name}`, "only call stacks that avoid this file", "ignore", pattern);
    ask("charge", `Charge ${name} to its callers`, "without the frames of this file", "hide", pattern);
  }
  edit("merge", `Merge into ${up ? "what it calls" : "its caller"}`, "only this node", { kind: "merge", path: texts });
  edit("drop", "Drop this subtree", "neither this node nor what is below it counts", { kind: "drop", path: texts });
  if (function_ !== "") {
    edit("recursion", `Collapse recursion of ${name}`, "once on each path", { kind: "recursion", of: function_ });
  }
  if (module !== "" && function_ !== "") {
    const title = `Collapse library ${base(module)}`;
    edit("module", title, "its consecutive frames become one", { kind: "module", of: module });
  }
  ask("below", "Focus on this subtree", "shares are of this node", "below", texts);
  return list;
}

/** The name of a frame in a path: a function's, if that is enough to tell it from other frames. */
function nameIn(frames: Frames, frame: number): string {
  const function_ = frames.functions[frame] ?? "";
  return function_ !== "" && frames.called(function_).length === 1 ? function_ : (frames.texts[frame] ?? "");
}
