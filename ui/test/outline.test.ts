import assert from "node:assert/strict";
import { test } from "node:test";
import type { GroupColumns, NodeColumns } from "../src/api.ts";
import { Texts } from "../src/columns.ts";
import { Outline, pathOf, treeInPlace, treeOf, type Line, type Look, type TreeNode } from "../src/model/outline.ts";

/**
 * A tree from an outline: "name value kind folded" in lines, indented by two blanks for each level. What a node has
 * besides its children is its self, unless children were left out.
 */
function tree(text: string, below?: TreeNode): TreeNode {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const fields = lines.map((line) => line.trim().split(" "));
  const depths = lines.map((line) => line.search(/\S/) / 2);
  const column = (n: number) => fields.map((field) => field[n] ?? "");
  const texts = (all: string[]) => new Texts(Int32Array.from(all, (_, i) => i), all);
  const empty = texts(lines.map(() => ""));
  const of = {
    rows: lines.length, by: texts(lines.map(() => "function")), unknown: new Uint8Array(lines.length),
    function: texts(column(0)), file: empty, line: new Float64Array(lines.length), module: empty, offset: empty,
    kind: texts(column(2)),
  } as unknown as GroupColumns;
  const parent = depths.map((depth, i) => (depth === 0 ? -1 : depths.lastIndexOf(depth - 1, i)));
  const total = { peak: Float64Array.from(column(1), Number) };
  const self = { peak: total.peak.slice() };
  parent.forEach((at, i) => at >= 0 && (self.peak[at]! -= total.peak[i]!));
  column(3).forEach((n, i) => Number(n) > 0 && (self.peak[i] = 0));
  const nodes: NodeColumns = {
    rows: lines.length, parent: Float64Array.from(parent), total, self, first: new Float64Array(lines.length),
    group: { row: Int32Array.from(lines, (_, i) => (i === 0 ? -1 : i)), of },
    folded: Float64Array.from(column(3), (n) => Number(n)),
  };
  return treeOf(nodes, ["peak"], below);
}

function node(root: TreeNode, name: string): TreeNode {
  const todo = [root];
  for (let at = todo.pop(); at; at = todo.pop()) {
    if (at.group?.function === name) return at;
    todo.push(...at.children);
  }
  return assert.fail(name);
}

const all: Look = { open: { has: () => true } as unknown as Set<number>, parts: new Map(), fold: false };

function shown(lines: Line[]): string[] {
  return lines.map(({ node: { group }, kind, level, indent, via, within, open, rest }) => {
    const name = kind === "rest" ? `+${rest}` : `${group?.function}${open === undefined ? "" : open ? "-" : "+"}`;
    return `${level}/${indent} ${name}${via ? ` via ${via}` : ""}${within ? ` within ${within}` : ""}`;
  });
}

const program = `
all 100
  _start 100 own
    main 100 own
      run 90 own
        push_back 60 library
          allocate 60 library
            grow 40 own
              malloc 40 wrapper
            free_list 15 own
        parse 30 own
          string 30 library
            new 30 wrapper
      log 10 own 3
`;

test("a tree is shown node by node, and only children are not indented", () => {
  const root = tree(program);
  const main = node(root, "main");
  const open = new Set([node(root, "_start").key]);
  assert.deepEqual(shown(new Outline(root, { ...all, open }).lines()), ["1/0 _start-", "2/0 main+"]);
  assert.deepEqual(pathOf(main), ["_start", "main"]);
  assert.deepEqual(shown(new Outline(root, all).lines()), [
    "1/0 _start-", "2/0 main-", "3/1 run-", "4/2 push_back-", "5/2 allocate-", "6/3 grow-", "7/3 malloc",
    "6/3 free_list", "4/2 parse-", "5/2 string-", "6/2 new", "3/1 log-", "4/1 +3",
  ]);
});

test("frames of libraries are folded, and counted", () => {
  assert.deepEqual(shown(new Outline(tree(program), { ...all, fold: true }).lines()), [
    "1/0 main-", "2/1 run-", "3/2 grow via 2 within 1", "3/2 free_list via 2", "3/2 parse within 2",
    "2/1 log-", "3/1 +3",
  ]);
  // Without own code, libraries are all that there is.
  const foreign = tree("all 9\n  _start 9 library\n    qsort 9 library\n      malloc 9 wrapper");
  assert.deepEqual(shown(new Outline(foreign, { ...all, fold: true }).lines()), ["1/0 qsort within 1"]);
  const nothing = tree("all 9\n  malloc 9 wrapper");
  assert.deepEqual(shown(new Outline(nothing, { ...all, fold: true }).lines()), ["1/0 malloc"]);
  // What libraries allocate before main counts for the root alone.
  const early = tree("all 9\n  _dl_start_user 2 library\n    init 2 library\n  main 7 own");
  const outline = new Outline(early, { ...all, fold: true });
  assert.deepEqual(shown(outline.lines()), ["1/0 main"]);
  assert.deepEqual(outline.below(early).self, [2]);
});

test("what folded frames allocate counts for the row above them, so that a row is the sum of what is below it", () => {
  const values = (look: Look, text = program) => {
    const outline = new Outline(tree(text), look);
    return outline.lines().map(({ node, kind, total, self }) => {
      return `${kind === "rest" ? "rest" : node.group?.function} ${total.join()} ${self.join()}`;
    });
  };
  assert.deepEqual(values({ ...all, fold: true }), [
    "main 100 0", "run 90 5", "grow 40 40", "free_list 15 15", "parse 30 30", "log 10 0", "rest 10 NaN",
  ]);
  // A library function that is in a row has its own self.
  const twice = "all 9\n  main 9 own\n    sort 5 library\n      less 4 own\n    less 4 own";
  assert.deepEqual(values({ ...all, fold: true }, twice), ["main 9 0", "sort 5 1", "less 4 4", "less 4 4"]);
  // Values that do not add up are not made up.
  const { length } = values({ ...all, fold: true, adds: [false] });
  assert.equal(length, 7);
  assert.equal(values({ ...all, fold: true, adds: [false] })[1], "run 90 5"); // from one place
  assert.equal(values({ ...all, fold: true, adds: [false] }).at(-1), "rest NaN NaN");
  assert.deepEqual(values({ ...all, fold: true, adds: [false] }, "all 9\n  f 9 own\n    g 3 library"), ["f 9 NaN"]);
});

test("a folded frame is shown if the same function would stand twice below its caller", () => {
  const twice = tree("all 9\n  main 9 own\n    sort 5 library\n      less 5 own\n    less 4 own");
  assert.deepEqual(shown(new Outline(twice, { ...all, fold: true }).lines()), [
    "1/0 main-", "2/1 sort-", "3/1 less", "2/1 less",
  ]);
});

test("the hottest path goes on while one child has half of its parent", () => {
  const root = tree(program);
  const outline = new Outline(root, all);
  const { open, end } = outline.hottest(root);
  assert.equal(end.group?.function, "malloc");
  assert.equal(open.length, 7);
  const wide = tree("all 10\n  a 4\n    b 1\n    c 1\n    d 1\n  e 3");
  const path = new Outline(wide, all).hottest(wide);
  assert.deepEqual([path.open.length, path.end.group?.function], [1, "a"]);
  assert.equal(outline.hottest(node(root, "new")).end.group?.function, "new");
  assert.deepEqual(outline.opened(node(root, "parse")).length, 3);
  assert.deepEqual(outline.opened(node(root, "run")).length, 1);
});

test("a part of the tree that was asked for later takes its place", () => {
  const root = tree(program);
  const log = node(root, "log");
  const part = tree("log 10\n  printf 10\n    buffer 10", log);
  const parts = new Map([[log.key, part]]);
  const lines = shown(new Outline(root, { ...all, parts }).lines());
  assert.deepEqual(pathOf(node(part, "buffer")), ["_start", "main", "log", "printf", "buffer"]);
  assert.deepEqual(lines.slice(-3), ["3/1 log-", "4/1 printf-", "5/1 buffer"]);
});

test("in a drag, nodes stay where they are", () => {
  const before = tree("all 9\n  a 5\n    x 5\n  b 4");
  const now = treeInPlace(before, tree("all 20\n  c 11\n  b 9\n    y 2"));
  assert.deepEqual(shown(new Outline(now, all).lines()), ["1/1 a-", "2/1 x", "1/1 b-", "2/1 y", "1/1 c"]);
  assert.deepEqual([node(now, "b").total, node(now, "x").total, now.total], [[9], [NaN], [20]]);
  assert.equal(node(now, "b").key, node(before, "b").key);
  assert.deepEqual(pathOf(node(now, "y")), ["b", "y"]);
});

test("5,000 levels are no problem", () => {
  const deep = tree(["all 1", ...Array.from({ length: 5000 }, (_, i) => `${"  ".repeat(i + 1)}f${i} 1`)].join("\n"));
  const outline = new Outline(treeInPlace(deep, deep), { ...all, fold: true });
  assert.equal(outline.lines().length, 5000);
  assert.equal(outline.hottest(outline.root).open.length, 5000);
  assert.equal(pathOf(outline.lines()[4999]?.node ?? deep).length, 5000);
});
