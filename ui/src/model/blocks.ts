// Blocks that are live at a moment, and what became of one.
import type { Biography, Block, BlockColumns, Blocks, FrameColumns, GroupColumns, ThreadColumns } from "../api.ts";
import { PathColumn, Texts, type Paths } from "../columns.ts";
import { Group, type Frame } from "./group.ts";
import type { Place } from "./place.ts";

/** In which order blocks come, and as the server and the command line call it. */
export const blockOrders = [
  { name: "size", title: "largest" },
  { name: "age", title: "oldest" },
  { name: "newest", title: "newest" },
  { name: "address", title: "by address" },
] as const;

export type BlockOrder = (typeof blockOrders)[number]["name"];

/** The order that a place asks for. */
export function blockOrderOf(place: Pick<Place, "order">): BlockOrder {
  return blockOrders.find(({ name }) => name === place.order)?.name ?? "size";
}

/** A thread of the recording. */
export interface ThreadName {
  /** Its number in the recording, which no other thread has. */
  index: number;
  /** Its number in the system. */
  tid: number;
  name: string;
}

/** A thread as it is shown: server 4711. */
export function threadText({ name, tid }: ThreadName): string {
  return name === "" ? String(tid) : `${name} ${tid}`;
}

export function threadAt({ index, tid, name }: ThreadColumns, row: number): ThreadName {
  return { index: index[row] ?? 0, tid: tid[row] ?? 0, name: name.at(row) };
}

/** A block. */
export interface BlockRow {
  /** The number of its allocation, which names it. */
  number: number;
  event: number;
  bornNs: number;
  size: number;
  /** NaN: not known. */
  usable: number;
  /** Empty: not recorded. */
  address: string;
  thread: ThreadName;
  /** The function that was called, such as malloc. */
  call: string;
  sampled: boolean;
  /** The call stack that allocated it. */
  stack: Group;
}

/** Blocks of an answer. What a row is called is found when it is asked for. */
export class BlockList {
  readonly #stacks: StackGroups;
  readonly #rows: (BlockRow | undefined)[] = [];

  constructor(
    readonly columns: BlockColumns,
    frames: FrameColumns | undefined,
  ) {
    this.#stacks = new StackGroups(columns.stack, frames);
  }

  get length(): number {
    return this.columns.rows;
  }

  at(row: number): BlockRow | undefined {
    if (row < 0 || row >= this.length) return undefined;
    const { number, event, born_ns: born, size, usable, address, thread, call, sampled } = this.columns;
    return (this.#rows[row] ??= {
      number: number[row] ?? 0,
      event: event[row] ?? 0,
      bornNs: born[row] ?? 0,
      size: size[row] ?? 0,
      usable: usable[row] ?? NaN,
      address: address.at(row),
      thread: threadAt(thread, row),
      call: call.at(row),
      sampled: sampled[row] === 1,
      stack: this.#stacks.at(row),
    });
  }

  /** All of them: of short lists. */
  all(): BlockRow[] {
    return Array.from({ length: this.length }, (_, i) => this.at(i)).filter((row) => row !== undefined);
  }

  find(number: number): number {
    return this.columns.number.indexOf(number);
  }
}

/** Call stacks as groups, so that they are named and offer what rows of other pages do. */
export class StackGroups {
  readonly #columns: GroupColumns;
  readonly #frames: FrameColumns | undefined;

  constructor(stack: PathColumn, frames: FrameColumns | undefined) {
    const rows = stack.ids.length;
    const texts = (text: string) => new Texts(new Int32Array(rows), [text]);
    const zeros = new Float64Array(rows);
    const none = new Int32Array(rows).fill(-1);
    const threads = { rows: 0, index: new Float64Array(), tid: new Float64Array(), name: texts("") };
    this.#frames = frames;
    this.#columns = {
      rows, stack,
      by: texts("stack"), function: texts(""), kind: texts(""), file: texts(""), module: texts(""),
      offset: texts(""), call: texts(""), region: texts(""),
      unknown: Uint8Array.from(stack.ids, (id) => (id > 0 ? 0 : 1)),
      inlined: new Uint8Array(rows), line: zeros,
      thread: { row: none, of: threads },
      size: { row: none, of: { rows: 0, min: new Float64Array(), max: new Float64Array() } },
    };
  }

  at(row: number): Group {
    return new Group(this.#columns, this.#frames, row);
  }
}

/** The blocks that come first, of those that are live at a moment. */
export interface LiveBlocks {
  list: BlockList;
  atNs: number;
  /** How many come after them. */
  more: number;
  /** What all of them keep, also those after the list. */
  bytes: number;
  blocks: number;
  /** What could not be read. */
  missing: string | undefined;
}

/** Reads an answer; a biography is not one. */
export function liveBlocksOf(answer: Blocks | Biography): LiveBlocks {
  if (!("blocks" in answer)) throw new TypeError("this is one block, and not a list");
  const { blocks, frames, at_ns: atNs, more, total, missing } = answer;
  return {
    list: new BlockList(blocks, frames), atNs, more, missing,
    bytes: total["kept"] ?? NaN, blocks: total["kept-blocks"] ?? NaN,
  };
}

/** How a block ended, or became another one. */
export interface BlockEnd {
  timeNs: number;
  event: number;
  thread: ThreadName;
  call: string;
  /** It goes on as the next form. */
  realloc: boolean;
  /** Leaf first; empty if it was not recorded. */
  stack: readonly Frame[];
}

/** A block from its allocation, or reallocation, to the next one or its end. */
export interface BlockForm {
  block: BlockRow;
  /** Undefined: it never ended. */
  end: BlockEnd | undefined;
}

/** What became of a block. */
export interface Life {
  forms: readonly BlockForm[];
  /** Which of them was asked for. */
  asked: number;
  /** There are earlier ones, or they are not known. */
  earlier: boolean;
  later: boolean;
  neighbours: readonly Neighbour[];
  missing: string | undefined;
}

export interface Neighbour {
  /** In words: what it has to do with the block. */
  how: string;
  block: BlockRow;
}

export function lifeOf(answer: Blocks | Biography): Life {
  if (!("forms" in answer)) throw new TypeError("this is a list, and not one block");
  const { forms, frames, asked, earlier, later, missing, before, after, below, above } = answer;
  const paths = forms.stack.paths;
  const list = new BlockList(forms, frames);
  const ends = forms.end;
  const endStacks = new StackGroups(ends.of.stack, frames);
  const formAt = (block: BlockRow, i: number): BlockForm => {
    const row = ends.row[i] ?? -1;
    if (row < 0) return { block, end: undefined };
    const { time_ns: time, event, thread, call, realloc } = ends.of;
    return {
      block,
      end: {
        timeNs: time[row] ?? 0,
        event: event[row] ?? 0,
        thread: threadAt(thread, row),
        call: call.at(row),
        realloc: realloc[row] === 1,
        stack: endStacks.at(row).stack,
      },
    };
  };
  const named = (how: string, columns: BlockColumns) =>
    new BlockList(columns, frames).all().map((block) => ({ how, block }));
  const beside = (how: string, block: Block | null) =>
    block ? named(how, columnsOf(block, paths)) : [];
  return {
    forms: list.all().map(formAt), asked, earlier, later, missing,
    neighbours: [
      ...named("allocated before, by the same thread", before),
      ...named("allocated after, by the same thread", after),
      ...beside("next below in memory", below),
      ...beside("next above in memory", above),
    ],
  };
}

/** A single block as a table of one. */
function columnsOf(block: Block, paths: Paths): BlockColumns {
  const text = (value: string | undefined) => new Texts(Int32Array.of(0), [value ?? ""]);
  const { thread, usable } = block;
  return {
    rows: 1,
    number: Float64Array.of(block.number),
    event: Float64Array.of(block.event),
    born_ns: Float64Array.of(block.born_ns),
    size: Float64Array.of(block.size),
    usable: Float64Array.of(usable ?? NaN),
    address: text(block.address),
    thread: {
      rows: 1, index: Float64Array.of(thread.index), tid: Float64Array.of(thread.tid), name: text(thread.name),
    },
    call: text(block.call),
    sampled: Uint8Array.of(block.sampled === true ? 1 : 0),
    stack: new PathColumn(Int32Array.of(block.stack), paths),
  };
}
