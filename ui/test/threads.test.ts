import assert from "node:assert/strict";
import { test } from "node:test";
import type { Biography, BlockColumns, ThreadColumns } from "../src/api.ts";
import { PathColumn, Paths, Texts } from "../src/columns.ts";
import { BlockList, blockOrderOf, lifeOf, threadText } from "../src/model/blocks.ts";
import { heatOf, stepPath } from "../src/model/threads.ts";

const texts = (list: string[]) => new Texts(Int32Array.from(list, (_, i) => i), list);

function threads(indexes: readonly number[]): ThreadColumns {
  return {
    rows: indexes.length,
    index: Float64Array.from(indexes),
    tid: Float64Array.from(indexes, (index) => 100 + index),
    name: texts(indexes.map((index) => `t${index}`)),
  };
}

/** A matrix in columns; -1: nobody was seen to free it. */
function matrixOf(ways: readonly { from: number; to: number; bytes: number }[]) {
  let seen = 0;
  return {
    rows: ways.length,
    allocated_by: threads(ways.map(({ from }) => from)),
    freed_by: {
      row: Int32Array.from(ways, ({ to }) => (to < 0 ? -1 : seen++)),
      of: threads(ways.filter(({ to }) => to >= 0).map(({ to }) => to)),
    },
    blocks: Float64Array.from(ways, () => 2),
    bytes: Float64Array.from(ways, ({ bytes }) => bytes),
  };
}

test("who freed what: the threads with most have rows and columns, the others are summed", () => {
  for (const [count, most] of [[3, 64], [70, 64], [12, 4], [5, 1]] as const) {
    const ways = [];
    const exact = new Map<string, number>();
    for (let from = 0; from < count; from++) {
      for (const to of [from, (from * 7 + 1) % count, -1]) {
        if (exact.has(`t${from} t${to}`)) continue;
        const bytes = 1 + ((from * 31 + to * 17 + 100) % 97);
        ways.push({ from, to, bytes });
        exact.set(`t${from} t${to}`, bytes);
      }
    }
    const heat = heatOf({ matrix: matrixOf(ways) }, most);
    assert.ok(heat.allocated.length <= most + 1 && heat.freed.length <= most + 1);
    let sum = 0;
    let largest = 0;
    for (const from of heat.allocated) {
      let row = 0;
      for (const to of heat.freed) {
        const cell = heat.at(from, to);
        const bytes = cell?.bytes ?? 0;
        row += bytes;
        largest = Math.max(largest, bytes);
        const own = to.thread?.name ?? (to.key === "nobody" ? "t-1" : "");
        if (from.thread && own !== "") assert.equal(bytes, exact.get(`${from.thread.name} ${own}`) ?? 0);
      }
      assert.equal(row, from.bytes);
      sum += row;
    }
    assert.equal(sum, ways.reduce((all, { bytes }) => all + bytes, 0));
    assert.equal(heat.most, largest);
    for (const [index, bytes] of heat.freedBy) {
      assert.equal(bytes, ways.filter(({ to }) => to === index).reduce((all, way) => all + way.bytes, 0));
    }
    const last = heat.allocated.at(-1);
    if (count > most) assert.equal(last?.name, `${count - most} others`);
    else assert.ok(last?.thread);
  }
  assert.deepEqual(heatOf({ matrix: matrixOf([]) }, 64).allocated, []);
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
