import assert from "node:assert/strict";
import { test } from "node:test";
import type { HeapFilm } from "../src/api.ts";
import { decode } from "../src/columns.ts";
import { clockOf } from "../src/model/clock.ts";
import {
  addressesOf,
  addressesText,
  addressOf,
  ageNumber,
  ageOf,
  areaThen,
  areaWith,
  cellAt,
  cellBox,
  cellOf,
  cellThen,
  cellWords,
  flameOf,
  HeapColours,
  heapIn,
  heapLayout,
  heapOf,
  isOf,
  lacksMemory,
  momentAt,
  momentText,
  momentWords,
  movedCell,
  partsOf,
  placeOfCell,
  selectedCellsOf,
  stackOnly,
  tintOf,
  zoomedArea,
  type Heap,
} from "../src/model/heap.ts";
import type { Frame } from "../src/model/group.ts";
import { formatPlace, parsePlace, placeOf } from "../src/model/place.ts";
import { columns } from "./encode.mjs";

const seconds = 1e9;
const clock = clockOf(10 * seconds, undefined);
const place = placeOf("1");
const base64 = (...bytes: number[]) => Buffer.from(bytes).toString("base64");

/** A heap with a page for a cell, and mappings of four pages a cell with a gap between them. */
function heap(more: object = {}): Heap {
  const answer = {
    color: "stack",
    cells: 9,
    last_ns: 10 * seconds,
    tints: ["parse(char const*)", "app+0x12"],
    bands: [
      {
        kind: "arena", first_cell: 0, cells: 4, cell_pages: 1, pages: 4,
        threads: [{ index: 1, tid: 7, name: "worker", share: 0.95 }],
        runs: [{ address: "0x7f0000000000", pages: 4, cell: 0, page: 0 }],
      },
      {
        kind: "mappings", first_cell: 4, cells: 5, cell_pages: 4, pages: 12, threads: [],
        runs: [
          { address: "0x7f1000001000", pages: 7, cell: 4, page: 0 },
          { address: "0x7ffff0000000", pages: 5, cell: 7, page: 0 },
        ],
      },
    ],
    moments: [
      {
        time_ns: 2 * seconds, events: 5, at_peak: false, live: { count: 1, bytes: 64 },
        fill: base64(4, 0, 0, 0, 0, 0, 0, 0, 0), age: base64(0, 0, 0, 0, 0, 0, 0, 0, 0),
        tint: base64(1, 0, 0, 0, 0, 0, 0, 0, 0), resident: "", absent: "",
      },
      {
        time_ns: 6 * seconds, events: 9, at_peak: true, live: { count: 3, bytes: 70_000 },
        fill: base64(255, 128, 0, 0, 255, 51, 0, 255, 7), age: base64(255, 170, 0, 0, 0, 85, 0, 255, 1),
        tint: base64(0, 1, 0, 0, 2, 0, 0, 1, 2), resident: "", absent: "",
      },
    ],
    ...more,
  };
  return heapOf(decode<HeapFilm>(columns(answer)).answer);
}

test("cells have addresses, and gaps have none", () => {
  const h = heap();
  assert.deepEqual([...h.used], [1, 1, 1, 1, 1, 1, 0, 1, 1]);
  const addresses = Array.from({ length: 9 }, (_, cell) => addressOf(h, cell));
  assert.deepEqual(addresses.slice(0, 2), ["0x7f0000000000", "0x7f0000001000"]);
  assert.deepEqual(addresses.slice(4), ["0x7f1000001000", "0x7f1000005000", undefined, "0x7ffff0000000",
    "0x7ffff0004000"]);
});

test("a cell is said in words: where, how full, how old, whose", () => {
  const h = heap();
  const [first, peak] = h.moments;
  assert.deepEqual(cellWords(h, first!, 0), {
    where: "4.00 KiB of arena of worker (7) at 0x7f0000000000",
    full: "1.6 % full",
    whose: "on average younger than 10.0 ms, most of it by app+0x12",
  });
  assert.equal(cellWords(h, peak!, 1).whose, "on average 1.00 s old, most of it by app+0x12");
  assert.equal(cellWords(h, peak!, 4).full, "full");
  assert.match(cellWords(h, peak!, 4).whose, /by other functions$/);
  assert.deepEqual(cellWords(h, peak!, 2).full, "empty");
  assert.equal(cellWords(h, peak!, 6).where, "a gap between addresses");
  assert.equal(ageOf(h, 255), 10 * seconds);
  assert.match(momentWords(h, peak!, clock), /^at the peak, 6\.00 s: .* live in 3 blocks, on 6 cells; 2 cells empty$/);
});

test("where it was recorded, a cell says what is in memory, and one without a block has a colour of its own", () => {
  const h = heap();
  const [first, peak] = h.moments;
  const known = {
    ...peak!,
    resident: Uint8Array.of(255, 51, 255, 0, 0, 0, 0, 0, 0),
    absent: Uint8Array.of(0, 127, 0, 255, 0, 205, 0, 1, 255),
  };
  const full = (cell: number) => cellWords(h, known, cell).full;
  assert.deepEqual([0, 1, 2, 3, 4].map(full), ["full, all in memory", "50.2 % full, 20.0 % in memory",
    "empty, all in memory", "empty, not in memory", "full, not seen in memory"]);
  assert.deepEqual([...h.used.keys()].filter((cell) => lacksMemory(known, cell)), [5, 7, 8]);
  assert.equal(lacksMemory(first!, 0), false);
  const colours = new HeapColours(h, "occupancy", true);
  assert.equal(colours.of(0, 0, 0, 255), colours.held);
  assert.equal(colours.of(0, 0, 0, 0), colours.empty);
  assert.notEqual(colours.held, colours.empty);
  assert.equal(colours.of(9, 0, 0, 0), colours.of(9, 0, 0, 255));
  assert.equal(first!.resident.length, 0);
});

test("what selected blocks have is of one moment, in the cells of the film", () => {
  const h = heap();
  const answer = {
    cells: 9, color: "occupancy", last_ns: seconds, tints: [],
    bands: [{ kind: "heap", first_cell: 0, cells: 9, cell_pages: 1, pages: 9, threads: [],
      runs: [{ address: "0x1000", pages: 9, cell: 0, page: 0 }] }],
    moments: [{ time_ns: 6 * seconds, events: 9, at_peak: true, live: { count: 1, bytes: 64 },
      fill: base64(0, 9, 0, 0, 0, 0, 0, 0, 0), age: "", tint: "", resident: "", absent: "" }],
  };
  const selected = selectedCellsOf(decode<HeapFilm>(columns(answer)).answer);
  assert.deepEqual([...selected.fill], [0, 9, 0, 0, 0, 0, 0, 0, 0]);
  assert.deepEqual(selected.live, { bytes: 64, blocks: 1 });
  assert.deepEqual(h.moments.map((moment) => isOf(h, moment, selected)), [false, true]);
  assert.equal(isOf({ ...h, cells: 10 }, h.moments[1]!, selected), false);
  assert.equal(isOf(h, h.moments[1]!, undefined), false);
});

test("a name may have whatever it likes", () => {
  const h = heap({ tints: ["a: b, c", "x\u202ey"] });
  assert.equal(cellWords(h, h.moments[1]!, 0).whose, "on average 10.0 s old, most of it by a: b, c");
  assert.ok(!cellWords(h, h.moments[1]!, 1).whose.includes("\u202e"));
});

test("a click leads to the flame graph of whose a cell is, at that moment", () => {
  const h = heap();
  const [first, peak] = h.moments;
  const there = placeOfCell(h, { ...place, focus: ["main"], page: "heap" }, peak!, 0);
  assert.equal(there?.page, "flame");
  assert.deepEqual(there?.focus, ["main", "^parse\\(char const\\*\\)$"]);
  assert.deepEqual([there?.at, there?.metric], ["peak", ["live"]]);
  assert.equal(placeOfCell(h, place, peak!, 1), undefined, "code without a name is no filter");
  assert.equal(placeOfCell(h, place, peak!, 2), undefined, "an empty cell is nobody's");
  assert.equal(placeOfCell(h, place, peak!, 4), undefined, "others are many");
  const threads = heap({ color: "thread", tints: ["worker (12)", "thread 9"] });
  assert.deepEqual(placeOfCell(threads, place, peak!, 0)?.thread, ["12"]);
  assert.deepEqual(placeOfCell(threads, place, peak!, 1)?.thread, ["9"]);
  assert.equal(momentText(first!), "2s");
  assert.equal(flameOf(place, "0x7f12"), undefined);
});

test("the moment of the address is the nearest one", () => {
  const h = heap();
  const run = { ...clock.run, peak: 6 * seconds, marks: new Map([["load", 1.5 * seconds]]) };
  assert.equal(momentAt(h, undefined, run), 1);
  assert.equal(momentAt(h, "peak", run), 1);
  assert.equal(momentAt(h, "1s", run), 0);
  assert.equal(momentAt(h, "load", run), 0);
  assert.equal(momentAt(h, "end", run), 1);
});

test("cells are as large as there is room for, and are found where they are", () => {
  const h = heap();
  for (const [width, room] of [[800, 400], [200, 60], [110, 10], [0, 0]] as const) {
    const layout = heapLayout(h, width, room, 100);
    for (let cell = 0; cell < h.cells; cell++) {
      const { x, y } = cellBox(h, layout, cell);
      assert.equal(cellAt(h, layout, x + 1, y + 1), h.used[cell] ? cell : undefined, `cell ${cell} of ${width}`);
      assert.ok(y + layout.edge <= layout.height, `cell ${cell} is below the picture of ${width}`);
    }
    assert.equal(cellAt(h, layout, 50, 1), undefined, "labels are no cells");
  }
  assert.ok(heapLayout(h, 800, 400, 100).pitch > heapLayout(h, 130, 80, 100).pitch);
});

test("keys lead from cell to cell, over gaps and from band to band, and reach all", () => {
  const h = heap();
  const layout = { ...heapLayout(h, 800, 400, 100), columns: 2 };
  const go = (cell: number, key: string) => movedCell(h, layout, cell, key);
  assert.equal(go(5, "ArrowRight"), 7);
  assert.equal(go(7, "ArrowLeft"), 5);
  assert.equal(go(0, "ArrowLeft"), 0);
  assert.equal(go(8, "ArrowRight"), 8);
  assert.equal(go(1, "ArrowDown"), 3);
  assert.equal(go(3, "ArrowDown"), 5);
  assert.equal(go(5, "ArrowUp"), 3);
  assert.equal(go(0, "PageDown"), 4);
  assert.equal(go(8, "PageUp"), 0);
  assert.equal(go(0, "End"), 1);
  assert.equal(go(1, "Home"), 0);
  assert.equal(go(1, "x"), undefined);
  const seen = new Set<number>();
  for (let cell = 0; !seen.has(cell); cell = go(cell, "ArrowRight") ?? cell) seen.add(cell);
  assert.equal(seen.size, 8);
});

test("colours say how full, how old, and whose", () => {
  const h = heap();
  const full = new HeapColours(h, "occupancy", true);
  assert.equal(full.of(255, 9, 1), "rgb(74 99 231)");
  assert.equal(full.of(1, 9, 1), "rgb(255 226 154)");
  assert.equal(full.of(0, 9, 1), full.empty);
  const age = new HeapColours(h, "age", false);
  assert.equal(age.of(255, 255, 0), "rgb(122 31 92)");
  assert.notEqual(age.of(255, 0, 0), age.of(255, 128, 0));
  const whose = new HeapColours(h, "stack", false);
  assert.equal(whose.of(255, 0, 0), whose.of(255, 200, 0));
  assert.notEqual(whose.of(255, 0, 0), whose.of(255, 0, 1));
  assert.equal(whose.of(255, 0, 2), whose.of(255, 0, 7), "the others have one colour");
  assert.notEqual(whose.of(255, 0, 0), whose.of(20, 0, 0));
});

test("the address says by what cells are coloured", () => {
  assert.equal(tintOf(parsePlace("?page=heap&tint=age")), "age");
  assert.equal(tintOf(parsePlace("?page=heap&tint=x")), "occupancy");
  assert.equal(formatPlace({ ...place, page: "heap", tint: "thread" }), "/?recording=1&page=heap&tint=thread");
});

test("the addresses of a cell lead back to it, and no two cells share one", () => {
  const h = heap();
  let end = -1n;
  for (let cell = 0; cell < h.cells; cell++) {
    const there = addressesOf(h, cell);
    if (!h.used[cell]) {
      assert.equal(there, undefined);
      continue;
    }
    assert.ok(there && there.from > end && there.to > there.from);
    end = there.to;
    assert.equal(cellOf(h, addressesText(there)), cell);
    assert.equal(cellOf(h, `0x${there.to.toString(16)}`), cell);
    assert.equal(Number(there.to - there.from + 1n), bytes[cell]);
  }
  for (const text of [undefined, "", "0x", "x", "0x1", "0x7f0000004000", "0xfffffffffffffffff", "4711"]) {
    assert.equal(cellOf(h, text), undefined, text);
  }
});

/** How many bytes the cells have. */
const bytes = [4096, 4096, 4096, 4096, 16384, 12288, 0, 16384, 4096];

test("zooming keeps the cell in the picture, down to one, and back to all", () => {
  const h = heap();
  const all = { first: 0, cells: h.cells };
  for (const cell of [0, 3, 5, 8]) {
    let area = all;
    while (area.cells > 1) {
      const before = area.cells;
      area = zoomedArea(h, area, cell, 0.5);
      assert.ok(area.cells < before && area.first <= cell && cell < area.first + area.cells);
      const part = heapIn(h, area);
      assert.equal(part.bands.reduce((sum, { cells }) => sum + cells, 0), area.cells);
      const layout = heapLayout(part, 800, 400, 100, 120);
      const { x, y } = cellBox(part, layout, cell);
      assert.equal(cellAt(part, layout, x, y), cell);
    }
    assert.deepEqual(area, { first: cell, cells: 1 });
    for (let i = 0; i < 4; i++) area = zoomedArea(h, area, cell, 2);
    assert.deepEqual(area, all);
    assert.equal(heapIn(h, area), h);
  }
  assert.deepEqual(areaWith({ first: 2, cells: 3 }, 7), { first: 5, cells: 3 });
  assert.deepEqual(areaWith({ first: 2, cells: 3 }, 1), { first: 1, cells: 3 });
  assert.deepEqual(areaWith({ first: 2, cells: 3 }, 4), { first: 2, cells: 3 });
});

test("in another layout, addresses keep their place, and cells their size", () => {
  const rows = (pages: number, cellPages: number, address: string) => {
    const cells = Math.ceil(pages / cellPages);
    const zeros = base64(...Array<number>(cells).fill(0));
    return heap({
      cells,
      bands: [
        { kind: "heap", first_cell: 0, cells, cell_pages: cellPages, pages, threads: [],
          runs: [{ address, pages, cell: 0, page: 0 }] },
      ],
      moments: [{ time_ns: seconds, events: 1, at_peak: true, live: { count: 0, bytes: 0 }, fill: zeros, age: zeros,
        tint: zeros, resident: "", absent: "" }],
    });
  };
  const before = rows(40, 1, "0x100000");
  const after = rows(100, 1, "0xf0000"); // 16 pages more before them
  for (const [first, cells, cell] of [[3, 4, 4], [30, 10, 39], [0, 1, 0], [10, 20, 25]] as const) {
    const area = areaThen(before, after, { first, cells }, cell);
    const then = cellThen(before, after, cell)!;
    assert.equal(addressOf(after, then), addressOf(before, cell));
    assert.deepEqual(area, { first: first + 16, cells });
    assert.equal(then - area.first, cell - first);
  }
  // Cells of four pages.
  const coarse = rows(100, 4, "0xf0000");
  assert.deepEqual(areaThen(before, coarse, { first: 8, cells: 16 }, 12), { first: 3, cells: 16 });
  assert.deepEqual(areaThen(before, coarse, { first: 9, cells: 1 }, 9), { first: 6, cells: 1 });
  assert.deepEqual(areaThen(before, after, { first: 0, cells: 40 }, 5), { first: 0, cells: 100 });
  // What the other layout lacks is next to what it has; if there is nothing behind it, all is shown.
  assert.deepEqual(areaThen(after, before, { first: 2, cells: 4 }, 3), { first: 0, cells: 4 });
  assert.deepEqual(areaThen(after, before, { first: 90, cells: 4 }, 91), { first: 0, cells: 40 });
});

test("a block is drawn on each row that it reaches, and only what is in the window", () => {
  assert.deepEqual(partsOf(-10, 5, 16, 4), [{ row: 0, from: 0, to: 5 }]);
  assert.deepEqual(partsOf(8, 40, 16, 4), [
    { row: 0, from: 8, to: 16 }, { row: 1, from: 0, to: 16 }, { row: 2, from: 0, to: 8 },
  ]);
  assert.deepEqual(partsOf(60, 1000, 16, 4), [{ row: 3, from: 12, to: 16 }]);
  assert.deepEqual(partsOf(64, 70, 16, 4), []);
  assert.deepEqual(partsOf(-9, 0, 16, 4), []);
});

test("a call stack as a filter has its own functions, each once", () => {
  const frame = (name: string, library: boolean, named = true) => ({ name, library, named }) as Frame;
  const stack = [frame("malloc", true), frame("f(int)", false), frame("f(int)", false), frame("main", false)];
  assert.deepEqual(stackOnly(stack), ["^f\\(int\\)$", "^main$"]);
  assert.deepEqual(stackOnly([frame("g_malloc", true), frame("0x12", false, false)]), ["^g_malloc$"]);
  assert.deepEqual(stackOnly([]), []);
});

test("an age has the number whose age it is", () => {
  const h = heap();
  for (const age of [1, 100, 255]) assert.equal(ageNumber(h, ageOf(h, age)), age);
  assert.equal(ageNumber(h, 0), 0);
});
