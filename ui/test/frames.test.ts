import assert from "node:assert/strict";
import { test } from "node:test";
import { pace, randomly, scriptPerFrame, type TraceEvent } from "./frames.mjs";

const begin = (ts: number, tid = 1): TraceEvent => ({ name: "AnimationFrame::Render", ph: "b", pid: 1, tid, ts });
const call = (ts: number, dur: number, more: Partial<TraceEvent> = {}): TraceEvent => {
  return { name: "FunctionCall", ph: "X", pid: 1, tid: 1, ts, dur, ...more };
};

test("script counts in the frame in which it begins, once, and by the processor's time", () => {
  const events = [
    begin(40_000), begin(10_000), begin(20_000),
    call(5000, 900), // before the first frame
    call(11_000, 3000, { tdur: 2000 }),
    call(11_500, 1000), // within that
    call(15_000, 500, { name: "FireAnimationFrame" }),
    call(16_000, 500, { name: "Layout" }),
    call(21_000, 4000),
    call(22_000, 4000, { tid: 2 }), // a worker
    call(41_000, 900), // the last frame has no end
    begin(11_000, 3),
  ];
  assert.deepEqual(scriptPerFrame(events), [2.5, 4]);
  assert.deepEqual(scriptPerFrame([]), []);
});

test("the sum over frames is that of a model that looks at each microsecond", () => {
  const random = randomly(1);
  for (let round = 0; round < 50; round++) {
    const events = [0, 300, 700, 1000].map((ts) => begin(ts));
    const busy = new Uint8Array(1000);
    for (let i = 0; i < 10; i++) {
      // Calls lie within each other or apart, as those of a thread do.
      const ts = 100 * i + Math.floor(20 * random());
      const dur = Math.floor(40 * random());
      events.push(call(ts, dur), call(ts + 5, Math.max(0, dur - 10)));
      busy.fill(1, ts, ts + dur);
    }
    const all = scriptPerFrame(events).reduce((sum, ms) => sum + ms, 0);
    assert.ok(Math.abs(all - busy.reduce((sum, b) => sum + b, 0) / 1000) < 1e-9);
  }
});

test("frames that have no turn are dropped", () => {
  const turn = 1000 / 60;
  const times = (list: number[]) => list.map((i) => i * turn + (i % 3) * 0.1);
  assert.equal(pace(times([0, 1, 2, 3, 4])).dropped, 0);
  assert.equal(pace(times([0, 1, 2, 4, 8])).dropped, 50);
  assert.equal(Math.round(pace(times([0, 1, 2, 4, 8])).perSecond), 30);
  assert.deepEqual(pace([5]), { dropped: 100, perSecond: 0 });
});

test("random numbers are the same in every run", () => {
  const [a, b] = [randomly(7), randomly(7)];
  const list = Array.from({ length: 1000 }, a);
  assert.deepEqual(list, Array.from({ length: 1000 }, b));
  assert.ok(list.every((x) => x >= 0 && x < 1) && new Set(list).size > 990);
});
