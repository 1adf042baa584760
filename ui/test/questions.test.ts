import assert from "node:assert/strict";
import { test } from "node:test";
import { find } from "../src/model/answers.ts";
import { commandOf } from "../src/model/commands.ts";
import { queryOf } from "../src/net/ask.ts";
import { askRuns, endOf } from "../src/net/questions.ts";
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
