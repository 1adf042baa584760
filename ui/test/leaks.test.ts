import assert from "node:assert/strict";
import { test } from "node:test";
import type { Frame, Group } from "../src/model/group.ts";
import {
  curveOf,
  curvePath,
  endOf,
  growthsOf,
  suppresses,
  suppressionOf,
  whyEmpty,
  type Suspect,
} from "../src/model/leaks.ts";
import { home } from "../src/model/place.ts";

const app = "/bin/app";
const frame = (name: string, more: Partial<Frame> = {}): Frame => ({
  name, id: name, place: "", file: "", line: 0, module: app, kind: "own", named: true, library: false, key: 0, ...more,
});

test("a suppression names the innermost own function that does more than allocate", () => {
  const libc = { module: "/lib/x86_64-linux-gnu/libc.so.6", library: true };
  const before = [frame("__libc_start_main", libc), frame("_start", { library: true })];
  const end = [frame("main", { file: "/src/main.c", line: 7 }), ...before];
  const cases: [Frame[], string | undefined][] = [
    [
      [frame("operator new(unsigned long)", libc), frame("std::string::_M_create", libc), frame("app::load(int)")],
      "leak:^app::load(int)$",
    ],
    [[frame("xmalloc"), frame("parse")], "leak:^parse$"],
    [[frame("xstrdup_all")], "leak:^xstrdup_all$"],
    [[frame("png_read", { module: "/lib/libpng.so" }), frame("show")], "leak:^show$"],
    [[frame("png_read", { module: "/lib/libpng.so" })], "leak:^png_read$"],
    [[frame("strdup", libc)], "leak:main.c:7$"],
    [[frame("app+0x12", { named: false })], "leak:main.c:7$"],
    [[frame("operator^(Set const&, Set const&)")], "leak:^operator*(Set const&, Set const&)$"],
  ];
  for (const [stack, rule] of cases) {
    assert.equal(suppressionOf([...stack, ...end], app), rule);
    assert.ok(suppresses(rule ?? "", [...stack, ...end]), rule);
    assert.ok(!suppresses(rule ?? "", [frame("other"), frame("main", { file: "/src/main.c", line: 8 })]), rule);
  }
  assert.equal(suppressionOf([frame("main"), frame("_start")], app), undefined);
});

test("patterns match as those of --suppressions do", () => {
  const yes: [string, string][] = [
    ["load", "app::load(int)"], ["^app::*int)$", "app::load(int)"], ["a*b*c", "xaxbxcx"], ["^abc$", "abc"], ["*", "x"],
    ["b$", "abb"], ["^a*a$", "aba"],
  ];
  const no: [string, string][] = [
    ["^load", "app::load"], ["^abc$", "abcabc"], ["a*b*c", "acb"], ["load$", "loads"], ["^a*a$", "a"],
  ];
  for (const [pattern, text] of yes) assert.ok(suppresses(`leak:${pattern}`, [frame(text)]), `${pattern} in ${text}`);
  for (const [pattern, text] of no) {
    assert.ok(!suppresses(`leak:${pattern}`, [frame(text, { module: "" })]), `${pattern} not in ${text}`);
  }
});

test("what kept growing: call stacks of a function are one, and leaks come before what was freed", () => {
  const suspect = (name: string, perSecond: number, end: number, leaked: number, key: number): Suspect => {
    const group = { key, headline: frame(name) } as unknown as Group;
    return { group, begin: 1, end, perSecond, steadiness: perSecond > 50 ? 1 : 0.8, leaked };
  };
  const list = [
    suspect("buffer", 300, 0, 0, 1), // freed when the program ended
    suspect("cache", 200, 2000, 0, 2), // freed after the range
    suspect("leak", 20, 150, 150, 3),
    suspect("leak", 60, 450, 450, 4),
    suspect("few", 100, 10, 10, 5), // nearly all was freed
  ];
  const found = growthsOf(list, 10);
  assert.deepEqual(
    found.map(({ group, fate, perSecond, end, leaked, stacks }) => {
      return [group.headline?.name, fate, perSecond, end, leaked, stacks.map((one) => one.group.key)];
    }),
    [
      ["leak", "never freed", 80, 600, 600, [4, 3]],
      ["cache", "freed later", 200, 2000, 0, [2]],
      ["buffer", "freed in the end", 300, 0, 0, [1]],
      ["few", "freed in the end", 100, 10, 10, [5]],
    ],
  );
  assert.equal(found[0]?.begin, 2);
  assert.equal(found[0]?.steadiness, (1 * 60 + 0.8 * 20) / 80);
  assert.equal(new Set(found.map(({ key }) => key)).size, found.length);

  const live = new Map([[3, Float64Array.of(1, 2)], [4, Float64Array.of(0, 5)], [1, Float64Array.of(9, 0)]]);
  const curves = found.map((one) => curveOf(one, { times: Float64Array.of(0, 1), live }));
  assert.deepEqual(curves.map((curve) => curve && [...curve]), [[1, 7], undefined, [9, 0], undefined]);
});

test("a curve fills its picture", () => {
  const of = (...values: number[]) => Float64Array.from(values);
  assert.equal(curvePath(of(10, 20, 30), of(0, 5, 10)), "M0.00 100.00L50.00 50.00L100.00 0.00");
  const nothing = [[of(0, 1), of(0, 0)], [of(1), of(1)], [of(0, 1), of(1)], [of(3, 3), of(1, 2)]] as const;
  for (const [times, values] of nothing) {
    assert.equal(curvePath(times, values), "");
  }
});

test("what is said about a range is about the range", () => {
  const range = { ...home, from: "1s", to: "2s" };
  assert.equal(endOf(range), "the end of the range");
  assert.equal(endOf({ ...range, to: undefined }), "the end");
  assert.match(whyEmpty(range, false).why, /allocated in this range was freed later/);
  assert.match(whyEmpty({ ...home, to: "2s" }, false).why, /freed later/);
  assert.match(whyEmpty({ ...range, thread: ["1"] }, false).why, /in this selection/);
  assert.match(whyEmpty(home, false).why, /except what its runtime keeps/);
  assert.match(whyEmpty(range, true).why, /up to the end of the range/);
});
