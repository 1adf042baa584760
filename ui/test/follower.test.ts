import assert from "node:assert/strict";
import { test } from "node:test";
import type { Progress } from "../src/api.ts";
import { busyMs, Follower, progressMs, type Runner, type Task, type Timer } from "../src/model/follower.ts";
import { Memory } from "../src/model/memory.ts";
import { Fault } from "../src/net/fault.ts";
import type { Ask, Outcome } from "../src/net/lanes.ts";

/** Timers that run when the test says so. */
function fakeTimers(): { timer: Timer; pass: (ms: number) => void } {
  const waiting: { ms: number; call: () => void }[] = [];
  const timer: Timer = (ms, call) => {
    const entry = { ms, call };
    waiting.push(entry);
    return () => waiting.splice(waiting.indexOf(entry), waiting.includes(entry) ? 1 : 0);
  };
  const pass = (ms: number) => {
    for (const entry of waiting.filter((entry) => entry.ms === ms)) {
      waiting.splice(waiting.indexOf(entry), 1);
      entry.call();
    }
  };
  return { timer, pass };
}

/** A lane that answers when the test says so, with what the task returned. A new task replaces the one that runs. */
class FakeLane implements Runner {
  ran: string[] = [];
  report: (progress: Progress) => void = () => {};
  #end: ((how: "answer" | "cancel" | Fault) => void) | undefined;

  async run<T>(task: (ask: Ask) => Promise<T>, onProgress: (p: Progress) => void = () => {}): Promise<Outcome<T>> {
    this.cancel();
    this.report = onProgress;
    const value = await task(() => Promise.reject(new Error("unused")));
    this.ran.push(String(value));
    return await new Promise((resolve) => {
      this.#end = (how) => resolve(how === "answer" ? { value } : how === "cancel" ? undefined : { fault: how });
    });
  }

  cancel(): void {
    this.#end?.("cancel");
    this.#end = undefined;
  }

  async end(how: "answer" | Fault = "answer"): Promise<void> {
    await settled();
    this.#end?.(how);
    this.#end = undefined;
    await settled();
  }
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

function task(key: string, base = "r"): Task<string> {
  return { base, key, run: () => Promise.resolve(key) };
}

function make() {
  const { timer, pass } = fakeTimers();
  const exact = new FakeLane();
  const rough = new FakeLane();
  const part = new Follower<string>(exact, rough, timer);
  const state = () => {
    const shown = part.shown.value;
    return [shown && `${shown.value}${shown.rough ? "~" : ""}`, part.wait.value?.phase];
  };
  return { part, exact, rough, pass, state };
}

test("a quick answer shows no waiting", async () => {
  const { part, exact, pass, state } = make();
  part.settle(task("a"));
  assert.deepEqual(state(), [undefined, undefined]);
  await exact.end();
  pass(busyMs);
  pass(progressMs);
  assert.deepEqual(state(), ["a", undefined]);
});

test("a slow answer says so, then how far it is; what was shown stays", async () => {
  const { part, exact, pass, state } = make();
  part.settle(task("a"));
  await exact.end();
  part.settle(task("b"));
  pass(busyMs);
  assert.deepEqual(state(), ["a", "busy"]);
  await settled();
  exact.report({ share: 0.25, doing: "counting" });
  assert.deepEqual(part.wait.value, { phase: "busy", progress: undefined });
  pass(progressMs);
  assert.deepEqual(part.wait.value, { phase: "busy", progress: { share: 0.25, doing: "counting" } });
  await exact.end();
  assert.deepEqual(state(), ["b", undefined]);
});

test("during a drag rough answers follow, one at a time, and the newest is asked next", async () => {
  const { part, exact, rough, state } = make();
  part.follow(task("1"));
  part.follow(task("2"));
  part.follow(task("3"));
  await rough.end();
  assert.deepEqual(state(), ["1~", undefined]);
  await rough.end();
  assert.deepEqual(rough.ran, ["1", "3"]);
  assert.deepEqual(state(), ["3~", undefined]);
  part.settle(task("3 exactly"));
  assert.deepEqual(state(), ["3~", undefined]);
  await exact.end();
  assert.deepEqual(state(), ["3 exactly", undefined]);
});

test("a rough answer that comes after the release is dropped", async () => {
  const { part, exact, rough, state } = make();
  part.follow(task("1"));
  part.follow(task("2"));
  await settled();
  part.settle(task("x"));
  await rough.end();
  await exact.end();
  assert.deepEqual(state(), ["x", undefined]);
  assert.deepEqual(rough.ran, ["1"]);
});

test("a late exact answer to another selection is dropped", async () => {
  const { part, exact, state } = make();
  part.settle(task("old"));
  await settled();
  part.settle(task("new"));
  await exact.end();
  assert.deepEqual(state(), ["new", undefined]);
  part.settle(task("new")); // the same again asks nothing
  assert.deepEqual(exact.ran, ["old", "new"]);
});

test("an answer about another recording is not shown meanwhile", async () => {
  const { part, exact, state } = make();
  part.settle(task("a", "r"));
  await exact.end();
  part.settle(task("b", "s"));
  assert.deepEqual(state(), [undefined, undefined]);
});

test("a fault replaces the answer, and can be tried again; a cancelled question, too", async () => {
  const { part, exact, state } = make();
  part.settle(task("a"));
  await exact.end();
  part.settle(task("b"));
  await exact.end(new Fault("refused", "no", "here"));
  assert.deepEqual(state(), [undefined, "failed"]);
  part.retry();
  await exact.end();
  assert.deepEqual(state(), ["b", undefined]);
  part.settle(task("c"));
  await settled();
  part.cancel();
  await settled();
  assert.deepEqual(state(), ["b", "cancelled"]);
  part.retry();
  await exact.end();
  assert.deepEqual(state(), ["c", undefined]);
});

test("after a drag back to the same selection, its exact answer replaces the rough one", async () => {
  const { part, exact, rough, state } = make();
  part.settle(task("a"));
  await exact.end();
  part.follow(task("b"));
  await rough.end();
  part.settle(task("a"));
  await exact.end();
  assert.deepEqual(state(), ["a", undefined]);
});

test("a cleared part shows nothing", async () => {
  const { part, exact, state } = make();
  part.settle(task("a"));
  await settled();
  part.clear();
  await exact.end();
  assert.deepEqual(state(), [undefined, undefined]);
});

test("what is known is there at once, and is not asked for", async () => {
  const exact = new FakeLane();
  const memory = new Memory(({ key }) => key !== "grows");
  const make = () => new Follower<string>(exact, undefined, fakeTimers().timer, memory.of("part"));
  const first = make();
  for (const key of ["a", "grows"]) {
    first.settle(task(key));
    await exact.end();
  }
  first.clear();
  assert.deepEqual(exact.ran, ["a", "grows"]);
  const again = make();
  again.settle(task("a"));
  assert.deepEqual([again.shown.value?.value, again.shown.value?.rough], ["a", false]);
  again.settle(task("grows"));
  await exact.end();
  assert.deepEqual(exact.ran, ["a", "grows", "grows"]);
  // Another part makes something else of the answer; another recording has another one.
  const other = new Follower<string>(exact, undefined, fakeTimers().timer, memory.of("other"));
  other.settle(task("a"));
  await exact.end();
  again.settle(task("a", "s"));
  await exact.end();
  memory.clear();
  make().settle(task("a"));
  await exact.end();
  assert.deepEqual(exact.ran, ["a", "grows", "grows", "a", "a", "a"]);
});

test("a known answer replaces the one that is being waited for", async () => {
  const exact = new FakeLane();
  const memory = new Memory(() => true);
  const part = new Follower<string>(exact, undefined, fakeTimers().timer, memory.of("part"));
  part.settle(task("a"));
  await exact.end();
  part.settle(task("b"));
  part.settle(task("a"));
  assert.deepEqual([part.shown.value?.value, part.wait.value], ["a", undefined]);
  await exact.end();
  assert.equal(part.shown.value?.value, "a");
});

test("of many answers, those that were needed last are kept", () => {
  const known = new Memory(() => true).of<string>("part");
  const put = (key: string) => known.put({ value: key, task: task(key), rough: false, tookMs: 1 });
  put("first");
  put("second");
  for (let i = 0; i < 38; i++) put(`${i}`);
  assert.equal(known.get(task("first"))?.value, "first");
  put("one more");
  assert.equal(known.get(task("second")), undefined);
  assert.equal(known.get(task("first"))?.value, "first");
});

test("few films are kept, beside other answers", () => {
  const memory = new Memory(() => true);
  const put = (part: string, key: string) => {
    memory.of<string>(part).put({ value: key, task: task(key), rough: false, tookMs: 1 });
  };
  put("heap-first", "a");
  for (const key of ["a", "b", "c"]) put("heap", key);
  const kept = (part: string, key: string) => memory.of<string>(part).get(task(key))?.value;
  assert.deepEqual(["a", "b", "c"].map((key) => kept("heap", key)), [undefined, "b", "c"]);
  assert.equal(kept("heap-first", "a"), "a");
});
