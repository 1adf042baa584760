import assert from "node:assert/strict";
import { test } from "node:test";
import { commandOf, type Values } from "../src/model/commands.ts";
import type { Recording, Run } from "../src/model/answers.ts";
import { clockOf } from "../src/model/clock.ts";
import { charactersIn, filtersOf, literally, words, wrongIn } from "../src/model/filters.ts";
import { placeOf, type Place } from "../src/model/place.ts";
import { pathOf } from "../src/net/ask.ts";

const clock = clockOf(2e9, undefined);
const place: Place = {
  ...placeOf("2"),
  from: "1s",
  at: "1.234567s",
  thread: ["worker-*"],
  ignore: ["a", "^b$"],
  size: "1k..",
  below: ["main", "f"],
};

test("filters are parameters", () => {
  assert.deepEqual(filtersOf(placeOf("2")), {});
  assert.deepEqual(filtersOf(place), { from: "1s", thread: ["worker-*"], size: "1k..", ignore: ["a", "^b$"] });
  const brushed = filtersOf(place, { begin: 2e9, end: 2.5e9 });
  assert.deepEqual([brushed.from, brushed.to], ["2s", "2.5s"]);
});

test("each word can be removed", () => {
  const list = words(place, clock);
  assert.deepEqual(
    list.map(({ kind, value }) => `${kind} ${value}`),
    [
      ...["time 1.000 s – end", "live at 1.235 s", "thread worker-*", "ignore a", "ignore b", "size 1k.."],
      "below main › f",
    ],
  );
  for (const { without } of list) assert.equal(words(without, clock).length, list.length - 1);
  assert.deepEqual(list[3]?.without.ignore, ["^b$"]);
});

test("several of a filter are asked together, and each is a word", () => {
  const several = { ...placeOf("2"), focus: ["f", "^g\\(int\\)$", "lib,so"], hide: ["a", "b"] };
  const filters = filtersOf(several);
  assert.deepEqual(filters, { focus: several.focus, hide: several.hide });
  assert.equal(pathOf("2", "top", filters as Values), "r/2/top?focus=f&focus=%5Eg%5C%28int%5C%29%24&focus=lib%2Cso" +
    "&hide=a&hide=b");
  const run = { path: "r.htap", recordings: [{}] } as Run;
  const flags = "--focus f --focus '^g\\(int\\)$' --focus lib,so --hide a --hide b";
  assert.equal(commandOf(run, {} as Recording, "top", filters as Values), `heaptap top ${flags} r.htap`);
  const list = words(several, clock);
  assert.deepEqual(list.map(({ kind, value }) => `${kind} ${value}`), [
    "focus f", "focus g(int)", "focus lib,so", "hide a", "hide b",
  ]);
  assert.deepEqual(list[1]?.without.focus, ["f", "lib,so"]);
});

test("of two ranges, each can be removed, and the other one stays", () => {
  const two = { ...placeOf("2"), from: "1.5s", to: "1.9s", from2: "1s", to2: "1.2s" };
  const texts = (at: Place) => words(at, clock).map(({ kind, value }) => `${kind} ${value}`);
  assert.deepEqual(texts(two), [`time B ${clock.range("1.5s", "1.9s")}`, `time A ${clock.range("1s", "1.2s")}`]);
  const [b, a] = words(two, clock);
  assert.deepEqual(texts(a?.without ?? two), [`time ${clock.range("1.5s", "1.9s")}`]);
  assert.deepEqual(texts(b?.without ?? two), [`time ${clock.range("1s", "1.2s")}`]);
});

test("a word that has no effect on a page says so", () => {
  const edited = { ...place, focus: ["f"], collapse: ["recursion f"], hide: ["g"] };
  const idle = (page: Place["page"]) =>
    words({ ...edited, page }, clock).flatMap(({ kind, idle }) => (idle ? [kind] : []));
  assert.deepEqual([idle("flame"), idle("tree")], [[], []]);
  assert.deepEqual(idle("table"), ["recursion collapsed", "below"]);
  assert.deepEqual(idle("events"), ["hide", "recursion collapsed", "below"]);
});

test("a literal pattern matches its name only", () => {
  const name = "operator new[](unsigned long, std::nothrow_t const&) $^|{}?*+.\\";
  assert.ok(new RegExp(literally(name)).test(name));
  assert.ok(!new RegExp(literally("a.c")).test("abc"));
});

test("a question is a command", () => {
  const recording = { id: "2", pid: 7 } as Recording;
  const one = { path: "/tmp/it's.htap", recordings: [recording] } as Run;
  const below = ["m", "f(x)"];
  const values = { from: "1s", metric: ["live", "bytes"], focus: "a b", up: true, rough: "pixel", below };
  assert.equal(
    commandOf(one, recording, "tree", values),
    "heaptap tree --from 1s --metric live,bytes --focus 'a b' --up --below m --below 'f(x)' '/tmp/it'\\''s.htap'",
  );
  const two = { path: "r.htap", recordings: [recording, recording] } as Run;
  assert.equal(commandOf(two, recording, "process", { steps: 4 }), "heaptap timeline --process 7 r.htap");
});

test("a wrong regular expression says where it is wrong", () => {
  const at = (pattern: string) => Number(/^not a regular expression: .+, character (\d+)$/.exec(wrongIn(pattern))?.[1]);
  assert.deepEqual(["foo(bar", "a[b", "a**", "x)", "(a", "(a|b)(c", "*"].map(at), [4, 2, 3, 2, 1, 6, 1]);
  assert.match(wrongIn("("), /unterminated group/);
  for (const right of ["", "a|b", "operator\\(\\)", "^x$"]) assert.equal(wrongIn(right), "");
  assert.equal(charactersIn("é(x", 2), 1);
});
