// Library frames, folded as on the command line: consecutive frames of libraries and wrappers become one, which says
// how many it stands for. In a tree these are all frames of libraries that hang together below a frame of the reader's
// own code. So own code that several library functions call is one frame, and a click opens what is between.
// What runs before main is on every call stack and says nothing: it counts for its callers.
import { library, runFrame, start, wrapper } from "./frames.ts";
import { change, keep, keysOf, merge, type Tree } from "./tree.ts";

export interface Folded {
  tree: Tree;
  into: Int32Array;
  /** How many levels of library frames a node stands for; 0: it is a frame of its own. */
  within: Int32Array;
  /** What names a run when it is opened or closed: of each node, the run that it is or was opened from; 0: none. */
  run: Float64Array;
}

/**
 * Folds the library frames of a tree. `opened` has the names of runs that stay open. A run of a single frame stays as
 * it is: its name takes no more room than its count.
 */
export function fold(tree: Tree, kinds: Uint8Array, opened: ReadonlySet<number>): Folded {
  const count = tree.parent.length;
  const keys = keysOf(tree);
  const top = new Int32Array(count).fill(-1); // the caller of the run that a library node is in
  const depth = new Int32Array(count); // of a library node in its run
  const single = new Map<number, number>(); // by caller of a run: its only frame; -1 if it has several
  for (let i = 1; i < count; i++) {
    const kind = kinds[tree.frame[i]!]!;
    if (kind !== library && kind !== wrapper && kind !== start) continue;
    const p = tree.parent[i]!;
    const caller = top[p]! >= 0 ? top[p]! : p;
    top[i] = caller;
    depth[i] = top[p]! >= 0 ? depth[p]! : 0;
    if (kind === start) continue;
    depth[i]!++;
    const known = single.get(caller);
    if (known === undefined) single.set(caller, tree.frame[i]!);
    else if (known !== tree.frame[i] || depth[i]! > 1) single.set(caller, -1);
  }
  const stays = (caller: number) => single.get(caller) !== -1 || opened.has(keys[caller]!);
  const starts = (node: number) => kinds[tree.frame[node]!] === start;
  const { tree: out, into } = change(tree, (node, callersFrame) => {
    if (starts(node)) return merge;
    const caller = top[node]!;
    if (caller < 0 || stays(caller)) return keep;
    return callersFrame === runFrame ? merge : runFrame;
  });
  const within = new Int32Array(out.parent.length);
  const run = new Float64Array(out.parent.length);
  for (let i = 1; i < count; i++) {
    const at = into[i]!;
    if (top[i]! < 0 || starts(i) || single.get(top[i]!) !== -1) continue;
    run[at] = keys[top[i]!]!;
    if (out.frame[at] === runFrame) within[at] = Math.max(within[at]!, depth[i]!);
  }
  return { tree: out, into, within, run };
}
