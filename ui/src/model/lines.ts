// The rows of the table page: those of the table, and below an open one what belongs to it.
import type { Line } from "./outline.ts";

/** A row below a row of the table. R is how a frame of a call stack is shown. */
export type Sub<R> =
  | { kind: "words"; key: number; level: number; text: string }
  | { kind: "heading"; key: number; level: number; text: string; line: Line }
  | { kind: "frame"; key: number; level: number; row: R }
  | { kind: "node"; key: number; level: number; line: Line };

/** Rows that follow one of the table. */
export interface Block<R> {
  /** Its place among the rows of the table. */
  after: number;
  subs: readonly Sub<R>[];
}

/** All rows. Few are open, so that a row is found by going through those. */
export class Lines<R> {
  readonly length: number;

  /** @param blocks in the order of their places */
  constructor(
    readonly order: Uint32Array,
    readonly blocks: readonly Block<R>[],
  ) {
    this.length = blocks.reduce((sum, { subs }) => sum + subs.length, order.length);
  }

  /** A row of the table, by its number there, or one below it. */
  at(i: number): number | Sub<R> {
    let before = 0; // rows of blocks above
    for (const { after, subs } of this.blocks) {
      const inside = i - before - after - 1;
      if (inside < 0) break;
      const sub = subs[inside];
      if (sub) return sub;
      before += subs.length;
    }
    return this.order[i - before] ?? -1;
  }
  /** The row of a row of the table; -1: it is not among them. */
  ofRow(row: number): number {
    const place = this.order.indexOf(row);
    if (place < 0) return -1;
    return this.blocks.reduce((i, { after, subs }) => (after < place ? i + subs.length : i), place);
  }

  /** The row below one of the table that has a key; -1: there is none. */
  ofSub(key: number): number {
    let before = 0;
    for (const { after, subs } of this.blocks) {
      const inside = subs.findIndex((sub) => sub.key === key);
      if (inside >= 0) return before + after + 1 + inside;
      before += subs.length;
    }
    return -1;
  }
}
