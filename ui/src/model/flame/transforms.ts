// What the menu of a frame offers.
import { patternOf, transformsOf as transformsOfSubject, type Transform } from "../transforms.ts";
import { Frames } from "./frames.ts";

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
  const by = frames.groupings[frame] ?? "";
  return transformsOfSubject({
    name,
    by,
    function: function_,
    module,
    pattern: patternOf(by, function_, module),
    thread: by === "thread" ? frames.details[frame] : undefined,
    region: by.startsWith("region") && name !== "(no region)" ? name : undefined,
    path: paths === "part" ? undefined : [...below, ...path.map((f) => nameIn(frames, f))],
    up: paths === "up",
  });
}

/** The name of a frame in a path: a function's, if that is enough to tell it from other frames. */
function nameIn(frames: Frames, frame: number): string {
  const function_ = frames.functions[frame] ?? "";
  return function_ !== "" && frames.called(function_).length === 1 ? function_ : (frames.texts[frame] ?? "");
}
