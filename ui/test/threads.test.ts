import assert from "node:assert/strict";
import { test } from "node:test";
import type { Biography, BlockColumns, ThreadColumns } from "../src/api.ts";
import { Lists, PathColumn, Paths, Texts } from "../src/columns.ts";
import { BlockList, blockOrderOf, lifeOf, threadText } from "../src/model/blocks.ts";
import { sumOfFrames } from "../src/model/frame-sizes.ts";
import { heatOf, stacksOf, stepPath, type Side } from "../src/model/threads.ts";

const texts = (list: string[]) => new Texts(Int32Array.from(list, (_, i) => i), list);

function threads(indexes: readonly number[]): ThreadColumns {
  return {
    rows: indexes.length,
    index: Float64Array.from(indexes),
    tid: Float64Array.from(indexes, (index) => 100 + index),
    name: texts(indexes.map((index) => `t${index}`)),
  };
}

/** A matrix in columns; -1: nobody was seen to free it; -2: threads without cells of their own. */
function matrixOf(ways: readonly { from: number; to: number; bytes: number }[]) {
  const shared = (list: readonly number[]) => {
    let seen = 0;
    return {
      row: Int32Array.from(list, (thread) => (thread < 0 ? -1 : seen++)),
      of: threads(list.filter((thread) => thread >= 0)),
    };
  };
  return {
    rows: ways.length,
    allocated_by: shared(ways.map(({ from }) => from)),
    freed_by: shared(ways.map(({ to }) => to)),
    freed_by_others: Uint8Array.from(ways, ({ to }) => Number(to === -2)),
    blocks: Float64Array.from(ways, () => 2),
    bytes: Float64Array.from(ways, ({ bytes }) => bytes),
  };
}

test("who freed what: a row and a column for each thread, and for those together", () => {
  for (const count of [3, 12, 64]) {
    const ways = [];
    const exact = new Map<string, number>();
    for (let from = -2; from < count; from++) {
      if (from === -1) continue;
      for (const to of [from, (from * 7 + 21) % count, -1, -2]) {
        if (exact.has(`${from} ${to}`)) continue;
        const bytes = 1 + ((from * 31 + to * 17 + 1000) % 97);
        ways.push({ from, to, bytes });
        exact.set(`${from} ${to}`, bytes);
      }
    }
    const heat = heatOf({ matrix: matrixOf(ways) });
    const numberOf = ({ thread, name }: Side) => thread?.index ?? (name === "other threads" ? -2 : -1);
    assert.equal(heat.allocated.length, count + 1);
    let sum = 0;
    let largest = 0;
    for (const from of heat.allocated) {
      let row = 0;
      for (const to of heat.freed) {
        const bytes = heat.at(from, to)?.bytes ?? 0;
        row += bytes;
        largest = Math.max(largest, bytes);
        assert.equal(bytes, exact.get(`${numberOf(from)} ${numberOf(to)}`) ?? 0);
      }
      assert.equal(row, from.bytes);
      sum += row;
    }
    assert.equal(sum, ways.reduce((all, { bytes }) => all + bytes, 0));
    assert.equal(heat.most, largest);
    for (const side of [heat.allocated, heat.freed]) {
      assert.equal(side.at(-1)?.name, "other threads");
      assert.deepEqual(side.slice(0, -1).map(({ bytes }) => bytes),
        side.slice(0, -1).map(({ bytes }) => bytes).sort((a, b) => b - a));
    }
  }
  assert.deepEqual(heatOf({ matrix: matrixOf([]) }).allocated, []);
});

test("a stack's curve has steps, and begins when the thread does", () => {
  const times = Float64Array.of(0, 10, 20, 40);
  assert.equal(stepPath(times, Float64Array.of(NaN, 5, 5, 10), 10), "M25.00 50.00H50.00V50.00H100.00V0.00");
  assert.equal(stepPath(times, Float64Array.of(NaN, NaN, NaN, 10), 10), "", "a point is not a line");
  assert.equal(stepPath(times, Float64Array.of(1, 2), 10), "");
  assert.equal(stepPath(times, Float64Array.of(0, 0, 0, 0), 0), "");
});

test("an order that does not exist, such as that of another page, is the first one", () => {
  assert.equal(blockOrderOf({ order: undefined }), "size");
  assert.equal(blockOrderOf({ order: "growth" }), "size");
  assert.equal(blockOrderOf({ order: "age" }), "age");
  assert.equal(threadText({ index: 0, tid: 7, name: "" }), "7");
});

const paths = new Paths(Int32Array.of(-1, 0, 1), Int32Array.of(-1, 1, 0)); // load below main
const frames = {
  rows: 2, function: texts(["load", "main"]), kind: texts(["own", "own"]), file: texts(["a.c", "a.c"]),
  line: Float64Array.of(3, 9), module: texts(["app", "app"]), inlined: Uint8Array.of(0, 0),
  address: texts(["0x1", "0x2"]), offset: texts(["0x1", "0x2"]),
};

test("what frames take of the deepest stacks: known, not known, and inlined into the next one", () => {
  const memory = {
    rows: 2, thread: threads([0, 1]), deepest_bytes: Float64Array.of(100, 500), deepest_ns: Float64Array.of(1, 2),
    stack: Float64Array.of(2, 2), frames: new PathColumn(Int32Array.of(1, 2), paths),
    frame_bytes: new Lists(Int32Array.of(1, 3), Float64Array.of(NaN, NaN, 48)),
    unknown_bytes: Float64Array.of(100, 452), touched_bytes: Float64Array.of(NaN, 600),
    size_bytes: Float64Array.of(NaN, 8000), growth: undefined,
  };
  const stacksIn = (inlined: Uint8Array) =>
    stacksOf({ stack_memory: memory, frames: { ...frames, inlined } } as unknown as Parameters<typeof stacksOf>[0]);
  const [first, second] = stacksIn(Uint8Array.of(0, 0));
  assert.deepEqual(first?.frames.map(({ name }) => name), ["load", "main"]);
  assert.deepEqual([...(first?.frameBytes ?? [])], [NaN, 48]);
  assert.equal(first?.unknown, 452);
  assert.deepEqual([...(second?.frameBytes ?? [])], [NaN]);
  assert.deepEqual(sumOfFrames(first?.frameBytes ?? new Float64Array(), 0, 2), { known: 48, unknown: 1 });
  const [inlined] = stacksIn(Uint8Array.of(1, 0));
  assert.deepEqual([...(inlined?.frameBytes ?? [])], [0, 48]);
  assert.deepEqual(sumOfFrames(inlined?.frameBytes ?? new Float64Array(), 0, 2), { known: 48, unknown: 0 });
});

function blocks(rows: readonly { number: number; size: number; born: number; stack: number }[]): BlockColumns {
  return {
    rows: rows.length,
    number: Float64Array.from(rows, ({ number }) => number),
    event: Float64Array.from(rows, ({ number }) => 2 * number),
    born_ns: Float64Array.from(rows, ({ born }) => born),
    size: Float64Array.from(rows, ({ size }) => size),
    usable: new Float64Array(rows.length).fill(NaN),
    address: texts(rows.map(() => "")),
    thread: threads(rows.map(() => 1)),
    call: texts(rows.map(() => "malloc")),
    sampled: new Uint8Array(rows.length),
    stack: new PathColumn(Int32Array.from(rows, ({ stack }) => stack), paths),
  };
}

test("blocks are named by their call stacks, as rows of other pages", () => {
  const rows = [{ number: 4, size: 10, born: 5, stack: 2 }, { number: 9, size: 1, born: 6, stack: 0 }];
  const list = new BlockList(blocks(rows), frames);
  const [first, second] = list.all();
  assert.equal(first?.stack.name, "load");
  assert.deepEqual(first?.stack.stack.map(({ name, place }) => `${name} ${place}`), ["load a.c:3", "main a.c:9"]);
  assert.equal(second?.stack.name, "(no call stack)");
  assert.equal(list.find(9), 1);
  assert.equal(list.find(5), -1);
  assert.equal(list.at(2), undefined);
});

test("a biography has its forms with their ends, and what was beside the block", () => {
  const ends = {
    rows: 2, time_ns: Float64Array.of(20, 90), event: Float64Array.of(11, 40), thread: threads([1, 2]),
    call: texts(["realloc", "free"]), realloc: Uint8Array.of(1, 0),
    stack: new PathColumn(Int32Array.of(0, 1), paths),
  };
  const forms = [{ number: 4, size: 10, born: 5, stack: 2 }, { number: 6, size: 30, born: 20, stack: 2 }];
  const answer = {
    frames, asked: 1, earlier: false, later: false,
    forms: { ...blocks(forms), end: { row: Int32Array.of(0, 1), of: ends } },
    before: blocks([{ number: 3, size: 7, born: 4, stack: 1 }]),
    after: blocks([]),
    below: null,
    above: {
      number: 2, event: 3, born_ns: 3, size: 8, usable: null, thread: { index: 1, tid: 101, name: "t1" },
      call: "malloc", stack: 2,
    },
  } as unknown as Biography;
  const life = lifeOf(answer);
  assert.equal(life.asked, 1);
  assert.deepEqual(life.forms.map(({ block, end }) => [block.number, end?.timeNs, end?.realloc, end?.thread.tid]), [
    [4, 20, true, 101],
    [6, 90, false, 102],
  ]);
  assert.deepEqual(life.forms[1]?.end?.stack.map(({ name }) => name), ["main"]);
  assert.deepEqual(life.neighbours.map(({ how, block }) => [how, block.number, block.stack.name]), [
    ["allocated before, by the same thread", 3, "main"],
    ["next above in memory", 2, "load"],
  ]);
  assert.throws(() => lifeOf({ blocks: blocks([]) } as never), TypeError);
});
