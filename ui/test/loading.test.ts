import assert from "node:assert/strict";
import { test } from "node:test";
import { Loader, progressMs, skeletonMs, type Timer } from "../src/model/loading.ts";
import { Fault } from "../src/net/fault.ts";
import type { Outcome } from "../src/net/lanes.ts";
import type { Progress } from "../src/api.ts";

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

/** A request that the test answers. */
function request<T>() {
  let answer: (outcome: Outcome<T>) => void = () => {};
  let report: (progress: Progress) => void = () => {};
  const outcome = new Promise<Outcome<T>>((resolve) => (answer = resolve));
  const ask = (onProgress: (progress: Progress) => void) => {
    report = onProgress;
    return outcome;
  };
  return { ask, answer: (o: Outcome<T>) => answer(o), report: (p: Progress) => report(p) };
}

test("a quick answer shows no skeleton", async () => {
  const { timer, pass } = fakeTimers();
  const loader = new Loader<number>(timer);
  const first = request<number>();
  const shown = loader.show(first.ask);
  assert.equal(loader.state.value.phase, "blank");
  first.answer({ value: 1 });
  await shown;
  pass(skeletonMs);
  pass(progressMs);
  assert.deepEqual(loader.state.value, { phase: "done", value: 1 });
});

test("a slow answer shows a skeleton, then progress, then itself", async () => {
  const { timer, pass } = fakeTimers();
  const loader = new Loader<number>(timer);
  const slow = request<number>();
  const shown = loader.show(slow.ask);
  pass(skeletonMs);
  assert.equal(loader.state.value.phase, "skeleton");
  slow.report({ share: 0.25, doing: "counting" });
  assert.equal(loader.state.value.phase, "skeleton");
  pass(progressMs);
  assert.deepEqual(loader.state.value, { phase: "progress", progress: { share: 0.25, doing: "counting" } });
  slow.report({ share: 0.5, doing: "counting" });
  assert.deepEqual(loader.state.value, { phase: "progress", progress: { share: 0.5, doing: "counting" } });
  slow.answer({ value: 7 });
  await shown;
  assert.deepEqual(loader.state.value, { phase: "done", value: 7 });
});

test("a late answer for another selection is dropped", async () => {
  const { timer, pass } = fakeTimers();
  const loader = new Loader<string>(timer);
  const old = request<string>();
  const fresh = request<string>();
  const oldShown = loader.show(old.ask);
  const freshShown = loader.show(fresh.ask);
  fresh.answer({ value: "fresh" });
  await freshShown;
  old.report({ share: 0.9, doing: "" });
  old.answer({ value: "old" });
  await oldShown;
  pass(progressMs);
  assert.deepEqual(loader.state.value, { phase: "done", value: "fresh" });
});

test("faults and cancellations are shown", async () => {
  const { timer } = fakeTimers();
  const loader = new Loader<string>(timer);
  const fault = new Fault("broken", "cut short", "top");
  await loader.show(async () => ({ fault }));
  assert.deepEqual(loader.state.value, { phase: "failed", fault });
  await loader.show(async () => undefined);
  assert.deepEqual(loader.state.value, { phase: "cancelled" });
});
