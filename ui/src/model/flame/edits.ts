// What the reader does to the picture. Each is a word in the address that can be taken back by itself.
//
// What the server can do, it does, so that the command line has the same numbers: --focus, --ignore, --hide (what a
// function allocates is its callers') and --below. The others change the tree that was sent; `collapse` in the address:
//
//   merge PATH           the node is its caller's; only there, unlike hide
//   drop PATH            neither the node nor anything below it counts
//   recursion FUNCTION   a function is shown once on each path: what lies between its calls is within the first
//   module MODULE        consecutive frames of a module are one
//
// A path has the names from the root, as --below takes them, with ; between them.
import { base } from "../names.ts";
import type { Frames } from "./frames.ts";
import { change, drop, into, keep, merge, nodeAt, restOf, type Tree } from "./tree.ts";

/** A change of the tree that was sent. */
export type Edit =
  | { kind: "merge"; path: string[] }
  | { kind: "drop"; path: string[] }
  | { kind: "recursion"; of: string }
  | { kind: "module"; of: string };

/** An edit as the address has it. */
export function formatEdit(edit: Edit): string {
  if (edit.kind === "merge" || edit.kind === "drop") {
    return `${edit.kind} ${edit.path.map((name) => name.replace(/[\\;]/g, "\\$&")).join(";")}`;
  }
  return `${edit.kind} ${edit.of}`;
}

/** Reads an edit; undefined if it is none. */
export function parseEdit(text: string): Edit | undefined {
  const [, kind, rest] = /^(merge|drop|recursion|module) (.+)$/su.exec(text) ?? [];
  if (rest === undefined) return undefined;
  if (kind === "recursion" || kind === "module") return { kind, of: rest };
  if (kind !== "merge" && kind !== "drop") return undefined;
  const path: string[] = [""];
  for (const [, escaped, plain] of rest.matchAll(/\\(.)|([^\\])/gsu)) {
    if (plain === ";") path.push("");
    else path[path.length - 1] += escaped ?? plain ?? "";
  }
  return { kind, path };
}

/** What a breadcrumb says: what was done, and to what. */
export function wordsOf(edit: Edit): { kind: string; value: string } {
  switch (edit.kind) {
    case "merge":
      return { kind: "merged", value: edit.path.at(-1) ?? "" };
    case "drop":
      return { kind: "dropped", value: edit.path.at(-1) ?? "" };
    case "recursion":
      return { kind: "recursion collapsed", value: edit.of };
    case "module":
      return { kind: "collapsed", value: base(edit.of) };
  }
}

/** Edits with frames instead of names, for the worker, which has no names. */
export interface NumberedEdits {
  /** Nodes of the tree that was sent, as paths; each step is the frames that its name means. */
  nodes: { kind: "merge" | "drop"; path: number[][] }[];
  /** One mark for each frame. */
  frames: { kind: "recursion" | "module"; marks: Uint8Array; becomes: number }[];
}

/**
 * Looks up the names of edits. `below` is the path that the tree was asked for; paths begin at the root of the whole
 * tree, so that they hold with and without it.
 */
export function numbered(edits: readonly Edit[], frames: Frames, below: readonly string[]): NumberedEdits {
  const found: NumberedEdits = { nodes: [], frames: [] };
  for (const edit of edits) {
    if (edit.kind === "merge" || edit.kind === "drop") {
      if (!below.every((name, i) => edit.path[i] === name)) continue;
      const path = edit.path.slice(below.length).map((name) => frames.called(name));
      found.nodes.push({ kind: edit.kind, path });
      continue;
    }
    const becomes = edit.kind === "module" ? frames.ofModule(edit.of) : 0; // first: it is marked as well
    const texts = edit.kind === "module" ? frames.modules : frames.functions;
    const marks = Uint8Array.from(texts, (text) => (text === edit.of ? 1 : 0));
    found.frames.push({ kind: edit.kind, marks, becomes });
  }
  return found;
}

/** A tree after edits, and which of its nodes each node went into (-1: it was dropped). */
export function applyEdits(tree: Tree, edits: NumberedEdits): { tree: Tree; into: Int32Array } {
  let at: { tree: Tree; into: Int32Array } = { tree, into: Int32Array.from(tree.parent, (_, i) => i) };
  // Nodes first and all at once: the path of one does not depend on what the others do.
  const fates = new Map<number, number>();
  for (const { kind, path } of edits.nodes) {
    const node = nodeAt(tree, path);
    if (node > 0) fates.set(node, kind === "merge" ? merge : drop);
  }
  if (fates.size > 0) at = change(tree, (node) => fates.get(node) ?? keep);
  for (const { kind, marks, becomes } of edits.frames) {
    const next = kind === "module" ? collapseModule(at.tree, marks, becomes) : collapseRecursion(at.tree, marks);
    at = { tree: next.tree, into: at.into.map((node) => (node < 0 ? -1 : next.into[node]!)) };
  }
  return at;
}

function collapseModule(tree: Tree, marks: Uint8Array, becomes: number) {
  return change(tree, (node, callersFrame) => {
    if (marks[tree.frame[node]!] !== 1) return keep;
    return callersFrame === becomes ? merge : becomes;
  });
}

/** A call of the function within itself goes into the outermost one; what is only between the two is left out. */
function collapseRecursion(tree: Tree, marks: Uint8Array) {
  const count = tree.parent.length;
  const outermost = new Int32Array(count); // call of the function above the node; 0: none
  for (let i = 1; i < count; i++) {
    const p = tree.parent[i]!;
    outermost[i] = outermost[p]! || (marks[tree.frame[p]!] === 1 ? p : 0);
  }
  // Whether a node has something that is not below another call of the function.
  const needed = new Uint8Array(count);
  const rest = restOf(tree, tree.total);
  for (let i = count - 1; i > 0; i--) {
    if (rest[i] !== 0 || tree.folded[i] !== 0) needed[i] = 1;
    if (needed[i] === 1 && marks[tree.frame[i]!] !== 1) needed[tree.parent[i]!] = 1;
  }
  return change(tree, (node) => {
    if (outermost[node] === 0) return keep;
    if (marks[tree.frame[node]!] === 1) return into(outermost[node]!);
    return needed[node] === 1 ? keep : merge;
  });
}
