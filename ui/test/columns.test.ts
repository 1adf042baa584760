import assert from "node:assert/strict";
import { test } from "node:test";
import { decode, Lists, PathColumn, Texts } from "../src/columns.ts";

interface Table {
  rows: number;
  [field: string]: unknown;
}

/** Decodes the columns of a table with two rows. */
function table(columns: Record<string, unknown>, more: object = {}): Table {
  const message = { answer: { t: { rows: 2, columns } }, texts: ["", "main", "f"], ...more };
  return decode<{ t: Table }>(message).answer.t;
}

test("numbers come as a list, as differences, or once for all rows", () => {
  for (const [column, want] of [
    [[7, 9], [7, 9]],
    [{ delta: [7, -2] }, [7, 5]],
    [4, [4, 4]],
    [[1, null], [1, NaN]],
    [null, [NaN, NaN]],
    [["18446744073709551615", 0], [2 ** 64, 0]],
  ] as const) {
    assert.deepEqual(table({ n: column })["n"], Float64Array.from(want));
  }
});

test("texts are there once, and rows refer to them", () => {
  const { a, b } = table({ a: { text: [1, -1] }, b: { text: 2 } });
  assert(a instanceof Texts && b instanceof Texts);
  assert.deepEqual([a.at(0), a.at(1), a.at(2), b.at(0), b.at(1)], ["main", "", "", "f", "f"]);
});

test("flags, objects, shared objects and lists", () => {
  const t = table({
    flag: { flag: [0, 1] },
    inner: { fields: { n: [1, 2] } },
    values: { record: { peak: [3, 4] } },
    group: { row: [-1, 0], of: { rows: 1, columns: { name: { text: 1 } } } },
    lists: { list: [0, 2], of: [5, 6] },
  });
  assert.deepEqual(t["flag"], Uint8Array.of(0, 1));
  assert.deepEqual(t["inner"], { rows: 2, n: Float64Array.of(1, 2) });
  assert.deepEqual(t["values"], { peak: Float64Array.of(3, 4) });
  const group = t["group"] as { row: Int32Array; of: { rows: number; name: Texts } };
  assert.deepEqual(group.row, Int32Array.of(-1, 0));
  assert.deepEqual([group.of.rows, group.of.name.at(0)], [1, "main"]);
  const lists = t["lists"];
  assert(lists instanceof Lists);
  assert.deepEqual([lists.start(0), lists.end(0), lists.start(1), lists.end(1)], [0, 0, 0, 2]);
  assert.deepEqual(lists.of, Float64Array.of(5, 6));
});

test("call stacks share their callers", () => {
  const paths = { rows: 4, columns: { parent: [-1, 0, 1, 1], frame: [-1, 10, 11, 12] } };
  const { stack } = table({ stack: { path: [2, 3] } }, { paths });
  assert(stack instanceof PathColumn);
  assert.deepEqual([stack.frames(0), stack.frames(1)], [[11, 10], [12, 10]]);
});

test("fields outside of tables: texts stay texts, large integers become numbers", () => {
  const { answer } = decode<Record<string, unknown>>({
    answer: {
      function: "123",
      bytes: "9007199254740993",
      range: { at: 1 },
      damage: ["1"],
      exact: [true, false],
      times_ns: { delta: [5, 1] },
    },
    texts: [],
  });
  assert.deepEqual(answer, {
    function: "123",
    bytes: 2 ** 53,
    range: { at: 1 },
    damage: ["1"],
    exact: [true, false],
    times_ns: Float64Array.of(5, 6),
  });
});

test("what is not an answer is refused", () => {
  for (const message of [
    undefined,
    {},
    { answer: {} },
    { answer: {}, texts: [1] },
    { answer: { t: { rows: -1, columns: {} } }, texts: [] },
    { answer: { t: { rows: 1e9, columns: {} } }, texts: [] },
    { answer: { t: { rows: 1, columns: { n: [1, 2] } } }, texts: [] },
    { answer: { t: { rows: 1, columns: { n: { delta: [] } } } }, texts: [] },
    { answer: { t: { rows: 1, columns: { n: { what: 1 } } } }, texts: [] },
    { answer: {}, texts: [], paths: { rows: 2, columns: { parent: [-1, 1], frame: [-1, 0] } } },
    { answer: {}, texts: [], paths: { rows: 2 } },
  ]) {
    assert.throws(() => decode(message), TypeError, JSON.stringify(message));
  }
});
