// What the menu of a frame offers: each entry is a parameter of the question, or an edit of the tree that was sent.
import { literally } from "../filters.ts";
import { base } from "../names.ts";
import type { Edit } from "./edits.ts";
import { Frames } from "./frames.ts";

/** A parameter of the question `tree`, and one more value for it. */
export interface Asked {
  parameter: "focus" | "ignore" | "hide" | "thread" | "region" | "module" | "below";
  values: string[];
}

/** What an entry of the menu does: in words, and in the address. */
export interface Transform {
  id: string;
  title: string;
  hint: string;
  does: { ask: Asked } | { edit: Edit };
}

/**
 * What can be done with a node. `path` leads to it from the root of the tree, and `below` to that. If paths are only
 * parts of call stacks, nothing can be done to a single node.
 */
export function transformsOf(
  frames: Frames,
  path: readonly number[],
  below: readonly string[],
  paths: "down" | "up" | "part",
): Transform[] {
  const frame = path.at(-1);
  if (frame === undefined || !path.every(Frames.real)) return [];
  const name = frames.names[frame] ?? "";
  const function_ = frames.functions[frame] ?? "";
  const module = frames.modules[frame] ?? "";
  const by = frames.groupings[frame];
  const list: Transform[] = [];
  const ask = (id: string, title: string, hint: string, parameter: Asked["parameter"], values: string[]) =>
    list.push({ id, title, hint, does: { ask: { parameter, values } } });
  const edit = (id: string, title: string, hint: string, what: Edit) =>
    list.push({ id, title, hint, does: { edit: what } });
  if (by === "thread") {
    ask("focus", `Only thread ${name}`, "what it allocated", "thread", [frames.details[frame] ?? ""]);
  } else if (by?.startsWith("region")) {
    ask("focus", `Only region ${name}`, "what was allocated in it", "region", [name]);
  } else if (by === "module" && module !== "") {
    ask("focus", `Focus on ${name}`, "only call stacks through this file", "module", [module]);
    ask("ignore", `Ignore ${name}`, "only call stacks without this file", "ignore", [literally(module)]);
    ask("charge", `Charge ${name} to its callers`, "without the frames of this file", "hide", [literally(module)]);
  } else if (function_ !== "") {
    const pattern = [literally(function_)];
    ask("focus", `Focus on ${name}`, "only call stacks with this function", "focus", pattern);
    ask("ignore", `Ignore ${name}`, "only call stacks without this function", "ignore", pattern);
    ask("charge", `Charge ${name} to its callers`, "without this function, on every call stack", "hide", pattern);
  }
  const texts = [...below, ...path.map((f) => nameIn(frames, f))];
  if (paths !== "part") {
    const into = paths === "up" ? "what it calls" : "its caller";
    edit("merge", `Merge into ${into}`, "only this node", { kind: "merge", path: texts });
    edit("drop", "Drop this subtree", "neither this node nor what is below it counts", { kind: "drop", path: texts });
  }
  if (function_ !== "") {
    edit("recursion", `Collapse recursion of ${name}`, "once on each path", { kind: "recursion", of: function_ });
    if (module !== "") {
      const title = `Collapse library ${base(module)}`;
      edit("module", title, "its consecutive frames become one", { kind: "module", of: module });
    }
  }
  if (paths !== "part") ask("below", "Focus on this subtree", "shares are of this node", "below", texts);
  return list;
}

/** The name of a frame in a path: a function's, if that is enough to tell it from other frames. */
function nameIn(frames: Frames, frame: number): string {
  const function_ = frames.functions[frame] ?? "";
  return function_ !== "" && frames.called(function_).length === 1 ? function_ : (frames.texts[frame] ?? "");
}
