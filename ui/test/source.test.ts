import assert from "node:assert/strict";
import { test } from "node:test";
import {
  firstFile,
  heat,
  places,
  scrollTo,
  search,
  sliceOf,
  SourceReader,
  type Sheet,
} from "../src/model/source.ts";
import { lineFocus } from "../src/model/details.ts";
import { sourceActions } from "../src/model/source-actions.ts";
import { frameActions, conflicts } from "../src/model/keys.ts";
import { askEntries, askPlace, sheetOf, sourceQuestion } from "../src/net/source.ts";
import { decode } from "../src/columns.ts";
import type { SourceText } from "../src/api.ts";
import { columns } from "./encode.mjs";

test("a virtual list shows the rows that are in view, and some more", () => {
  for (const [scroll, view, rows] of [
    [0, 600, 10],
    [0, 600, 1000],
    [7200, 600, 1000],
    [17_400, 600, 1000],
    [99_999, 600, 1000],
    [-5, 600, 1000],
    [0, 600, 0],
  ] as const) {
    const slice = sliceOf(scroll, view, rows, 18);
    assert.equal(slice.height, rows * 18);
    const at = Math.min(Math.max(0, scroll), Math.max(0, rows * 18 - view));
    // Each row is where it would be in the whole list, and no visible one is missing.
    assert.ok(Math.abs(slice.top - slice.first * 18) < 1e-6);
    assert.ok(slice.first * 18 <= at && (slice.first + slice.count) * 18 >= Math.min(at + view, rows * 18));
    assert.ok(slice.count <= view / 18 + 18);
  }
});

test("lists that are higher than a browser draws reach every row", () => {
  const rows = 4_000_000;
  for (const row of [0, 1, 123_456, 2_000_000, rows - 2, rows - 1]) {
    const scroll = scrollTo(row, 600, rows, 18);
    const slice = sliceOf(scroll, 600, rows, 18);
    assert.ok(slice.height <= 8_000_000);
    const top = slice.top + (row - slice.first) * 18 - scroll;
    assert.ok(row >= slice.first && row < slice.first + slice.count, `row ${row}`);
    assert.ok(top > -18 && top < 600, `row ${row} is ${top} pixels from the top of the view`);
  }
  assert.equal(scrollTo(3, 600, 10, 18), 0);
  assert.equal(scrollTo(500, 600, 1000, 18), 500 * 18 - 291);
});

test("search takes capital letters as they are, and small ones as either", () => {
  const lines = ["Cache c;", "cache();", "", "a.cache.Cache"];
  assert.deepEqual(search(lines, "cache"), { lines: [0, 1, 3], more: false });
  assert.deepEqual(search(lines, "Cache"), { lines: [0, 3], more: false });
  assert.deepEqual(search(lines, ""), { lines: [], more: false });
  assert.equal(search(Array.from({ length: 20_000 }, () => "x"), "x").more, true);
  assert.deepEqual(places("a.cache.Cache", "cache"), [[2, 7], [8, 13]]);
  assert.deepEqual(places("a.cache.Cache", "Cache"), [[8, 13]]);
  assert.deepEqual(places("aaaa", "aa"), [[0, 2], [2, 4]]);
  assert.deepEqual(places("İİ x", "x"), [[3, 4]]); // small letters of another length
  assert.equal(places("x".repeat(1000), "x").length, 100);
});

function sheet(more: Partial<Sheet> = {}): Sheet {
  const total = Float64Array.of(10, 40, 40);
  return {
    file: "/a.cc",
    found: "/a.cc",
    newer: false,
    note: "",
    text: ["int f() {", "  /* a", "     b */ g(1);", "  g(2);", "}"],
    cut: false,
    columns: [{ metric: "bytes", total, self: new Float64Array(3), hasSelf: false, largest: 40 }],
    rows: Float64Array.of(2, 3, 4),
    calls: new Map(),
    whole: [90],
    all: [100],
    ...more,
  };
}

test("a reader moves among lines, matches and what is hot", () => {
  const reader = new SourceReader();
  reader.move(1); // nothing is shown yet
  assert.equal(reader.current.value, 0);
  reader.show(sheet());
  assert.equal(reader.length, 5);
  assert.deepEqual(reader.at(2), { line: 3, row: 1, text: "     b */ g(1);" });
  assert.deepEqual(reader.at(4), { line: 5, row: -1, text: "}" });
  assert.deepEqual(reader.tokens(3).map(({ kind }) => kind), ["comment", "", "number", ""]);
  const went: number[] = [];
  const go = (act: () => void) => (act(), went.push(reader.current.value));
  go(() => reader.move(1));
  go(() => reader.move(3));
  go(() => reader.move(99));
  go(() => reader.goTo(0));
  go(() => reader.goTo(1000));
  go(() => reader.hottest());
  go(() => reader.hottest());
  go(() => reader.hottest());
  go(() => reader.hottest());
  reader.query.value = "g(";
  go(() => reader.match(1));
  go(() => reader.match(1));
  go(() => reader.match(-1));
  go(() => reader.match(-1));
  assert.deepEqual(went, [1, 4, 5, 1, 5, 3, 4, 2, 3, 4, 3, 4, 3]);
  assert.equal(reader.matchNumber, 1);
  // Other numbers of the same file move nothing; another file begins anew.
  reader.show(sheet({ rows: Float64Array.of(1) }));
  assert.deepEqual([reader.current.value, reader.query.value], [3, "g("]);
  reader.show(sheet({ file: "/b.cc" }));
  assert.deepEqual([reader.current.value, reader.query.value], [0, ""]);
});

test("without a text, the lines with numbers are shown; a file that is too short has them all", () => {
  const reader = new SourceReader();
  reader.show(sheet({ text: undefined, found: undefined }));
  assert.equal(reader.length, 3);
  assert.deepEqual([0, 1, 2].map((i) => reader.at(i).line), [2, 3, 4]);
  assert.deepEqual([1, 3, 9].map((line) => reader.indexOf(line)), [0, 1, 2]);
  reader.goTo(3);
  assert.equal(reader.current.value, 3);
  reader.show(sheet({ text: ["one"], rows: Float64Array.of(1, 7, 9) }));
  assert.equal(reader.length, 9);
  assert.deepEqual(reader.at(8), { line: 9, row: 2, text: undefined });
});

test("heat is a share of the largest line", () => {
  assert.deepEqual([0, 1, 2].map((row) => heat(sheet(), row)), [0.25, 1, 1]);
  const total = Float64Array.of(1, 1e9);
  const tiny = [{ metric: "bytes" as const, total, self: new Float64Array(2), hasSelf: false, largest: 1e9 }];
  assert.equal(heat(sheet({ columns: tiny }), 0), 0.04);
  assert.equal(heat(sheet({ columns: [] }), 0), 0);
});

test("an answer becomes a sheet", () => {
  const page = (more: object) => ({
    file: "/a.cc", source: "/src/a.cc", newer: true, note: "it is newer",
    lines: [{ line: 3, total: { peak: 5, bytes: 9 }, self: { peak: 0, bytes: 4 } }],
    total: { peak: 5, bytes: 9 },
    ...more,
  });
  const answer = {
    total: { peak: 10, bytes: 10 },
    pages: [page({})],
    calls: [
      { line: 3, function: "g", module: "/bin/x", offset: "", total: { peak: 4, bytes: 8 } },
      { line: 3, function: "", module: "/bin/x", offset: "0x10", total: { peak: 1, bytes: 1 } },
    ],
    text: ["a", "b", "c"],
    cut: false,
  };
  const of = (a: object) => sheetOf(decode<SourceText>(columns(a)).answer, ["peak", "bytes"]);
  const made = of(answer);
  assert.deepEqual(made?.columns.map(({ metric, hasSelf, largest }) => [metric, hasSelf, largest]), [
    ["peak", false, 5],
    ["bytes", true, 9],
  ]);
  assert.deepEqual(Array.from(made?.rows ?? []), [3]);
  assert.deepEqual(made?.calls.get(3)?.map(({ name, named, values }) => [name, named, values]), [
    ["g", true, [4, 8]],
    ["x+0x10", false, [1, 1]],
  ]);
  assert.deepEqual([made?.found, made?.newer, made?.note], ["/src/a.cc", true, "it is newer"]);
  const missing = of({ ...answer, text: null, pages: [page({ source: "", note: "not found" })] });
  assert.deepEqual([missing?.found, missing?.text, missing?.note], [undefined, undefined, "not found"]);
  assert.equal(of({ ...answer, pages: [] }), undefined);
  const asked = { from: "1s", function: "/a.cc", calls: true, limit: 1 };
  assert.deepEqual(sourceQuestion({ from: "1s" }, "/a.cc", ["live"], "peak").parameters, {
    ...asked, metric: ["live"], at: "peak",
  });
  const { parameters } = sourceQuestion({ from: "1s" }, "/a.cc", ["peak"], "peak");
  assert.deepEqual(parameters, { ...asked, metric: ["peak"] });
});

test("files are listed once, whatever their paths look like, and functions by name", async () => {
  const rows = (names: object[]) => ({
    total: { peak: 100 },
    more: 2,
    rows: names.map((group, i) => ({
      group: { file: "", function: "", module: "", kind: "own", ...group },
      total: { peak: 50 - i },
    })),
  });
  const asked: string[] = [];
  const ask = async (path: string) => {
    asked.push(path);
    return columns(
      path.includes("by=file")
        ? rows([{ file: "./a/../a.c", kind: "library" }, { file: "" }, { file: "a.c" }, { file: "/src/b.c" }])
        : rows([{ function: "f" }, { function: "" }, { function: "_start" }, { function: "g", kind: "library" }]),
    );
  };
  const list = await askEntries(ask, "1", { from: "1s" }, "peak", "x y");
  assert.deepEqual(list.files.map(({ name, value }) => [name, value]), [["a.c", 50], ["/src/b.c", 47]]);
  assert.deepEqual(list.functions.map(({ name, own }) => [name, own]), [["f", true], ["_start", false], ["g", false]]);
  assert.ok(asked.every((path) => path.includes("match=x+y") && path.includes("from=1s")));
  assert.equal(firstFile(list.files), "/src/b.c");
  assert.equal(firstFile([]), undefined);

  const place = await askPlace(
    async () => columns({ pages: [{ file: "/a.c", lines: [{ line: 7 }, { line: 9 }] }] }),
    "1",
    "f(int)",
  );
  assert.deepEqual(place, { file: "/a.c", line: 7 });
});

test("a line is focused on by its place, and its keys are free", () => {
  assert.equal(lineFocus("/src/./a+b.cc", 31), "^/src/a\\+b\\.cc:31$");
  assert.deepEqual(conflicts([...frameActions, ...sourceActions]), []);
});
