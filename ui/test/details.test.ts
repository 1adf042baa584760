import assert from "node:assert/strict";
import { test } from "node:test";
import {
  along,
  cleanPath,
  fold,
  isWhole,
  kindOf,
  rowsOf,
  type Kind,
  type StackFrame,
  type Values,
} from "../src/model/details.ts";
import type { MetricName } from "../src/api.ts";
import { home, pickedOf } from "../src/model/place.ts";
import { Fault } from "../src/net/fault.ts";
import { askDetails, askExcerpt, askThreads, type DetailsAsked } from "../src/net/details.ts";
import { columns } from "./encode.mjs";

function frame(name: string, kind: Kind = "", module = "/bin/server"): StackFrame {
  return { name, kind, module, file: "", line: 0 };
}

/** What a stack shows: names, own ones with a !, folded runs in brackets. */
function shown(stack: StackFrame[], at = -1, open: number[] = []): string {
  return fold(stack, at, new Set(open))
    .map((f) => (f.kind === "fold" ? `[${f.label}]` : f.frame.name + (f.strong ? "!" : "")))
    .join(", ");
}

test("runs of library frames are folded, and own ones stand out", () => {
  const known = [
    frame("operator new(unsigned long)", "wrapper"),
    frame("std::__new_allocator<char>::allocate(unsigned long)", "library"),
    frame("void std::vector<char, std::allocator<char> >::reserve(unsigned long)", "library"),
    frame("Session::create", "own"),
    frame("boost::f()", "library"),
    frame("main", "own"),
    frame("__libc_start_call_main", "library"),
    frame("_start", "library"),
  ];
  assert.equal(
    shown(known),
    "[operator new · std:: 3 frames], Session::create!, [boost:: 1 frame], main!, [start 2 frames]",
  );
  assert.equal(
    shown(known, 1),
    `[operator new 1 frame], ${known[1]?.name}, [std:: 1 frame], ` +
      "Session::create!, [boost:: 1 frame], main!, [start 2 frames]",
  );
  assert.equal(shown(known, -1, [6]).endsWith("main!, __libc_start_call_main, _start"), true);
  // Kinds that the server does not say are guessed of names.
  const guessed = known.map(({ name }) => frame(name));
  assert.equal(shown(guessed), shown(known));
  // A stack of nothing but a library is not folded.
  assert.equal(shown([frame("std::a", "library"), frame("std::b", "library")]), "std::a, std::b");
  assert.equal(shown([]), "");
});

test("guesses of whose code it is", () => {
  for (const [name, module, want] of [
    ["malloc", "/lib/x86_64-linux-gnu/libc.so.6", "wrapper"],
    ["xmalloc(unsigned long)", "/bin/a", "wrapper"],
    ["mallocate", "/bin/a", ""],
    ["void std::f<int>(int)", "/bin/a", "library"],
    ["stdlike::f", "/bin/a", ""],
    ["qsort", "/usr/lib/libc.so.6", "library"],
    ["qsort", "/opt/libcrypto.so.3", ""],
    ["alloc::raw_vec::RawVec<T>::grow", "/bin/a", "library"],
    ["operator+(A, B)", "/bin/a", ""],
    ["main", "/bin/a", ""],
    ["start_thread", "/lib/libc.so.6", "start"],
  ] as const) {
    assert.equal(kindOf(frame(name, "", module)), want, name);
  }
});

test("a path leads along a stack, over hidden frames", () => {
  const stack = ["leaf", "inner", "f", "f", "main", "start"].map((name) => [name, `${name} /bin/x`]);
  for (const [path, up, want] of [
    [["main", "f"], false, 3],
    [["main", "f", "f"], false, 2],
    [["main", "f", "f", "f"], false, -1],
    [["start", "main", "leaf /bin/x"], false, 0],
    [["leaf", "f"], true, 2],
    [["leaf", "inner", "main"], true, 4],
    [["main", "leaf"], true, -1],
    [["nothing"], false, -1],
  ] as const) {
    assert.equal(along(path, stack, up), want, path.join());
  }
});

test("paths of files are cleaned as the server cleans them", () => {
  for (const [path, want] of [
    ["/a/./b/../c.cc", "/a/c.cc"],
    ["./nptl/./nptl/x.c", "nptl/nptl/x.c"],
    ["../../a.c", "../../a.c"],
    ["/../a.c", "/a.c"],
    ["a//b.c", "a/b.c"],
    ["a/..", "."],
    ["/", "/"],
    ["", ""],
  ] as const) {
    assert.equal(cleanPath(path), want, path);
  }
});

test("what a place has picked", () => {
  assert.equal(pickedOf(home), undefined);
  assert.deepEqual(pickedOf({ ...home, picked: ["f"] }), { kind: "function", name: "f" });
  const stack = { kind: "stack", path: ["main", "f"], up: true };
  assert.deepEqual(pickedOf({ ...home, picked: ["main", "f"], up: true }), stack);
  const line = { ...home, page: "source" as const, file: "/a.c", line: "7" };
  assert.deepEqual(pickedOf(line), { kind: "line", file: "/a.c", line: 7 });
  assert.equal(pickedOf({ ...line, line: "x" }), undefined);
  assert.equal(pickedOf({ ...line, page: "flame" }), undefined);
  assert.equal(isWhole({ focus: ["x"] }), true);
  assert.equal(isWhole({ from: "1s" }), false);
  assert.equal(isWhole({}, "1s"), false);
});

const values = { peak: 70, live: 60, bytes: 100, allocations: 10, freed: 40, temporary: 2, leaked: 60 };
const group = (name: string, more: object = {}) => ({
  function: name,
  module: "/bin/x",
  file: "",
  line: 0,
  offset: "",
  ...more,
});
const frames = ["operator new", "T::create<a|b>(int)", "main"].map((name, i) => ({
  function: name,
  module: "/bin/x",
  offset: "",
  kind: i === 1 ? "own" : "library",
  file: i === 1 ? "/src/./t.cc" : "",
  line: i === 1 ? 22 : 0,
}));

/** A server that answers with these, and says what it was asked. */
function server(answers: Record<string, (query: URLSearchParams) => object>) {
  const asked: string[] = [];
  const ask = async (path: string) => {
    const [, question = "", query = ""] = /^r\/1\/(\w+)\??(.*)$/.exec(path) ?? [];
    const parameters = new URLSearchParams(query);
    const by = parameters.get("by");
    const key = by === null || question === "tree" ? question : `${question} ${by}`;
    asked.push(`${key} ${parameters.get("match") ?? parameters.getAll("below").join(">")}`.trim());
    return columns((answers[key] ?? assert.fail(path))(parameters));
  };
  return { ask, asked };
}

const stackRows = (paths: number[][]) => ({
  frames,
  more: 5,
  rows: paths.map((path, i) => ({ group: { stack: { path } }, total: { peak: 50 - i } })),
});

test("details of a function: its own row, and the largest stack through it", async () => {
  const name = "T::create<a|b>(int)";
  const { ask, asked } = server({
    "top function": (query) => {
      assert.deepEqual(query.getAll("metric"), ["peak", "live", "bytes", "allocations", "freed", "temporary"]);
      return {
        total: { peak: 200 },
        rows: [
          { group: group(`${name} const`), total: values, self: values },
          { group: group(name), total: values, self: { ...values, peak: 1 } },
        ],
      };
    },
    "top stack": () => stackRows([[0, 2], [0, 1, 2]]),
  });
  const picked = { kind: "function" as const, name };
  const details = await askDetails(ask, "1", { picked, filters: { from: "1s" }, metric: "peak" });
  assert.deepEqual(asked, [
    "top function /^T::create<a\\|b>\\(int\\)( |$)/",
    "top stack /T::create<a\\|b>\\(int\\)/",
  ]);
  assert.deepEqual(
    [details?.name, details?.module, details?.file, details?.line, details?.total.peak, details?.self.peak],
    [name, "/bin/x", "/src/./t.cc", 22, 70, 1],
  );
  assert.deepEqual(details?.stack.map((f) => f.name), ["operator new", name, "main"]);
  assert.deepEqual(details?.stack.map((f) => f.kind), ["library", "own", "library"]);
  assert.deepEqual([details?.at, details?.share], [1, { value: 49, stacks: 7, counted: "peak" }]);
});

test("what the selection does not have is no fault", async () => {
  const none = { rows: [], total: {} };
  const of = (answers: Parameters<typeof server>[0]) => server(answers).ask;
  const asked = { filters: {}, metric: "peak" as const };
  const nothing = of({ "top function": () => none });
  assert.equal(await askDetails(nothing, "1", { ...asked, picked: { kind: "function", name: "f" } }), undefined);
  const unknown = async () => {
    throw new Fault("refused", "nothing was counted below main > f", "GET /api/v1/r/1/tree, below");
  };
  const picked = { kind: "stack" as const, path: ["main", "f"], up: false };
  assert.equal(await askDetails(unknown, "1", { ...asked, picked }), undefined);
  const broken = async () => {
    throw new Fault("broken", "no", "tree");
  };
  await assert.rejects(askDetails(broken, "1", { ...asked, picked }), Fault);
});

test("the lines around a place are asked for by the clean path of the file", async () => {
  const { ask, asked } = server({
    source: (query) => {
      assert.deepEqual([query.get("function"), query.get("line")], ["/src/t.cc", "22"]);
      return { first: 19, text: ["a", "b"], pages: [{ newer: true, note: "its lines may have moved" }] };
    },
  });
  const excerpt = await askExcerpt(ask, "1", "/src/./t.cc", 22);
  const text = { first: 19, lines: ["a", "b"] };
  assert.deepEqual(excerpt, { file: "/src/./t.cc", ...text, newer: true, note: "its lines may have moved" });
  assert.deepEqual(asked, ["source"]);
  const unknown = async () => {
    throw new Fault("refused", "no call stack goes through it", "GET /api/v1/r/1/source, function");
  };
  assert.equal(await askExcerpt(unknown, "1", "/none.c", 1), undefined);
});

test("a function without a name is found by its offset, and its threads are not asked for", async () => {
  const matched: (string | null)[] = [];
  const group = { function: "", module: "/usr/bin/x", offset: "0x1f", file: "", line: 0 };
  const ask = async (path: string) => {
    const query = new URL(path, "http://x/").searchParams;
    matched.push(query.get("match"));
    const stacks = { frames: [], rows: [], total: {}, more: 0 };
    const metrics = query.getAll("metric");
    const total = Object.fromEntries(metrics.map((name) => [name, 5]));
    return columns(query.get("by") === "stack" ? stacks : { rows: [{ group, total, self: total }], total, more: 0 });
  };
  const nameless: DetailsAsked = { picked: { kind: "function", name: "x+0x1f" }, filters: {}, metric: "peak" };
  const found = await askDetails(ask, "1", nameless);
  assert.deepEqual([found?.name, found?.total.peak], ["x+0x1f", 5]);
  assert.deepEqual(matched, ["/^0x1f( |$)/", "/0x1f/"]);
  const more = await askThreads(ask, "1", nameless, false);
  assert.deepEqual([more.of, more.threads.length, matched.length], ["unnamed", 0, 2]);
});

test("threads are asked for with what is picked as one more focus", async () => {
  const focuses: string[][] = [];
  const { ask } = server({
    "top thread": (query) => {
      focuses.push(query.getAll("focus"));
      assert.deepEqual([query.get("metric"), query.get("at")], ["bytes", null]);
      return {
        more: 3,
        total: { bytes: 40 },
        rows: [{ group: { thread: { tid: 5, name: "" } }, total: { bytes: 10 } }],
      };
    },
  });
  const picked = { kind: "function" as const, name: "f(int)" };
  const more = await askThreads(ask, "1", { picked, filters: {}, metric: "own-peak" }, false);
  assert.deepEqual(
    [more.more, more.whole, more.of, more.threads],
    [3, 40, "picked", [{ name: "thread 5", only: "5", value: 10 }]],
  );
  const focused = await askThreads(ask, "1", { picked, filters: { focus: ["x"] }, metric: "mapped" }, false);
  assert.deepEqual([focused.of, focused.threads.length], ["picked", 1]);
  const stack = { kind: "stack" as const, path: ["main", "g"], up: false };
  assert.equal((await askThreads(ask, "1", { picked: stack, filters: {}, metric: "bytes" }, false)).of, "function");
  assert.deepEqual(focuses, [["^f\\(int\\)$"], ["x", "^f\\(int\\)$"], ["^g$"]]);
});

test("a folded function has numbers, and mappings are asked for of the whole run only", async () => {
  const asked: [fold: boolean, mapped: boolean][] = [];
  const { ask } = server({
    "top function": (query) => {
      asked.push([query.has("fold"), query.getAll("metric").join().includes("mapped")]);
      const rows = query.has("fold") ? [] : [{ group: group("f"), total: values, self: values }];
      return { rows, total: {} };
    },
    "top stack": () => stackRows([]),
  });
  const picked = { kind: "function" as const, name: "f" };
  assert.equal((await askDetails(ask, "1", { picked, filters: {}, metric: "peak", fold: true }))?.total.peak, 70);
  assert.ok(await askDetails(ask, "1", { picked, filters: { size: "..16" }, metric: "peak" }));
  assert.deepEqual(asked, [[true, true], [false, true], [false, false]]);
});

test("rows of numbers begin with what the page counts", () => {
  const of = (lead: MetricName, total: Values) => rowsOf(lead, total, "at 1s").map(({ label }) => label);
  const usual = of("peak", values);
  assert.deepEqual(
    usual.slice(0, 5),
    ["live at the peak", "live at 1s", "allocated", "freed", "never freed"],
  );
  assert.deepEqual(of("freed", values), ["freed", ...usual.filter((label) => label !== "freed")]);
  assert.deepEqual(of("churn", values), ["allocated per second", ...usual]);
  const mapped = { mapped: 5, "mapped-peak": 4, "mapped-resident": 0 };
  assert.deepEqual(of("peak", mapped), ["mapped by the program", "mapped when most were"]);
  assert.equal(of("peak", { ...values, ...mapped }).length, usual.length + 2);
});
