import assert from "node:assert/strict";
import { test } from "node:test";
import { find } from "../src/model/answers.ts";
import { commandOf } from "../src/model/commands.ts";
import { queryOf } from "../src/net/ask.ts";
import { Fault } from "../src/net/fault.ts";
import { askFirstAnswer, askRuns, endOf } from "../src/net/questions.ts";
import { columns } from "./encode.mjs";

/** A program as the API lists it. */
function program(pid: number, parent: number, name: string, more: object = {}) {
  const known = { exit_known: true, exit_code: 0, signal: 0, running: false, executed: false, lost_events: 0 };
  const peaks = { peak_live_bytes: 100, peak_resident_bytes: 200 };
  return { pid, parent, name, label: "", exe: "", started_ns: 1e9, ended_ns: 3e9, ...known, ...peaks, ...more };
}

function run(path: string, programs: object[], ids: string[]) {
  const rest = { command: ["make", "all"], started_ns: 1.7e18, damage: "", matters: ids[0], why: "it started first" };
  return { run: path, programs, recordings: ids.map((id) => ({ id })), ...rest };
}

test("runs are lists of programs, each with its parent", async () => {
  const session = {
    runs: [
      run("/r/one.htap", [program(7, -1, "sh", { label: "x.sh" })], ["a"]),
      run(
        "/r/it's.htap",
        [
          program(10, -1, "make", { exit_known: false }),
          program(10, 0, "env", { executed: true, signal: 11, label: "env", lost_events: 3 }),
          program(12, 1, "cc", { running: true, peak_resident_bytes: 0 }),
        ],
        ["b", "c", "d"],
      ),
    ],
    unreadable: [{ argument: "bad.htap", what: "bad.htap: it is cut", do: "repair it" }],
  };
  const runs = await askRuns(async (path) => (assert.equal(path, "session"), columns(session)));
  assert.deepEqual(
    runs.map(({ path, command, main, recordings }) => [path, command, main, recordings.length]),
    [
      ["/r/one.htap", "make all", "a", 1],
      ["/r/it's.htap", "make all", "b", 3],
      ["bad.htap", "", "", 0],
    ],
  );
  assert.equal(runs[2]?.problem, "bad.htap: it is cut. What to do: repair it.");
  const all = runs.flatMap((r) => r.recordings);
  assert.deepEqual(
    all.map(({ id, parent, command, end, failed }) => [id, parent, command, end, failed]),
    [
      ["a", undefined, "sh x.sh", "exit status 0", false],
      ["b", undefined, "make", "executed the next", false],
      ["c", "b", "env", "killed by SIGSEGV", true],
      ["d", "c", "cc", "still running", false],
    ],
  );
  assert.equal(all[0]?.durationNs, 2e9);
  assert.equal(all[2]?.lost, 3);
  assert.equal(all[3]?.residentPeak, undefined);

  const commands = ["a", "c", "none"].map((id) => {
    const found = find(runs, id);
    return found && commandOf(found.run, found.recording, "report", {});
  });
  assert.deepEqual(commands, [
    "heaptap report /r/one.htap",
    "heaptap report --process 10 '/r/it'\\''s.htap'",
    undefined,
  ]);
});

const unknown = false;

const answers: Record<string, object> = {
  about: { sampled: false, merged: false, lacks: [{ what: "addresses", why: "not recorded", flag: "--addresses" }] },
  report: {
    recording: { damage: ["block 7 is damaged"], complete: false },
    lost_events: 1200,
    truncated_stacks: 1,
    totals: { events: 20, bytes: 1000, allocations: 10 },
    temporary: { allocations: null },
    peak: { bytes: 500, blocks: 5, time_ns: 2e9 },
    leaked: { bytes: 50, blocks: 1 },
    resident: null,
    samples: { peak_rss_bytes: 4096, peak_rss_time_ns: 1e9 },
  },
  function: {
    rows: [
      { group: { unknown, function: "f", module: "/bin/x", offset: "" }, self: { peak: 300, "peak-blocks": 3 } },
      { group: { unknown, function: "", module: "/bin/x", offset: "0x12" }, self: { peak: 200, "peak-blocks": 2 } },
      { group: { unknown: true, function: "", module: "", offset: "" }, self: { peak: 100, "peak-blocks": 1 } },
      { group: { unknown, function: "main", module: "/bin/x", offset: "" }, self: { peak: 0, "peak-blocks": 0 } },
    ],
  },
  line: {
    rows: [
      { group: { function: "f", file: "/y.cc", line: 1, module: "/bin/y" }, self: { peak: 250, "peak-blocks": 1 } },
      { group: { function: "f", file: "/src/f.cc", line: 8, module: "/bin/x" }, self: { peak: 200, "peak-blocks": 1 } },
      { group: { function: "f", file: "/src/f.cc", line: 9, module: "/bin/x" }, self: { peak: 100, "peak-blocks": 2 } },
    ],
  },
};

/** The question of a path; of a table, what it is by. */
function questionOf(path: string): string {
  const [, question = "", query = ""] = /^r\/[^/]*\/(\w+)(.*)/.exec(path) ?? [];
  return question === "top" ? (new URLSearchParams(query).get("by") ?? "") : question;
}

test("the first answer is put together from several questions, one after the other", async () => {
  const asked: string[] = [];
  let running = 0;
  const first = await askFirstAnswer(async (path) => {
    assert.equal(++running, 1);
    await Promise.resolve();
    running--;
    assert.ok(path.startsWith("r/a%2Fb/"), path);
    const question = questionOf(path);
    asked.push(question);
    assert.equal(path.includes("fold=true"), path.includes("/top?"), path);
    return columns(answers[question] ?? assert.fail(path));
  }, "a/b");
  assert.deepEqual(asked, ["about", "report", "function", "line"]);
  const { tookMs, ...rest } = first;
  assert.ok(tookMs >= 0);
  assert.deepEqual(rest, {
    basis: "exact",
    live: { bytes: 500, atNs: 2e9, blocks: 5 },
    resident: { bytes: 4096, atNs: 1e9 },
    leaked: { bytes: 50, blocks: 1 },
    allocated: { bytes: 1000, allocations: 10 },
    temporary: undefined,
    holders: { value: [
      { name: "f", file: "/src/f.cc", line: 8, module: "/bin/x", bytes: 300, blocks: 3 },
      { name: "x+0x12", file: "", line: 0, module: "/bin/x", bytes: 200, blocks: 2 },
      { name: "libraries alone, or unknown", file: "", line: 0, module: "", bytes: 100, blocks: 1 },
    ] },
    gaps: [{ question: "addresses", why: "not recorded", remedy: "--addresses" }],
    warnings: [
      "block 7 is damaged",
      "The recording has no end: the recorder was stopped, or still writes it.",
      "1,200 events were lost: numbers are too low.",
      "1 call stack was cut: its outermost frames are missing.",
    ],
  });
});

test("what a recording does not have is missing, and the rest is there", async () => {
  const refused = new Fault("refused", "calls were only counted", "top");
  const answer = async (path: string) => {
    const question = questionOf(path);
    if (question === "function") throw refused;
    return columns(answers[question] ?? {});
  };
  const first = await askFirstAnswer(answer, "a");
  assert.deepEqual([first.holders, first.live?.bytes], [{ fault: refused }, 500]);
  const gone = new Fault("unreachable", "heaptap does not answer", "top");
  const failing = (path: string) => (path.includes("/top") ? Promise.reject(gone) : answer(path));
  await assert.rejects(askFirstAnswer(failing, "a"), gone);
});

test("of counted calls only the allocations are known", async () => {
  const counts = [
    { function: "malloc", frees: false, calls: 3, bytes: 300 },
    { function: "free", frees: true, calls: 2, bytes: 0 },
    { function: "calloc", frees: false, calls: 1, bytes: 50 },
  ];
  const report = { ...answers["report"], totals: { events: 0, bytes: 0, allocations: 0 }, counts };
  const ask = async (path: string) => columns(path.includes("/report") ? report : (answers["about"] ?? {}));
  const first = await askFirstAnswer(ask, "a");
  assert.equal(first.basis, "counted");
  assert.deepEqual(first.allocated, { bytes: 350, allocations: 4 });
  assert.deepEqual([first.live, first.leaked, first.temporary], [undefined, undefined, undefined]);
  assert.ok("fault" in first.holders && first.holders.fault.message === "addresses: not recorded");
});

test("estimates and sums are marked as such", async () => {
  const about = { ...answers["about"], sampled: true, merged: true };
  const first = await askFirstAnswer(async (path) => {
    const question = questionOf(path);
    return columns(question === "about" ? about : (answers[question] ?? {}));
  }, "a");
  assert.deepEqual([first.basis, first.live?.atNs], ["estimated", undefined]);
});

test("queries repeat what has several values", () => {
  for (const [parameters, want] of [
    [{}, ""],
    [{ top: 0 }, "?top=0"],
    [{ metric: ["peak", "live"], self: true, at: undefined }, "?metric=peak&metric=live&self=true"],
    [{ focus: "a&b=c #é" }, "?focus=a%26b%3Dc+%23%C3%A9"],
  ] as const) {
    assert.equal(queryOf({ ...parameters } as Parameters<typeof queryOf>[0]), want);
  }
});

test("how a program ended", () => {
  assert.equal(endOf(true, false, 0, 0), "still running");
  assert.equal(endOf(false, false, 0, 0), "end not seen");
  assert.equal(endOf(false, true, 0, 3), "exit status 3");
  assert.equal(endOf(false, true, 6, 0), "killed by SIGABRT");
  assert.equal(endOf(false, true, 64, 0), "killed by signal 64");
});
