import assert from "node:assert/strict";
import { test } from "node:test";
import type { GroupColumns, MetricName } from "../src/api.ts";
import { Texts } from "../src/columns.ts";
import { Group } from "../src/model/group.ts";
import { byName, code, columnsOf, csvRows, inPlace, joined, markdown, moved, scaleOf } from "../src/model/table.ts";
import { sorted, withMetrics, type Sheet } from "../src/model/table.ts";

/** Functions with the total of one metric; self is half of it. */
export function sheet(rows: [string, number][], more = 0, metric: MetricName = "peak"): Sheet {
  const all = rows.map(([name]) => name);
  const texts = (of: string[]) => new Texts(Int32Array.from(of, (_, i) => i), of);
  const empty = texts(all.map(() => ""));
  const groups = {
    rows: rows.length, by: texts(all.map(() => "function")), unknown: new Uint8Array(rows.length), function: texts(all),
    file: empty, line: new Float64Array(rows.length), module: empty, offset: empty, kind: empty,
  } as unknown as GroupColumns;
  const total = Float64Array.from(rows, ([, value]) => value);
  return {
    by: "function", metrics: [{ name: metric, unit: "bytes", sums: true }], more, whole: {},
    groups: rows.map((_, i) => new Group(groups, undefined, i)),
    total: { [metric]: total }, self: { [metric]: total.map((value) => value / 2) },
  };
}

const names = (s: Sheet) => s.groups.map(({ name }) => name);

test("rows are sorted by any column, and stay in their order where it says nothing", () => {
  const s = sheet([["b", 2], ["a", 7], ["D", NaN], ["c", 2], ["e", 0]]);
  const order = (key: string, reverse: boolean) =>
    [...sorted(s.groups, { key, reverse }, columnsOf(s))].map((row) => names(s)[row]).join("");
  assert.equal(order("peak.total", false), "abceD");
  assert.equal(order("peak.total", true), "ebcaD");
  assert.equal(order("peak.self", false), "abceD");
  assert.equal(order("name", false), "abcDe");
  assert.equal(order("name", true), "eDcba");
  assert.equal(order("gone.total", false), "baDce");
});

test("names are sorted as texts are compared", () => {
  const parts = ["", "a", "ab", "std::", "\u0000", "\uffff", "é", "operator<", "z".repeat(20)];
  let seed = 1;
  const random = (n: number) => (seed = (seed * 48_271) % 2_147_483_647) % n;
  const list = Array.from({ length: 2000 }, () => Array.from({ length: random(6) }, () => parts[random(9)]).join(""));
  const { groups } = sheet(list.map((name) => [name || "-", 0]));
  const order = sorted(groups, { key: "name", reverse: false }, []);
  const lower = groups.map(({ name }) => name.toLowerCase());
  assert.deepEqual([...order].map((row) => lower[row]), [...lower].sort());
  assert.deepEqual(new Set(order).size, 2000);
});

test("sorting 50,000 rows takes less than 50 ms", () => {
  const number = (i: number) => (i * 7919) % 50_000;
  const s = sheet(Array.from({ length: 50_000 }, (_, i) => [`function ${number(i)}`, (i * 104_729) % 49_999]));
  byName(s.groups); // as a page does before the reader asks for it
  const columns = columnsOf(s);
  for (const key of ["peak.total", "name"]) {
    // The processor's time: the machine has other things to do.
    const times = [1, 2, 3, 4, 5].map(() => {
      const begin = process.cpuUsage();
      const order = sorted(s.groups, { key, reverse: false }, columns);
      const { user, system } = process.cpuUsage(begin);
      const value = (row: number) => (key === "name" ? (s.groups[row]?.name ?? "") : -(s.total["peak"]?.[row] ?? 0));
      for (let i = 1; i < order.length; i++) assert.ok(value(order[i - 1] ?? 0) <= value(order[i] ?? 0));
      return (user + system) / 1000;
    });
    assert.ok(Math.min(...times) < 50, `${key}: ${times.map(Math.round).join(", ")} ms`);
  }
});

test("a column has one unit, and small numbers do not become nothing", () => {
  const text = (unit: string, most: number, ...values: number[]) => {
    const scale = scaleOf(unit, most);
    return [...values.map(scale.text), scale.unit].join(" ");
  };
  assert.equal(text("bytes", 1023, 1023, 1, 0), "1,023 1 0 B");
  assert.equal(text("bytes", 5 * 1024 ** 2, 5 * 1024 ** 2, 1536 * 1024, 10_000, 1), "5.00 1.50 0.01 <0.01 MiB");
  assert.equal(text("bytes", 512 * 1024 ** 2, 512 * 1024 ** 2, 1e5, 1000, NaN), "512.0 0.1 <0.1 – MiB");
  assert.equal(text("bytes/s", 2048, 2048), "2.00 KiB/s");
  assert.equal(text("ns", 83_060_600, 83_060_600, 500), "83.1 <0.1 ms");
  assert.equal(text("count", 1e6, 1e6, 999), "1,000,000 999 ");
  assert.equal(text("ratio", 11, 11.2026, 0), "11.2 0.00 ×");
  assert.equal(text("bytes", 2 ** 60, 2 ** 60, 1), "1,024.0 <0.1 PiB");
  assert.equal(scaleOf("bytes", 1e9).exact(1234567), "1,234,567 bytes");
});

test("in a drag, rows stay where they are", () => {
  const before = sheet([["a", 5], ["b", 4], ["c", 3]], 9);
  const now = inPlace(before, sheet([["c", 8], ["x", 7], ["a", 1]]));
  assert.deepEqual(names(now), ["a", "b", "c", "x"]);
  assert.deepEqual([...(now.total["peak"] ?? [])], [1, NaN, 8, 7]);
  assert.deepEqual([...(now.self["peak"] ?? [])], [0.5, NaN, 4, 3.5]);
  assert.equal(now.more, 9);
  assert.deepEqual(names(inPlace({ ...before, by: "module" }, now)), names(now));
  const columns = columnsOf(before);
  const huge = inPlace(before, sheet([["a", 5e9]]));
  assert.equal(columnsOf(huge, columns, true)[0]?.scale.unit, "B");
  assert.equal(columnsOf(huge)[0]?.scale.unit, "GiB");
  const unknown = withMetrics({ ...before, metrics: [] }, ["peak"], before.metrics);
  assert.equal(columnsOf({ ...unknown, total: {}, self: {} }, columnsOf(huge))[0]?.scale.unit, "GiB");
});

test("pages are joined", () => {
  const both = joined(sheet([["a", 5]], 3), sheet([["b", 4], ["c", 3]], 1));
  assert.deepEqual([names(both), [...(both.total["peak"] ?? [])], both.more], [["a", "b", "c"], [5, 4, 3], 1]);
});

test("columns are moved", () => {
  assert.deepEqual(moved(["a", "b", "c"], 0, 2), ["b", "c", "a"]);
  assert.deepEqual(moved(["a", "b", "c"], 2, 0), ["c", "a", "b"]);
  assert.deepEqual(moved(["a", "b", "c"], 1, 9), ["a", "c", "b"]);
});

test("comma-separated values cannot become formulas or other cells", () => {
  assert.equal(
    csvRows([["name", "peak"], ['=1+"2",x', "2"], ["-5", "1"], ["a\u202eb\nc", "NaN"]]),
    'name,peak\r\n"\'=1+""2"",x",2\r\n-5,1\r\na\\u202eb\\u000ac,\r\n',
  );
});

test("Markdown shows a name as it is", () => {
  assert.equal(
    markdown("a|b`c", ["peak, KiB", "share"], ["2.00", "5 %"]),
    "|  | peak, KiB | share |\n| --- | ---: | ---: |\n| ``a\\|b`c`` | 2.00 | 5 % |\n",
  );
  assert.equal(code("`x"), "`` `x ``");
});
