// The keys of the flame graph.
import type { Action } from "../keys.ts";

const row = (id: string, keys: string[], title: string): Action => ({
  id: `flame.${id}`,
  keys,
  title,
  section: "Flame graph",
  page: "flame",
});

export const flameActions: readonly Action[] = [
  row("caller", ["ArrowUp", "w"], "To the caller"),
  row("callee", ["ArrowDown", "s"], "To the widest callee"),
  row("left", ["ArrowLeft", "a"], "To the frame on the left"),
  row("right", ["ArrowRight", "d"], "To the frame on the right"),
  row("root", ["Home"], "To the root"),
  row("zoom", ["Enter"], "Zoom to the current frame, or open its library frames"),
  row("back", ["Escape"], "One step back"),
  row("in", ["+", "="], "Zoom in"),
  row("out", ["-"], "Zoom out"),
  row("all", ["Shift+Home"], "Show everything"),
  row("up", ["PageUp"], "Up"),
  row("down", ["PageDown"], "Down"),
  row("next", ["n"], "Next match"),
  row("previous", ["N"], "Previous match"),
  row("menu", ["ContextMenu", "Shift+F10"], "What can be done with the current frame"),
  row("copy", ["y", "Y"], "Copy the call stack"),
  row("markdown", [], "Copy the flame graph as Markdown"),
  row("png", [], "Save the flame graph as a picture"),
  row("table", [], "Show the same as a table"),
];
