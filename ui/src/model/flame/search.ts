// What of a picture matches a pattern.
import type { Frames } from "./frames.ts";
import type { Laid } from "./job.ts";

/** Which frames match, by number. It grows with the frames: what was looked at is not looked at again. */
export class Pattern {
  readonly #pattern: RegExp;
  #frames = new Uint8Array(1024);
  #known = 0;

  /** Throws a SyntaxError if the text is not a regular expression. Without capitals, these are no different. */
  constructor(readonly text: string) {
    this.#pattern = new RegExp(text, /\p{Lu}/u.test(text) ? "u" : "iu");
  }

  /** A mark for each frame: 1 if its name, its source file or its module matches. */
  frames(all: Frames): Uint8Array {
    if (all.count > this.#frames.length) {
      const grown = new Uint8Array(2 * all.count);
      grown.set(this.#frames);
      this.#frames = grown;
    }
    for (; this.#known < all.count; this.#known++) {
      const text = all.texts[this.#known] ?? "";
      if (text !== "" && this.#pattern.test(text)) this.#frames[this.#known] = 1;
    }
    return this.#frames;
  }
}

export interface Found {
  /** By node of the picture: whether it matches, or stands for a frame that does. */
  nodes: Uint8Array;
  /** Boxes that match, in the order of the picture: by row, from left to right. */
  boxes: Int32Array;
  /** What all matching frames count for together. What is below several of them is counted once. */
  total: number;
}

export function search(laid: Laid, marks: Uint8Array): Found {
  const { source, into, tree, layout } = laid;
  const nodes = new Uint8Array(tree.parent.length);
  const covered = new Uint8Array(source.parent.length); // whether a node or one above it matches
  let total = 0;
  let count = 0;
  for (let i = 0; i < covered.length; i++) {
    const above = i > 0 && covered[source.parent[i]!] === 1;
    const at = into[i]!;
    const matches = at > 0 && marks[source.frame[i]!] === 1;
    if (above || matches) covered[i] = 1;
    if (!matches) continue;
    if (!above) total += source.total[i]!;
    if (nodes[at] === 0) count++;
    nodes[at] = 1;
  }
  const boxes = new Int32Array(count);
  let next = 0;
  for (let b = 0; b < layout.node.length; b++) if (nodes[layout.node[b]!] === 1) boxes[next++] = b;
  return { nodes, boxes, total };
}
