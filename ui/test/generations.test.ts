import assert from "node:assert/strict";
import { test } from "node:test";
import { clockOf } from "../src/model/clock.ts";
import {
  cellCount,
  inkOn,
  limitOf,
  moved,
  placeOfCell,
  placeOfRepeat,
  ramp,
  sidesOf,
  strengthOf,
  strengths,
  summaryOf,
  valueOf,
  wordsOf,
  type Repeat,
  type Row,
  type Triangle,
} from "../src/model/generations.ts";
import { placeOf } from "../src/model/place.ts";

const seconds = 1e9;
const clock = clockOf(10 * seconds, undefined);
const place = placeOf("1");

/** A triangle of a run of 10 s: rows and columns of the same time, of bytes that rows have live. */
function triangle(kept: readonly (readonly number[])[], more: Partial<Triangle> = {}, born = 1000): Triangle {
  const n = kept.length;
  const step = (10 * seconds) / n;
  const rows = kept.map((later, i): Row => {
    const bytes = Float64Array.from({ length: n }, (_, j) => (j < i ? NaN : (later[j - i] ?? 0)));
    const row = { beginNs: i * step, endNs: (i + 1) * step, fromMark: "", toMark: "" };
    return { ...row, born: { bytes: born, blocks: 10 }, kept: { bytes, blocks: bytes.map((b) => b / 100) } };
  });
  const sums = Float64Array.from({ length: n }, (_, j) => {
    return rows.reduce((sum, row) => sum + (row.kept.bytes[j] || 0), 0);
  });
  return {
    rows,
    moments: Float64Array.from({ length: n }, (_, j) => (j + 1) * step),
    together: { bytes: sums, blocks: sums.map((b) => b / 100) },
    marks: false,
    repeats: [],
    sampled: false,
    beginNs: 0,
    endNs: 10 * seconds,
    missing: "",
    ...more,
  };
}

const repeat: Repeat = {
  name: "operator new", function: "open_window()", file: "/src/window.cc", line: 12, module: "/bin/app", stack: [],
  first: 1, rows: 3, atNs: 10 * seconds, blocks: 24, bytes: 2048,
};

/** A triangle whose rows are spans between marks named again. */
function marked(repeats: readonly Repeat[]): Triangle {
  const all = triangle([[9], [9], [9], [9]]);
  const names = ["", "again", "again#2", "again#3", ""];
  const rows = all.rows.map((row, i) => ({ ...row, fromMark: names[i] ?? "", toMark: names[i + 1] ?? "" }));
  return { ...all, rows, marks: true, repeats };
}

test("rows and columns are one of three numbers", () => {
  assert.deepEqual(sidesOf(place), { rows: "20", columns: "20", marks: false });
  assert.deepEqual(sidesOf({ rows: "40", columns: "7", marks: true }), { rows: "40", columns: "20", marks: true });
});

test("the strengths of colours double, and nothing has one of its own", () => {
  assert.equal(strengthOf(0, 1000), 0);
  assert.equal(strengthOf(NaN, 1000), 0);
  assert.equal(strengthOf(1000, 1000), strengths);
  for (let value = 1; value <= 1000; value++) {
    const strength = strengthOf(value, 1000);
    assert.ok(strength >= 1 && strength <= strengths);
    assert.ok(value <= limitOf(strength, 1000) * (1 + 1e-9), `${value}: ${strength}`);
    if (strength > 1) assert.ok(value > limitOf(strength - 1, 1000) * (1 - 1e-9), `${value}: ${strength}`);
  }
});

test("colours differ in lightness alone from one strength to the next, and text on them has a contrast of 4.5", () => {
  const luminance = (colour: string) => {
    const [r = 0, g = 0, b = 0] = [1, 3, 5].map((i) => {
      const c = parseInt(colour.slice(i, i + 2), 16) / 255;
      return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a: string, b: string) => {
    const [x, y] = [luminance(a), luminance(b)];
    return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
  };
  for (const dark of [false, true]) {
    const fills = ramp(dark);
    assert.equal(fills.length, strengths + 1);
    for (const fill of fills) assert.ok(contrast(inkOn(fill), fill) >= 4.5, fill);
    for (let i = 1; i < fills.length; i++) {
      const [before, now] = [fills[i - 1]!, fills[i]!];
      assert.ok(dark ? luminance(now) > luminance(before) : luminance(now) < luminance(before), now);
      assert.ok(contrast(before, now) > 1.1, `${before} and ${now}: ${contrast(before, now)}`);
    }
  }
});

test("keys lead to cells that are later than their row, and not beyond the edges", () => {
  const all = triangle([[9, 9, 9], [9, 9], [9]]);
  const go = (row: number, column: number, key: string, ctrl = false) => moved(all, { row, column }, key, ctrl);
  assert.deepEqual(go(1, 1, "ArrowLeft"), { row: 1, column: 1 });
  assert.deepEqual(go(1, 1, "ArrowRight"), { row: 1, column: 2 });
  assert.deepEqual(go(1, 1, "ArrowDown"), { row: 2, column: 2 });
  assert.deepEqual(go(0, 0, "ArrowUp"), { row: 0, column: 0 });
  assert.deepEqual(go(2, 2, "PageUp"), { row: 0, column: 2 });
  assert.deepEqual(go(1, 2, "Home"), { row: 1, column: 1 });
  assert.deepEqual(go(1, 2, "Home", true), { row: 0, column: 0 });
  assert.deepEqual(go(0, 0, "End", true), { row: 2, column: 2 });
  assert.equal(go(0, 0, "x"), undefined);
  for (const key of ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End", "PageUp", "PageDown"]) {
    for (let row = 0; row < 3; row++) {
      for (let column = row; column < 3; column++) {
        assert.ok(!Number.isNaN(valueOf(all, go(row, column, key)!, "kept")), `${row}, ${column}, ${key}`);
      }
    }
  }
});

test("a cell in words has its row, its moment, its bytes and their share of what the row allocated", () => {
  const all = triangle([[800, 500], [5]]);
  assert.equal(
    wordsOf(all, { row: 0, column: 1 }, clock),
    "allocated start – 5.00 s, live at the end: 500 B in 5 blocks, 50.0 % of the 1,000 B allocated then",
  );
  assert.equal(wordsOf(all, { row: 1, column: 0 }, clock), "allocated 5.00 s – end: that is later than 5.00 s");
  assert.match(wordsOf(triangle([[4096]]), { row: 0, column: 0 }, clock), /: 4.00 KiB \(4,096 bytes\) in /);
});

test("a cell leads to what its row allocated at its moment; the ends of all are those of the place", () => {
  const all = triangle([[9, 9], [9]]);
  const at = (row: number, column: number, of = place) => placeOfCell(all, of, { row, column }, "kept");
  assert.deepEqual(at(0, 0), { from: undefined, to: "5s", at: "5s", metric: ["kept"] });
  assert.deepEqual(at(1, 1), { from: "5s", to: undefined, at: "end", metric: ["kept"] });
  const inner = at(1, 1, { ...place, from: "1s", to: "10s" });
  assert.deepEqual(inner, { from: "5s", to: "10s", at: "10s", metric: ["kept"] });
  const marks = marked([repeat]);
  const cell = placeOfCell(marks, place, { row: 1, column: 2 }, "kept-blocks");
  assert.deepEqual(cell, { from: "again", to: "again#2", at: "again#3", metric: ["kept-blocks"] });
  assert.deepEqual(placeOfRepeat(marks, place, repeat), { from: "again", to: undefined, at: "end", metric: ["kept"] });
  const before = placeOfRepeat(marks, place, { ...repeat, first: 0, atNs: marks.rows[2]!.endNs });
  assert.deepEqual(before, { from: undefined, to: "again#3", at: "again#3", metric: ["kept"] });
});

test("words say what stands out", () => {
  const say = (all: Triangle) => summaryOf(all, clock).text;
  assert.equal(
    say(marked([repeat, repeat])),
    "open_window() left 24 blocks behind in each of 3 repeats, 2.00 KiB each time. So did 1 other call stack.",
  );
  assert.match(say(triangle([[9, 0, 0], [9, 0], [9]])), /^Every row fades: nothing of what it allocated is live at/);
  assert.match(
    say(triangle([[9, 0, 0, 0, 0], [900, 800, 800, 800], [9, 0, 0], [5, 1], [7]])),
    /^1 row keeps most of what it allocated, which is 99\.9 % of the 801 B that is left at the end: most of it from /,
  );
  assert.match(
    say(triangle([[9, 9, 9, 9], [9, 300, 300], [9, 9], [7]])),
    /^Most of the 318 B that is left at the end is from one row: 2\.50 s – 5\.00 s, 300 B\.$/,
  );
  assert.match(
    say(triangle([[90, 80, 80, 80], [99, 70, 70], [99, 90], [99]])),
    /^Every row leaves something behind: 240 B \(8\.0 % of what they allocated\) is live at the end, most of it from/,
  );
  // What was freed when the program ended is looked at a moment before.
  const freed = say(triangle([[90, 80, 80, 80, 1], [99, 70, 70, 1], [99, 90, 1], [99, 1], [1]]));
  assert.match(freed, /is live at 8\.00 s, most of it from .*\. The program frees most of that when it ends\.$/);
});

test("numbers of blocks are short", () => {
  assert.deepEqual([9999, 10_000, 123_456, 2_345_678].map(cellCount), ["9,999", "10.0k", "123k", "2.3M"]);
});
