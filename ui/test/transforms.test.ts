import assert from "node:assert/strict";
import { test } from "node:test";
import type { FrameColumns } from "../src/api.ts";
import { PathColumn, Paths, Texts } from "../src/columns.ts";
import { clockOf } from "../src/model/clock.ts";
import { filtersOf, words } from "../src/model/filters.ts";
import { Group } from "../src/model/group.ts";
import { formatPlace, parsePlace, placeOf, type Place } from "../src/model/place.ts";
import { onlyOf, rowActions } from "../src/model/row-actions.ts";
import { changeOf, transformsOf, type Transform } from "../src/model/transforms.ts";
import { groups } from "./flame-model.ts";

const subject = {
  name: "f", by: "function", function: "f", module: "/lib/libx.so", pattern: "^f$", path: ["main", "f"],
};
const ids = ["focus", "ignore", "charge", "merge", "drop", "recursion", "module", "below"];

function one(list: readonly Transform[], id: string): Transform {
  return list.find((t) => t.id === id) ?? assert.fail(id);
}

const clock = clockOf(1e9, undefined);

test("each transform is one word, in the address, that is undone by itself", () => {
  const list = transformsOf(subject);
  assert.deepEqual(list.map(({ id }) => id), ids);
  let place: Place = { ...placeOf("1"), page: "flame" };
  for (const transform of list) {
    const before = words(place, clock).length;
    place = { ...place, ...changeOf(place, transform) };
    assert.equal(words(place, clock).length, before + 1, transform.id);
    assert.deepEqual(parsePlace(formatPlace(place).slice(1)), place);
  }
  for (const { without } of words(place, clock)) assert.equal(words(without, clock).length, ids.length - 1);
});

test("one more focus narrows, and another thread takes the place of the one before", () => {
  const other = transformsOf({ ...subject, name: "g", function: "g", pattern: "^g$" });
  let place = placeOf("1");
  for (const list of [transformsOf(subject), other]) place = { ...place, ...changeOf(place, one(list, "focus")) };
  assert.deepEqual(filtersOf(place).focus, ["^f$", "^g$"]);
  const none = { function: "", module: "" };
  for (const thread of ["7", "8"]) {
    const list = transformsOf({ ...none, name: `worker ${thread}`, by: "thread", thread });
    assert.deepEqual(list.map(({ id }) => id), ["focus"]);
    place = { ...place, ...changeOf(place, one(list, "focus")) };
  }
  assert.deepEqual(place.thread, ["8"]);
  const sizes = transformsOf({ ...none, name: "16 bytes", by: "size", size: "16..16" });
  assert.deepEqual(changeOf(place, one(sizes, "focus")), { size: "16..16" });
});

/** The group of a call stack, leaf first: functions, each with whose code it is. */
function stackOf(frames: [name: string, kind: string][]): Group {
  const columns = groups([{ by: "stack" }]);
  const texts = (list: string[]) => new Texts(Int32Array.from(list, (_, i) => i), list);
  const none = texts(frames.map(() => ""));
  const table = {
    rows: frames.length, function: texts(frames.map(([name]) => name)), kind: texts(frames.map(([, kind]) => kind)),
    file: none, line: new Float64Array(frames.length), module: texts(frames.map(() => "/bin/app")), offset: none,
  } as unknown as FrameColumns;
  const parent = Int32Array.from([0, ...frames.map((_, i) => (i + 1 < frames.length ? i + 2 : 0))]);
  const paths = new Paths(parent, Int32Array.from([-1, ...frames.map((_, i) => i)]));
  return new Group({ ...columns, stack: new PathColumn(Int32Array.of(1), paths) }, table, 0);
}

test("a row of a table has the transforms of its function; what changes a tree is shown in one", () => {
  const [row] = [new Group(groups([{ function: "f", module: "/lib/libx.so" }]), undefined, 0)];
  const place = { ...placeOf("1"), page: "table" as const };
  const list = rowActions(place, { group: row });
  const by = (start: string) => list.find(({ label }) => label.startsWith(start)) ?? assert.fail(start);
  assert.deepEqual(by("Ignore").change, { ignore: ["^f$"] });
  assert.deepEqual(by("Charge").change, { hide: ["^f$"] });
  assert.deepEqual(by("Focus on f").change, { focus: ["^f$"] });
  const recursion = by("Collapse recursion of f, in the flame graph").change;
  assert.deepEqual([recursion.page, recursion.collapse], ["flame", ["recursion f"]]);
  assert.deepEqual(by("Collapse library libx.so, in").change.collapse, ["module /lib/libx.so"]);
  assert.ok(!list.some(({ label }) => /^(Merge|Drop)/.test(label)), "a row of a table is no single node");
});

test("a node of the tree has them where it is; a leak is the node that it is named after", () => {
  const node = new Group(groups([{ function: "f", module: "/lib/libx.so" }]), undefined, 0);
  const tree = { ...placeOf("1"), page: "tree" as const };
  const path = ["main /bin/app", "f /lib/libx.so"];
  const inTree = rowActions(tree, { group: node, path, names: ["main", "f"] });
  const merge = inTree.find(({ label }) => label === "Merge into its caller");
  assert.deepEqual(merge?.change, { collapse: ["merge main /bin/app;f /lib/libx.so"] });
  const sub = inTree.find(({ label }) => label === "Focus on this subtree");
  assert.deepEqual(sub?.change, { below: path });

  const leak = stackOf([["malloc", "wrapper"], ["grow", "own"], ["main", "own"]]);
  const onLeaks = rowActions({ ...tree, page: "leaks" }, { group: leak });
  const drop = onLeaks.find(({ label }) => label === "Drop this subtree, in the flame graph");
  assert.deepEqual([drop?.change.page, drop?.change.collapse], ["flame", ["drop main;grow"]]);
  assert.deepEqual(onLeaks.find(({ label }) => label.startsWith("Ignore"))?.change, { ignore: ["^grow$"] });
  assert.deepEqual(drop?.change.picked, ["main", "grow", "malloc"]);
});

test("an opened row of a file or a module narrows what counts", () => {
  const [file, module, fn] = [{ by: "file", file: "/a.c" }, { by: "module", module: "/l.so" }, { function: "f" }]
    .map((_, i, all) => new Group(groups(all), undefined, i));
  assert.deepEqual([file, module, fn].map((group) => group && onlyOf(group)), [
    { focus: ["^/a\\.c$"] }, { focus: ["^/l\\.so$"] }, undefined,
  ]);
});
