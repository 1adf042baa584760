// A page that shows the timeline alone, with made-up data, for pictures and for tests of what it does with the mouse
// and the keyboard: test/harness/timeline.mjs. The query names a scene.
import { signal } from "@preact/signals";
import { render } from "preact";
import type { Span } from "../../src/model/time.ts";
import { Clock } from "../../src/model/clock.ts";
import { spanOf, type Ranges, type Ribbon, type Steps } from "../../src/model/timeline.ts";
import { act, type State, type TimelineAction } from "../../src/model/timeline-moves.ts";
import { Timeline } from "../../src/view/timeline.tsx";
import { stepsFrom } from "../steps.ts";

const s = 1e9;
const MiB = 2 ** 20;

/** A server that runs for 41 minutes: a new cache grows, is flushed, and a burst of temporaries follows. */
function serverAt(seconds: number): number {
  const ramp = (from: number, to: number) => Math.min(1, Math.max(0, (seconds - from) / (to - from)));
  const noise = 6 * Math.sin(seconds / 7) + 4 * Math.sin(seconds / 2.3);
  const burst = seconds > 1725 && seconds < 1731 ? 110 : 0;
  return (100 + 414 * ramp(724, 1170) + 60 * ramp(1170, 1500) - 240 * ramp(1500, 1560) + burst + noise) * MiB;
}

const whole = stepsFrom({
  span: { begin: 0, end: 2460 * s },
  steps: 1364,
  live: (ns) => serverAt(ns / s),
  resident: (ns) => (ns < 30 * s ? NaN : serverAt(Math.min(ns / s, 1500)) * 1.15 + 40 * MiB),
  mapped: (ns) => serverAt(Math.min(ns / s, 1500)) * 1.3 + 90 * MiB,
});
whole.marks = [
  { name: "warm", atNs: 194 * s, text: "warm" },
  { name: "deploy cache v2", atNs: 720 * s, text: "deploy cache v2" },
  { name: "flush", atNs: 1520 * s, text: "flush" },
  { name: "flush again", atNs: 1530 * s, text: "flush again" },
  { name: "\u202edrain of all connections that are still open", atNs: 1905 * s, text: "drain" },
];
whole.regions = [
  { name: "start", begin: 0, end: 190 * s },
  { name: "serve", begin: 200 * s, end: 1900 * s },
  { name: "shut down", begin: 1905 * s, end: 2460 * s },
];

const short = stepsFrom({
  span: { begin: 0, end: 2_150_375_951 },
  steps: 1364,
  live: (ns) => 2e7 * Math.min(1, ns / 1e9) + 3e6 * (1 + Math.sin(ns / 4e7)) - (ns > 2.1e9 ? 2e7 : 0),
});

const ribbon: Ribbon = {
  name: "Session::create(std::vector<std::pair<int, Entry>> const&)",
  timesNs: Float64Array.from({ length: 1001 }, (_, i) => i * 2.46 * s),
  most: Float64Array.from({ length: 1001 }, (_, i) => Math.max(0, Math.min(386, (i - 294) * 2.13)) * MiB),
};

const none: State = { view: undefined, cursor: undefined, ranges: {} };
const rise: Span = { begin: 724 * s, end: 1170 * s };
const scenes: Record<string, { whole?: Steps; state: State; ribbon?: Ribbon }> = {
  plain: { whole, state: none },
  rise: { whole, state: { ...none, ranges: { a: rise } }, ribbon },
  two: { whole, state: { ...none, ranges: { a: rise, b: { begin: 1180 * s, end: 1500 * s } }, cursor: 1000 * s } },
  zoom: { whole, state: { ...none, view: { begin: 700 * s, end: 1200 * s }, ranges: { a: rise } } },
  short: { whole: short, state: { ...none, cursor: 1.2e9 } },
  empty: { state: none },
};

const name = new URLSearchParams(location.search).get("scene") ?? "plain";
const scene = scenes[name] ?? { state: none };
const state = signal(scene.state);
const log: string[] = [];
const note = (what: string, value: unknown) => log.push(`${what} ${JSON.stringify(value)}`);

function Harness() {
  const brushed = signal<Ranges | undefined>(undefined);
  return (
    <Timeline
      whole={scene.whole && { value: scene.whole }}
      ribbon={scene.ribbon}
      state={state.value}
      clock={new Clock(scene.whole ? spanOf(scene.whole) : { begin: 0, end: s }, state.value.view)}
      filtered={false}
      liveAlone={false}
      onLiveAlone={() => {}}
      onBrush={(ranges) => (note("brush", ranges), (brushed.value = ranges))}
      onSelect={(ranges) => (note("select", ranges), (state.value = { ...state.value, ranges }))}
      onCursor={(cursor) => (note("cursor", cursor), (state.value = { ...state.value, cursor }))}
      onView={(view) => (note("view", view), (state.value = { ...state.value, view }))}
    />
  );
}

function run(action: TimelineAction): void {
  if (!scene.whole) return;
  const facts = { whole: scene.whole, detail: undefined, width: 1000, peakNs: undefined, residentPeakNs: undefined };
  state.value = act(action, state.value, facts);
}

Object.assign(globalThis, { harness: { state, log, run } });
render(<Harness />, document.body);
