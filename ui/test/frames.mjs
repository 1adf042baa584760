// What a trace of Chromium and the times of frames say about the work of a page.

/** What runs script. Garbage collection within counts; layout and painting do not. */
const script = new Set([
  "EvaluateScript", "EventDispatch", "FireAnimationFrame", "FireIdleCallback", "FunctionCall", "HandlePostMessage",
  "RunMicrotasks", "TimerFire", "XHRReadyStateChange", "v8.callFunction",
]);

/**
 * How many ms of the processor's time the main thread of a page spent on script in each of its frames: from the begin
 * of a frame to that of the next one.
 * @param {{ name: string, ph: string, pid: number, tid: number, ts: number, dur?: number, tdur?: number }[]} events
 * @returns {number[]}
 */
export function scriptPerFrame(events) {
  const begins = new Map(); // of frames, by thread
  for (const { name, ph, pid, tid, ts } of events) {
    if (name !== "AnimationFrame::Render" || ph !== "b") continue;
    const key = `${pid} ${tid}`;
    begins.set(key, [...(begins.get(key) ?? []), ts]);
  }
  // Other pages and the browser's own have few frames.
  const [thread, list = []] = [...begins].sort(([, a], [, b]) => b.length - a.length)[0] ?? [];
  list.sort((a, b) => a - b);
  const frames = list.slice(1).map(() => 0);
  const calls = events.filter(({ name, ph, pid, tid }) => ph === "X" && script.has(name) && `${pid} ${tid}` === thread);
  calls.sort((a, b) => a.ts - b.ts || (b.dur ?? 0) - (a.dur ?? 0));
  let end = -Infinity;
  let frame = -1;
  for (const { ts, dur = 0, tdur = dur } of calls) {
    if (ts < end) continue; // within another one
    end = ts + dur;
    while (frame + 1 < list.length && list[frame + 1] <= ts) frame++;
    if (frame >= 0 && frame < frames.length) frames[frame] += tdur / 1000;
  }
  return frames;
}

/**
 * The share of frames that were not drawn, in percent, and how many were drawn per second: of the times of frames, ms.
 * @param {readonly number[]} times
 * @returns {{ dropped: number, perSecond: number }}
 */
export function pace(times) {
  const turn = 1000 / 60;
  const took = times.length < 2 ? 0 : times[times.length - 1] - times[0];
  if (took <= 0) return { dropped: 100, perSecond: 0 };
  const turns = Math.round(took / turn);
  const drawn = times.length - 1;
  return { dropped: Math.max(0, (100 * (turns - drawn)) / turns), perSecond: (1000 * drawn) / took };
}

/** Random numbers from 0 to 1, the same in every run: mulberry32. */
export function randomly(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
