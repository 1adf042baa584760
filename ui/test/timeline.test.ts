import assert from "node:assert/strict";
import { test } from "node:test";
import { allocatedOver, changeOver, columnsOf, liveAt, nearestStep, spanOf, topOf } from "../src/model/timeline.ts";
import type { Axis, Steps } from "../src/model/timeline.ts";
import { drag, dragged, grip, hit, peakNear, pointerFor, settled } from "../src/model/timeline-drag.ts";
import {
  byteTicks,
  change,
  keepClear,
  momentLabel,
  placeFlags,
  placePills,
  rangeTexts,
  shortRate,
  timeTicks,
} from "../src/model/timeline-labels.ts";
import { act, keyed, pinched, timelineActions, within, zoomed } from "../src/model/timeline-moves.ts";
import type { Facts, State } from "../src/model/timeline-moves.ts";
import { ordered, rangeTimes, runOf, stateOf, viewTimes } from "../src/model/timeline-place.ts";
import type { ProcessTimeline } from "../src/api.ts";
import { decode } from "../src/columns.ts";
import { ribbonOf, stepsOf } from "../src/net/timeline.ts";
import { columns } from "./encode.mjs";
import { stepsFrom } from "./steps.ts";

const s = 1e9;
const of = (text: string) => 6 * text.length; // the width of a text

/** Random numbers from 0 to 1 that are the same each time (mulberry32). */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Steps of random times, some of them without time, with random levels. */
function randomSteps(r: () => number, begin: number, end: number, n: number): Steps {
  const times = Array.from({ length: n - 1 }, () => begin + Math.floor(r() * (end - begin))).sort((a, b) => a - b);
  const list = () => Float64Array.from({ length: n + 1 }, () => Math.floor(r() * 1000));
  const [a, b] = [list(), list()];
  return {
    timesNs: Float64Array.from([begin, ...times, end]),
    live: a.map((value, i) => Math.min(value, b[i] ?? 0)),
    most: a.map((value, i) => Math.max(value, b[i] ?? 0)),
    fewest: a.map((value, i) => Math.min(value, b[i] ?? 0)),
    bytes: list(),
    exact: Uint8Array.from({ length: n + 1 }, () => (r() < 0.8 ? 1 : 0)),
    resident: r() < 0.5 ? undefined : list(),
    mapped: undefined,
    marks: [],
    regions: [],
    rough: false,
  };
}

test("a column has the extremes of its steps, of no other, and no step is lost", () => {
  const r = random(1);
  for (let round = 0; round < 400; round++) {
    const steps = randomSteps(r, 0, 1e6, 1 + Math.floor(r() * 60));
    const from = Math.floor(r() * 9e5);
    const span = { begin: from, end: from + 1 + Math.floor(r() * (1e6 - from)) };
    const axis: Axis = { span, width: 1 + Math.floor(r() * 50) };
    if (round % 3 === 0) axis.span = spanOf(steps);
    const got = columnsOf(steps, undefined, axis);
    const pixel = (axis.span.end - axis.span.begin) / axis.width;
    for (let x = 0; x < axis.width; x++) {
      const [t0, t1] = [axis.span.begin + x * pixel, axis.span.begin + (x + 1) * pixel];
      const most: number[] = []; // of all steps that reach into the column,
      const sure: number[] = []; // and of those that reach far into it, or are in it
      for (let i = 1; i < steps.timesNs.length; i++) {
        const [a, b] = [steps.timesNs[i - 1] ?? 0, steps.timesNs[i] ?? 0];
        if (b < t0 || a > t1) continue;
        most.push(steps.most[i] ?? 0);
        const inside = Math.min(b, t1) - Math.max(a, t0);
        const within = a > t0 && b < t1;
        if (within || inside > 0.151 * pixel) sure.push(steps.most[i] ?? 0);
      }
      const value = got.most[x] ?? NaN;
      assert.ok(most.includes(value), `column ${x} has ${value}, which is none of ${most}`);
      assert.ok(value >= Math.max(...sure), `column ${x} has ${value}, and not the most of ${sure}`);
    }
    if (round % 3 !== 0) continue;
    const highest = Math.max(...steps.most.subarray(1));
    assert.equal(Math.max(...got.most), highest, "the peak is lost");
    assert.equal(Math.min(...got.fewest), Math.min(...steps.fewest.subarray(1)), "the lowest point is lost");
    const bytes = steps.bytes.subarray(1).reduce((sum, n) => sum + n, 0);
    const drawn = got.rate.reduce((sum, n) => sum + (n * pixel) / 1e9, 0);
    assert.ok(Math.abs(drawn - bytes) < 1e-6 * (1 + bytes), `${drawn} bytes are drawn, not ${bytes}`);
    assert.equal(got.exact.includes(0), steps.exact.subarray(1).includes(0));
  }
});

test("what was allocated over a range is the sum of its steps", () => {
  const steps = stepsFrom({ span: { begin: 0, end: 10 * s }, steps: 10, live: () => 1 });
  steps.timesNs.forEach((_, i) => (steps.bytes[i] = i === 0 ? 0 : 100 * i));
  steps.exact.fill(1);
  assert.deepEqual(allocatedOver(steps, { begin: 1.9 * s, end: 4.1 * s }), { bytes: 700, seconds: 2, exact: true });
  steps.exact[4] = 0;
  assert.equal(allocatedOver(steps, { begin: 2 * s, end: 4 * s }).exact, false);
  assert.deepEqual(allocatedOver(steps, { begin: 2 * s, end: 2 * s }), { bytes: 0, seconds: 0, exact: true });
});

test("a peak of a nanosecond is as high as it was, at any zoom", () => {
  const steps = stepsFrom({ span: { begin: 0, end: 2400 * s }, steps: 1364, live: () => 100 });
  const i = 700;
  steps.most[i] = 5000;
  for (const width of [1, 7, 300, 1363, 1364, 1365, 2560]) {
    const got = columnsOf(steps, undefined, { span: spanOf(steps), width });
    assert.equal(Math.max(...got.most), 5000, `${width} pixels`);
    const shown = got.most.filter((value) => value === 5000).length;
    assert.ok(shown <= Math.ceil(width / 1364) + 1, `${shown} of ${width} pixels have the peak`);
  }
});

test("what is shown has its own steps; around it are those of the run", () => {
  const whole = stepsFrom({ span: { begin: 0, end: 1000 }, steps: 10, live: () => 5 });
  const detail = stepsFrom({ span: { begin: 400, end: 600 }, steps: 200, live: () => 7 });
  const got = columnsOf(whole, detail, { span: { begin: 300, end: 700 }, width: 400 });
  assert.deepEqual([got.most[99], got.most[100], got.most[299], got.most[300]], [5, 7, 7, 5]);
  assert.ok(!got.most.includes(NaN));
  assert.equal(changeOver(whole, detail, { begin: 100, end: 500 }), 2);
});

test("the top is that of live and resident bytes; mapped ones count if they are not far above", () => {
  const of = (mapped: number) => {
    const steps = stepsFrom({ span: { begin: 0, end: 10 }, steps: 10, live: () => 100, mapped: () => mapped });
    return topOf(columnsOf(steps, undefined, { span: spanOf(steps), width: 10 }));
  };
  assert.deepEqual([of(120), of(1000), of(10)], [120, 100, 100]);
});

test("moments are written as precisely as a pixel is wide", () => {
  for (const [ns, pixel, largest, want] of [
    [724 * s, 1.8 * s, 2460 * s, "12:04"],
    [724.3 * s, 0.1 * s, 2460 * s, "12:04.3"],
    [59.96 * s, 0.1 * s, 2460 * s, "1:00.0"],
    [3723.456 * s, 1e6, 4000 * s, "1:02:03.456"],
    [4.2 * s, 2e6, 5 * s, "4.200 s"],
    [4.2 * s, 12e6, 20 * s, "4.20 s"],
    [870_000, 1200, 900_000, "870 µs"],
    [0, 1.8 * s, 2460 * s, "0:00"],
    [12, 0.01, 40, "12 ns"],
  ] as const) {
    assert.equal(momentLabel(ns, pixel, largest), want);
  }
  assert.deepEqual([change(0), change(434_110_464), change(-2048)], ["±0 B", "+414 MiB", "−2.00 KiB"]);
  assert.deepEqual([64e6, 1.29e9, 5e8, 0].map(shortRate), ["61 MiB/s", "1.2 GiB/s", "477 MiB/s", "0 B/s"]);
  assert.deepEqual(rangeTexts("12:04 – 19:30", 434_110_464, "A"), ["A 12:04 – 19:30 · +414 MiB", "A +414 MiB"]);
});

test("ticks of an axis of time differ, ascend, and have room", () => {
  const r = random(3);
  for (let round = 0; round < 2000; round++) {
    const begin = Math.floor(10 ** (r() * 13));
    const end = begin + 100 + Math.floor(10 ** (r() * 13));
    const axis = { span: { begin, end }, width: 250 + Math.floor(r() * 2300) };
    const ticks = timeTicks(axis, of);
    const places = ticks.map(({ value }) => ((value - begin) / (axis.span.end - begin)) * axis.width);
    assert.equal(new Set(ticks.map(({ text }) => text)).size, ticks.length, JSON.stringify(ticks));
    for (let i = 0; i < ticks.length; i++) {
      assert.ok((places[i] ?? -1) >= -0.01 && (places[i] ?? 0) <= axis.width + 0.01);
      const [a, b] = [ticks[i - 1], ticks[i]];
      if (!a || !b) continue;
      const space = (places[i] ?? 0) - (places[i - 1] ?? 0) - (of(a.text) + of(b.text)) / 2;
      assert.ok(space >= 8, `${a.text} and ${b.text} are ${space} pixels apart`);
    }
  }
  const whole = timeTicks({ span: { begin: 0, end: 2460 * s }, width: 1364 }, of).map(({ text }) => text);
  assert.deepEqual(whole.slice(0, 3), ["0", "2 min", "4 min"]);
  assert.deepEqual(byteTicks(700 * 2 ** 20, 80, 22).map(({ text }) => text), ["256 MiB", "512 MiB"]);
  for (let top = 2; top < 1e12; top *= 1.07) {
    const ticks = byteTicks(top, 78, 22);
    assert.ok(ticks.length >= 2 && (ticks.at(-1)?.value ?? 0) <= top, `${ticks.length} marks up to ${top}`);
    assert.ok((78 * (ticks[0]?.value ?? 0)) / top >= 11, `marks up to ${top} overlap`);
  }
});

test("texts of flags and ranges never overlap, nor leave the picture", () => {
  const r = random(4);
  const apart = (labels: readonly { x: number; width: number }[], width: number) => {
    const sorted = [...labels].sort((a, b) => a.x - b.x);
    sorted.forEach(({ x, width: w }, i) => {
      assert.ok(x >= -0.01 && x + w <= width + 0.01, "outside");
      const before = sorted[i - 1];
      assert.ok(!before || before.x + before.width + 8 <= x + 0.01, "overlap");
    });
  };
  for (let round = 0; round < 500; round++) {
    const width = 200 + Math.floor(r() * 1500);
    const flag = () => ({ text: "x".repeat(1 + r() * 20), x: r() * width });
    const list = Array.from({ length: Math.floor(r() * 60) }, flag);
    const placed = placeFlags(list, width, of);
    apart(placed, width);
    if (list.length > 0 && of(list[0]?.text ?? "") < width / 2 - 5) assert.equal(placed[0]?.index, 0);
    for (const { index, x, width: w } of placed) {
      const line = list[index]?.x ?? 0;
      assert.ok(Math.min(Math.abs(x - line), Math.abs(x + w - line)) <= 5.01, "away from its line");
    }
    const texts = ["A 12:04 – 19:30 · +414 MiB", "A +1 B"];
    const pills = Array.from({ length: 2 }, () => ({ middle: r() * width, texts }));
    const words = placePills(pills, width, of);
    apart(words, width);
    const labels = Array.from({ length: 20 }, (_, i) => ({ text: "1 min", x: i * 60, width: 30 }));
    const clear = keepClear(labels, words);
    for (const one of clear) for (const other of words) apart([one, other], Infinity);
  }
});

const axis: Axis = { span: { begin: 0, end: 1000 }, width: 1000 };

test("edges are taken hold of from both sides, and a narrow range can still be moved", () => {
  const ranges = { a: { begin: 100, end: 200 }, b: { begin: 300, end: 306 } };
  for (const [x, want] of [
    [94, undefined],
    [95, ["a", "begin"]],
    [105, ["a", "begin"]],
    [106, ["a", "middle"]],
    [196, ["a", "end"]],
    [205, ["a", "end"]],
    [206, undefined],
    [296, ["b", "begin"]],
    [303, ["b", "middle"]],
    [305, ["b", "end"]],
    [310, ["b", "end"]],
  ] as const) {
    const got = hit(ranges, axis, x, 5);
    assert.deepEqual(got && [got.which, got.part], want, `at ${x}`);
  }
});

test("a drag makes, changes and moves ranges, within what is shown", () => {
  const r = random(5);
  for (let round = 0; round < 3000; round++) {
    const at = () => Math.floor(r() * 1000);
    const span = () => {
      const [a, b] = [at(), at()];
      return { begin: Math.min(a, b), end: Math.max(a, b) + 1 };
    };
    const ranges = r() < 0.3 ? {} : r() < 0.5 ? { a: span() } : { a: span(), b: span() };
    const [from, to] = [at(), Math.floor(r() * 1400) - 200];
    const how = { second: r() < 0.5, moves: r() < 0.5 };
    const held = grip(ranges, axis, from, 5, how);
    const got = drag(held, ranges, axis, to);
    for (const { begin, end } of [got.a, got.b].filter((one) => one !== undefined)) {
      assert.ok(begin >= 0 && end <= 1001 && begin <= end, JSON.stringify({ ranges, got }));
    }
    if (held.kind === "middle") {
      assert.ok(how.moves && !how.second);
      const [before, after] = [ranges[held.which], got[held.which]];
      assert.equal((after?.end ?? 0) - (after?.begin ?? 0), (before?.end ?? 0) - (before?.begin ?? 0));
    } else if (held.kind === "new" && held.which === "a") assert.equal(got.b, undefined);
    if (held.which === "b") assert.deepEqual(got.a, ranges.a);
  }
  const snap = (ns: number) => Math.round(ns / 10) * 10;
  const some = settled({ a: { begin: 11, end: 12 }, b: { begin: 14, end: 26 } }, snap);
  assert.deepEqual(some, { a: { begin: 10, end: 30 } });
});

const whole = stepsFrom({
  span: { begin: 0, end: 1000 * s },
  steps: 1000,
  live: (ns) => 100 + 900 * Math.min(1, Math.max(0, (ns / s - 300) / 200)),
  resident: (ns) => (ns === 640 * s ? 4000 : 3000),
});
whole.most[750] = 1010;
whole.marks = [100, 400, 400, 900].map((at) => ({ name: `m${at}`, atNs: at * s, text: `m${at}` }));
const facts: Facts = { whole, detail: undefined, width: 1000, peakNs: undefined, residentPeakNs: undefined };
const none: State = { view: undefined, cursor: undefined, ranges: {} };

test("a drag that ends near a maximum that stands out ends at it", () => {
  const span = { begin: 0, end: 1000 * s };
  const tooth = (t: number, at: number, height: number) => height * Math.max(0, 1 - Math.abs(t - at) / 20);
  const live = (ns: number) => 500 + tooth(ns / s, 300, 400) + tooth(ns / s, 600, 4) + tooth(ns / s, 850, 500);
  const steps = stepsFrom({ span, steps: 1000, live });
  const here: Facts = { ...facts, whole: steps, peakNs: 850.4 * s };
  const axis: Axis = { span, width: 1000 };
  const near = (pixel: number) => (peakNear(here, axis, pixel * s) ?? NaN) / s;
  assert.deepEqual([295, 296, 300, 304, 305].map(near), [NaN, 300, 300, 300, NaN]);
  assert.deepEqual([598, 600, 700, 0, 1000].map(near), [NaN, NaN, NaN, NaN, NaN], "nothing stands out there");
  assert.deepEqual([845, 846, 854, 855].map(near), [NaN, 850.4, 850.4, NaN], "the peak, exactly");
  const slope = stepsFrom({ span, steps: 1000, live: (ns) => ns / s });
  const sloping = { ...here, whole: slope, peakNs: undefined };
  for (const pixel of [3, 500, 998]) assert.equal(peakNear(sloping, axis, pixel * s), undefined);

  const drawn = dragged(grip({}, axis, 200, 5), {}, axis, 303, here);
  assert.deepEqual(drawn, { a: { begin: 200 * s, end: 300 * s } });
  assert.equal(changeOver(steps, undefined, drawn.a ?? span), 400);
  // An edge that is not touched stays, even near a maximum; and a range that is moved keeps its length.
  const a = { begin: 298 * s, end: 400 * s };
  const from = (at: number, to: number) => dragged(grip({ a }, axis, at, 5, { moves: true }), { a }, axis, to, here).a;
  assert.deepEqual(from(400, 853), { begin: 298 * s, end: 850.4 * s });
  assert.deepEqual(from(350, 351), { begin: 299 * s, end: 401 * s });
  assert.deepEqual(drag(grip({ a }, axis, 320, 5), { a }, axis, 380), { a: { begin: 320 * s, end: 380 * s } });
  assert.equal(pointerFor({ a }, axis, 350, 5, false), "crosshair");
  assert.equal(pointerFor({ a }, axis, 350, 5, true), "grab");
  const peak = { bytes: 1017, atNs: 850.4 * s };
  assert.equal(liveAt(steps, undefined, 850.4 * s, peak), 1017);
  assert.equal(changeOver(steps, undefined, { begin: 200 * s, end: 850.4 * s }, peak), 517);
  assert.equal(liveAt(steps, undefined, 850 * s, peak), 1000);
});

test("actions go to peaks and marks, zoom, and select", () => {
  assert.equal(act("timeline.peak", none, facts).cursor, 750 * s);
  assert.equal(act("timeline.peak", none, { ...facts, peakNs: 749.5 * s }).cursor, 749.5 * s);
  assert.equal(act("timeline.resident-peak", none, facts).cursor, 640 * s);
  const marks = (action: "timeline.next-mark" | "timeline.previous-mark") => {
    const seen: (number | undefined)[] = [];
    for (let state = act(action, none, facts); seen.at(-1) !== state.cursor; state = act(action, state, facts)) {
      seen.push(state.cursor);
    }
    return seen;
  };
  assert.deepEqual(marks("timeline.next-mark"), [100 * s, 400 * s, 900 * s]);
  assert.deepEqual(marks("timeline.previous-mark"), [900 * s, 400 * s, 100 * s]);
  // What is gone to is shown.
  const far: State = { ...none, view: { begin: 0, end: 100 * s } };
  assert.deepEqual(act("timeline.peak", far, facts).view, { begin: 700 * s, end: 800 * s });
  assert.deepEqual(act("timeline.zoom-in", { ...none, cursor: 250 * s }, facts).view, { begin: 125 * s, end: 625 * s });
  assert.equal(act("timeline.zoom-out", act("timeline.zoom-in", none, facts), facts).view, undefined);
  const rise = act("timeline.rise", { ...none, cursor: 400 * s }, facts).ranges.a;
  assert.deepEqual(rise, { begin: 300 * s, end: 500 * s });
  const ranges = (a: number, b: number) => ({ ...none, ranges: { a: { begin: a * s, end: b * s } } });
  const second = (a: number, b: number) => act("timeline.compare", ranges(a, b), facts).ranges.b;
  assert.deepEqual(second(300, 500), { begin: 100 * s, end: 300 * s });
  assert.deepEqual(second(100, 400), { begin: 400 * s, end: 700 * s });
  assert.equal(second(0, 1000), undefined);
  const compared = act("timeline.compare", ranges(3, 5), facts);
  assert.equal(act("timeline.compare", compared, facts), compared, "there is one already");
  assert.deepEqual(act("timeline.clear", { ...none, ranges: { a: { begin: 1, end: 2 } } }, facts), none);
  assert.equal(act("timeline.clear", none, facts), none);
  assert.equal(new Set(timelineActions.map(({ id }) => id)).size, timelineActions.length);
});

test("zooming holds still where it is done, and stays within the run", () => {
  const r = random(6);
  const run = spanOf(whole);
  for (let round = 0; round < 1000; round++) {
    const view = within({ begin: r() * 900 * s, end: 950 * s }, run) ?? run;
    const at = view.begin + r() * (view.end - view.begin);
    const got = zoomed(view, run, at, 10 ** (r() * 4 - 3)) ?? run;
    assert.ok(got.begin >= run.begin && got.end <= run.end && got.end - got.begin >= 99, JSON.stringify(got));
    const share = (span: { begin: number; end: number }) => (at - span.begin) / (span.end - span.begin);
    if (got.end - got.begin < view.end - view.begin) assert.ok(Math.abs(share(got) - share(view)) < 0.02);
  }
});

test("two fingers take along what is below them", () => {
  const r = random(8);
  const run = spanOf(whole);
  for (let round = 0; round < 1000; round++) {
    const view = within({ begin: r() * 500 * s, end: 600 * s }, run) ?? run;
    const from: [number, number] = [r() * 1000, r() * 1000];
    const to: [number, number] = [r() * 1000, r() * 1000];
    const got = pinched(view, run, 1000, from, to) ?? run;
    assert.ok(got.begin >= run.begin && got.end <= run.end && got.end - got.begin >= 99, JSON.stringify(got));
    if (got.begin === run.begin || got.end === run.end || Math.abs(to[1] - to[0]) < 10) continue;
    const at = (span: { begin: number; end: number }, x: number) => span.begin + (x / 1000) * (span.end - span.begin);
    const [before, after] = [from.map((x) => at(view, x)), to.map((x) => at(got, x))];
    const middle = ([a = 0, b = 0]: number[]) => (a + b) / 2;
    const apart = ([a = 0, b = 0]: number[]) => Math.abs(a - b);
    const near = (a: number, b: number) => assert.ok(Math.abs(a - b) < 1e6, `${a} is not ${b}`);
    near(middle(after), middle(before));
    if (got.end - got.begin > 101) near(apart(after), apart(before));
  }
});

test("keys move the chosen moment from step to step, and select", () => {
  const press = (state: State, key: string, shiftKey = false, ctrlKey = false) =>
    keyed(state, facts, { key, shiftKey, ctrlKey }) ?? assert.fail(`${key} does nothing`);
  let state = press(none, "ArrowRight");
  assert.equal(state.cursor, 0);
  state = press(press(state, "ArrowRight"), "ArrowRight");
  assert.equal(state.cursor, 2 * s);
  state = press(state, "PageDown", true);
  assert.deepEqual(state.ranges.a, { begin: 2 * s, end: 52 * s });
  state = press(state, "ArrowLeft", true);
  assert.deepEqual(state.ranges.a, { begin: 2 * s, end: 51 * s });
  state = press(press(state, "End"), "ArrowLeft", true, true);
  assert.deepEqual(state.ranges, { a: { begin: 2 * s, end: 51 * s }, b: { begin: 999 * s, end: 1000 * s } });
  state = press(press(state, "Home", true), "Home", true);
  assert.deepEqual(state.ranges.a, { begin: 0, end: 999 * s });
  // Back to where it began, nothing is selected.
  assert.equal(press(press(press(none, "Home"), "ArrowRight", true), "ArrowLeft", true).ranges.a, undefined);
  state = press({ ...state, view: { begin: 0, end: 500 * s } }, "Escape");
  assert.equal(state.cursor, undefined);
  state = act("timeline.back", state, facts);
  assert.deepEqual(state.ranges, {});
  state = press(state, "Escape");
  assert.equal(state.view, undefined);
  assert.equal(act("timeline.back", state, facts), state, "nothing is left");
  assert.equal(keyed(state, facts, { key: "Escape", shiftKey: false, ctrlKey: false }), undefined);
  assert.equal(keyed(state, facts, { key: "x", shiftKey: false, ctrlKey: false }), undefined);
});

test("where a pixel has less time than a step, a key goes on to the next step", () => {
  const zoomedIn: State = { ...none, view: { begin: 10 * s, end: 20 * s }, cursor: 15 * s };
  const next = keyed(zoomedIn, facts, { key: "ArrowRight", shiftKey: false, ctrlKey: false });
  assert.equal(next?.cursor, 16 * s);
  const before = keyed(zoomedIn, facts, { key: "ArrowLeft", shiftKey: false, ctrlKey: false });
  assert.equal(before?.cursor, 14 * s);
});

test("a place says what is selected and shown, in any of the forms of times", () => {
  const run = runOf(whole, 750 * s);
  const place = { from: "m100", to: "50%", from2: "12m", to2: undefined, at: "peak", zoom: "90s..1000s" };
  const state = stateOf(place, run);
  assert.deepEqual(state, {
    view: { begin: 90 * s, end: 1000 * s },
    cursor: 750 * s,
    ranges: { a: { begin: 100 * s, end: 500 * s }, b: { begin: 720 * s, end: 1000 * s } },
  });
  const written = { ...rangeTimes(state.ranges), ...viewTimes(state) };
  // The later range is what counts.
  assert.deepEqual(written, { from: "720s", to: "1000s", from2: "100s", to2: "500s", at: "750s", zoom: "90s..1000s" });
  const { a, b } = state.ranges;
  assert.deepEqual(stateOf(written, run), { ...state, ranges: { a: b, b: a } });
  assert.deepEqual(ordered({ a: b, b: a }), ordered({ a, b }));
  assert.deepEqual(ordered({ a }), { a });
  const nothing = { from: undefined, to: undefined, from2: undefined, to2: undefined, at: undefined, zoom: undefined };
  assert.deepEqual(stateOf(nothing, run), none);
  assert.deepEqual({ ...rangeTimes({}), ...viewTimes(none) }, nothing);
  assert.deepEqual(stateOf({ ...nothing, from: "5000s", zoom: "x..y", at: "nonsense" }, run), none);
});

const answer = {
  times_ns: [0, 10, 20, 20],
  live_bytes: [0, 4, 5, 6],
  most_live_bytes: [0, 5, 9, 6],
  fewest_live_bytes: [0, 0, 4, 5],
  bytes: [0, 50, 60, 1],
  exact: [true, true, false, true],
  resident_bytes: [0, 4096, 8192],
  mapped_bytes: [],
  marks: [{ name: "go", mark: "go#2", time_ns: 12 }],
  regions: [{ region: "load/7", depth: 0, begin_ns: 3, end_ns: 15 }],
  rough: true,
};

function stepsOfAnswer(more: object = {}): Steps {
  return stepsOf(decode<ProcessTimeline>(columns({ ...answer, ...more })).answer);
}

test("an answer becomes steps; what the kernel did not say yet is not known", () => {
  const steps = stepsOfAnswer();
  assert.deepEqual([...steps.exact], [1, 1, 0, 1]);
  assert.deepEqual([...(steps.resident ?? [])], [NaN, NaN, 4096, 8192]);
  assert.equal(steps.mapped, undefined);
  assert.deepEqual(steps.marks, [{ name: "go", atNs: 12, text: "go#2" }]);
  assert.deepEqual(steps.regions, [{ name: "load/7", begin: 3, end: 15 }]);
  assert.equal(steps.rough, true);
  assert.equal(nearestStep(steps, 14), 1);
  for (const wrong of [{ bytes: [1] }, { resident_bytes: [1] }, { exact: [true] }, { times_ns: [0, 20, 10, 30] }]) {
    assert.throws(() => stepsOfAnswer(wrong), TypeError, JSON.stringify(wrong));
  }
  const curve = { times_ns: Float64Array.of(0, 1), most_live_bytes: Float64Array.of(0) };
  assert.throws(() => ribbonOf("f", curve as never), TypeError);
});
