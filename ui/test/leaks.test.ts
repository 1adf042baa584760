import assert from "node:assert/strict";
import { test } from "node:test";
import type { Frame } from "../src/model/group.ts";
import { curvePath, endOf, suppresses, suppressionOf, whyEmpty } from "../src/model/leaks.ts";
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
