// What the worker does with an answer: one job makes the picture's tree of the trees that were sent, and lays it out.
import { applyEdits, type NumberedEdits } from "./edits.ts";
import { fold } from "./fold.ts";
import { layOut, notePlaces, type Layout, type Order, type Places } from "./layout.ts";
import { difference, graft, nodeAt, type Tree } from "./tree.ts";

export interface Job {
  id: number;
  tree: Tree;
  /** The tree of the first range, if the picture is the difference of two. */
  before: Tree | undefined;
  /** Subtrees that were asked for later, each with the frames that lead to it. */
  grafts: { path: number[]; tree: Tree }[];
  edits: NumberedEdits;
  /** Whose code each frame is; undefined: library frames are not folded. */
  kinds: Uint8Array | undefined;
  /** Runs of library frames that were opened. */
  opened: Float64Array;
  order: Order;
}

/** The picture of a job. */
export interface Laid {
  id: number;
  /** What is drawn. */
  tree: Tree;
  layout: Layout;
  /** How many levels of library frames a node stands for; 0: it is a frame itself. */
  within: Int32Array;
  /** The run of library frames that a node is, or was opened from; 0: none. */
  run: Float64Array;
  /** The tree before it was edited and folded, and the node of `tree` that each of its nodes is in (-1: none). */
  source: Tree;
  into: Int32Array;
}

/** Carries out jobs, one after the other: what it keeps is where frames were, for the order `keep`. */
export class Workshop {
  readonly #places: Places = new Map();
  #last: Float64Array | undefined; // keys in the order of a picture whose places were not noted yet

  do(job: Job): Laid {
    let source = job.before ? difference(job.before, job.tree) : job.tree;
    // Outer ones first: what is known of a part of them stays.
    const grafts = job.before ? [] : job.grafts.toSorted((a, b) => a.path.length - b.path.length);
    for (const { path, tree } of grafts) {
      const node = nodeAt(
        source,
        path.map((frame) => [frame]),
      );
      if (node > 0) source = graft(source, node, tree);
    }
    const edited = applyEdits(source, job.edits);
    let { tree, into } = edited;
    let within: Int32Array = new Int32Array(tree.parent.length);
    let run: Float64Array = new Float64Array(tree.parent.length);
    if (job.kinds) {
      const folded = fold(tree, job.kinds, new Set(job.opened));
      into = into.map((node) => (node < 0 ? -1 : folded.into[node]!));
      ({ tree, within, run } = folded);
    }
    if (job.order === "keep" && this.#last) {
      notePlaces(this.#places, this.#last, true);
      this.#last = undefined;
    }
    const layout = layOut(tree, job.order, this.#places);
    // The picture is handed over with its arrays, so what is needed of it is copied.
    const order = Float64Array.from(layout.node, (node) => layout.key[node]!);
    if (job.order === "keep") notePlaces(this.#places, order, false);
    else this.#last = order;
    return { id: job.id, tree, layout, within, run, source, into };
  }
}

/** The memory of a message's arrays, each once, so that it is handed over and not copied. */
export function buffersOf(message: unknown): ArrayBuffer[] {
  const found = new Set<ArrayBuffer>();
  const look = (value: unknown) => {
    if (ArrayBuffer.isView(value)) {
      if (value.buffer instanceof ArrayBuffer) found.add(value.buffer);
    } else if (Array.isArray(value)) value.forEach(look);
    else if (typeof value === "object" && value !== null) Object.values(value).forEach(look);
  };
  look(message);
  return [...found];
}
