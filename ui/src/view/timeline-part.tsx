// The timeline of the app: asks for its steps, follows the place, and passes on what the reader selects.
import { useSignal, type Signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import type { Curve } from "../api.ts";
import type { App, Selected } from "../app.ts";
import type { Peak } from "../model/answers.ts";
import { Clock } from "../model/clock.ts";
import { comparisonOf, nameOfRun } from "../model/compare.ts";
import { isFiltered, literally } from "../model/filters.ts";
import type { Task } from "../model/follower.ts";
import { offsetOf } from "../model/names.ts";
import { align, laidOver, possible, rangeOfOther, selectedIn, type Overlay, type Repeats } from "../model/overlay.ts";
import { timeText, type Span } from "../model/time.ts";
import { spanOf, type Ranges, type Steps } from "../model/timeline.ts";
import { act, timelineActions, type State } from "../model/timeline-moves.ts";
import { ordered, rangeTimes, runOf, stateOf, viewTimes } from "../model/timeline-place.ts";
import { put, taskOf } from "../net/ask.ts";
import { ribbonOf, stepsOf } from "../net/timeline.ts";
import { useActions, usePart } from "./part.tsx";
import { Timeline } from "./timeline.tsx";

/** How long what is shown, and the cursor, must stay as they are before they are asked about and in the address. */
const restMs = { asked: 60, address: 250 };

export function TimelineOfApp({ app }: { app: App }) {
  const place = app.place.value;
  const width = useSignal(0);
  // What is shown and the cursor change with each turn of the wheel: the address follows when they rest.
  const moved = useSignal<Pick<State, "view" | "cursor"> | undefined>(undefined);
  useEffect(() => {
    moved.value = undefined;
  }, [place.recording]);
  const others = place.with.length > 0 || place.also.length > 0;
  const { steps: whole, fault, progress } = useSteps(app, "timeline", width, () => ({}));

  const report = app.report.shown.value?.value;
  const resident = report?.resident?.peak;
  // The peaks of several processes were at several moments.
  const merged = app.about.shown.value?.value.merged ?? false;
  const peak: Peak | undefined = report && { bytes: report.peak.bytes, atNs: merged ? undefined : report.peak.time_ns };
  const residentPeak = resident ? { bytes: resident.resident_bytes, atNs: resident.time_ns } : undefined;

  const run = useMemo(() => whole && runOf(whole, peak?.atNs), [whole, peak?.atNs]);
  const state = useMemo((): State => {
    const settled = run ? stateOf(place, run) : { view: undefined, cursor: undefined, ranges: {} };
    // Of another recording, the second range is of other times.
    if (others) delete settled.ranges.b;
    return { ...settled, ...moved.value };
  }, [run, place, moved.value]);

  const asked = useSignal<Span | undefined>(undefined);
  const { view } = state;
  useEffect(() => {
    const timer = setTimeout(() => (asked.value = view), asked.value ? restMs.asked : 0);
    return () => clearTimeout(timer);
  }, [view?.begin, view?.end]);
  const { steps: detail } = useSteps(app, "timeline-detail", width, () => {
    const span = asked.value;
    return span && { from: timeText(span.begin), to: timeText(span.end) };
  });

  useEffect(() => {
    const now = moved.value;
    if (!now) return;
    const timer = setTimeout(() => {
      app.change(viewTimes(now), "replace");
      moved.value = undefined;
    }, restMs.address);
    return () => clearTimeout(timer);
  }, [moved.value]);

  const move = (parts: Partial<State>) => {
    moved.value = { view: state.view, cursor: state.cursor, ...moved.value, ...parts };
  };
  const brush = (ranges: Ranges | undefined) => {
    const before = app.brush.value ?? state.ranges.a;
    const a = ranges && ordered(ranges).a;
    if (!ranges) app.brush.value = undefined;
    else if (a && (a.begin !== before?.begin || a.end !== before.end)) app.brush.value = a;
  };
  // The recording that is compared with is laid over this one, and a selected range is one of both.
  const overlaid = useSteps(app, "timeline-other", width, () => ({}), ({ place: { compare, with: ids } }) => {
    return compare ? ids.at(-1) : undefined;
  });
  const other = overlaid.steps;
  const ways = useMemo(() => (other && whole ? possible(other, whole) : []), [other, whole]);
  const how = ways.find((one) => one === place.overlay) ?? "time";
  const repeats = useRepeats(app, width);
  const laid = useMemo((): Repeats | undefined => {
    if (!other || !whole) return undefined;
    const over = (steps: Steps) => laidOver(steps, align(steps, whole, how));
    return { a: [...(repeats?.a ?? []), other].map(over), b: [...(repeats?.b ?? []).map(over), whole] };
  }, [other, whole, how, repeats]);
  const timesOfOther = (by: Overlay, range: Span | undefined) =>
    other && whole ? rangeOfOther(align(other, whole, by), other, range) : { from2: undefined, to2: undefined };
  const layOver = (by: Overlay) => {
    const overlay = by === "time" ? undefined : by;
    app.change({ overlay, ...timesOfOther(by, run && selectedIn(place, run)) });
  };
  // A range that was selected before there was another recording is one of both, too.
  useEffect(() => {
    const range = run && selectedIn(place, run);
    if (!place.compare || !laid || !range || place.from2 !== undefined || place.to2 !== undefined) return;
    app.change(timesOfOther(how, range), "replace");
  }, [laid, place]);
  const select = (ranges: Ranges) => {
    const { from, to, from2, to2 } = rangeTimes(ranges);
    app.select(others ? { from, to, ...timesOfOther(how, ordered(ranges).a) } : { from, to, from2, to2 });
  };
  const { a, b } = state.ranges;
  useEffect(() => {
    // An address from elsewhere may have its ranges the other way round.
    if (!b || others || ordered(state.ranges).a === a) return;
    app.change({ from: place.from2, to: place.to2, from2: place.from, to2: place.to }, "replace");
  }, [a?.begin, a?.end, b?.begin, b?.end]);
  /** Begins to compare, or ends it: with another recording, with the other range, or with one that is chosen here. */
  const compare = (ranges: Ranges) => {
    if (comparisonOf(place)) {
      const times = rangeTimes(ranges.a ? { a: ranges.a } : {});
      app.select(others ? { compare: false } : { ...times, compare: false });
    } else if (others) app.change({ compare: true });
    else if (ranges.b) app.select({ ...rangeTimes(ranges), compare: true });
    else app.actions.run("compare.choose");
  };
  const ribbon = useRibbon(app);

  const facts = whole && {
    whole,
    detail: view && detail,
    width: width.value,
    peakNs: peak?.atNs,
    residentPeakNs: residentPeak?.atNs,
  };
  const doing = timelineActions.map(({ id }) => [
    id,
    () => {
      if (!facts) return;
      const next = act(id, state, facts);
      if (next.view !== state.view || next.cursor !== state.cursor) move({ view: next.view, cursor: next.cursor });
      if (id === "timeline.compare") compare(next.ranges);
      else if (next.ranges !== state.ranges) select(next.ranges);
    },
  ]);
  useActions(app, Object.fromEntries(doing));

  return (
    <Timeline
      whole={whole ? { value: whole } : fault && { fault }}
      detail={view && detail}
      peak={peak}
      residentPeak={residentPeak}
      ribbon={ribbon}
      progress={progress}
      other={
        laid && {
          runs: laid,
          name: nameOfRun(app.runs.shown.value?.value ?? [], place.with.at(-1) ?? ""),
          how,
          possible: ways,
          choose: layOver,
        }
      }
      state={state}
      clock={view ? new Clock(app.clock.run, view) : app.clock}
      filtered={isFiltered(place)}
      liveAlone={place.live}
      onLiveAlone={(live) => app.change({ live }, "replace")}
      onBrush={brush}
      onSelect={select}
      onCursor={(cursor) => move({ cursor })}
      onView={(view) => move({ view })}
      onWidth={(pixels) => (width.value = pixels)}
    />
  );
}

/** Asks for steps: at once as they can be had, and exactly if that is better. */
function useSteps(
  app: App,
  name: string,
  width: Signal<number>,
  range: () => { from?: string; to?: string } | undefined,
  whose: (selected: Selected) => string | undefined = ({ recording }) => recording,
) {
  const ask = (selected: Selected, rough: boolean): Task<Steps> | undefined => {
    const span = range();
    const recording = whose(selected);
    if (!span || recording === undefined || width.value === 0) return undefined;
    const steps = { ...span, steps: width.value };
    const parameters = rough ? { ...steps, rough: "pixel" } : steps;
    return taskOf(recording, { name: "process", parameters, read: stepsOf });
  };
  const rough = usePart(app, name, (selected) => ask(selected, true), false);
  const better = (selected: Selected) => {
    const first = rough.shown.value;
    // Only where the rough answer is about what would be asked.
    return first?.value.rough && first.task.key === ask(selected, true)?.key ? ask(selected, false) : undefined;
  };
  const exact = usePart(app, `${name}-exact`, better, false);
  const wait = rough.wait.value;
  const [best, first] = [exact.shown.value?.value, rough.shown.value?.value];
  return {
    steps: best && first && areAlike(best, first) ? best : first,
    fault: wait?.phase === "failed" ? wait.fault : undefined,
    progress: wait?.phase === "busy" ? wait.progress : undefined,
  };
}

/** The further runs of both sides of a comparison, each as it can be had at once. */
function useRepeats(app: App, width: Signal<number>): Repeats | undefined {
  const part = usePart(app, "timeline-repeats", ({ recording, place: { compare, with: ids, also } }) => {
    const [before, after] = [ids.slice(0, -1), also];
    if (!compare || width.value === 0 || before.length + after.length === 0) return undefined;
    const parameters = { steps: width.value, rough: "pixel" };
    return {
      base: recording,
      key: JSON.stringify([recording, before, after, parameters]),
      run: async (ask) => {
        const all = async (list: readonly string[]): Promise<Steps[]> => {
          const found: Steps[] = [];
          // One after the other: the server answers one question of a part at a time.
          for (const id of list) found.push(stepsOf(await put(ask, id, "process", parameters)));
          return found;
        };
        return { a: await all(before), b: await all(after) };
      },
    } satisfies Task<Repeats>;
  }, false);
  return part.shown.value?.value;
}

/** Whether two timelines are about the same: what is shown may have changed before the exact one came. */
function areAlike(a: Steps, b: Steps): boolean {
  const [p, q] = [spanOf(a), spanOf(b)];
  return a.timesNs.length === b.timesNs.length && p.begin === q.begin && p.end === q.end;
}

/** The live bytes of the function under the pointer, or else of the one that is picked. */
function useRibbon(app: App) {
  const name = () => app.hovered.value?.function ?? app.place.value.picked.at(-1);
  const task = ({ recording }: Selected) => {
    const of = name();
    if (of === undefined || of === "" || offsetOf(of) !== undefined) return undefined; // a filter is a name
    const read = (answer: Curve) => ribbonOf(of, answer);
    return taskOf(recording, { name: "curve", parameters: { of: literally(of) }, read });
  };
  const curve = usePart(app, "ribbon", task, false);
  return curve.shown.value?.value;
}
