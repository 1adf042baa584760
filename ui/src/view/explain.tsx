// Why memory rose or fell over the selected range: which call stacks account for it, and by how much the resident set
// changed.
import { useSignal } from "@preact/signals";
import type { App } from "../app.ts";
import { explanation, isFlat, riseTitle, signed, type Code, type Rise } from "../model/explain.ts";
import { mostAtOnce } from "../model/estimate.ts";
import { percent } from "../model/format.ts";
import type { ResidentChange } from "../model/resident.ts";
import { parseTime, type Run, type Span } from "../model/time.ts";
import { riseTask, riseThreadTask, type RiseThread } from "../net/explain.ts";
import { residentChangeTask } from "../net/resident.ts";
import { Name } from "./name.tsx";
import { Answered, useLaterPart } from "./part.tsx";
import { ResidentChangeView } from "./parts/resident-change.tsx";
import { RiseWaterfall, waterfallSkeleton } from "./parts/waterfall.tsx";

/** What the pointer and the reader choose in a list of functions, as the app takes it. */
export function pointing(app: App) {
  return {
    hover: (code: Code | undefined) => {
      app.hovered.value = code && code.name !== "" ? { function: code.name, module: code.module } : undefined;
    },
    pick: (code: Code) => app.change({ picked: [code.name] }),
  };
}

/** What is known of the run at once: times may refer to it. */
export function runOf(app: App): Run {
  const end = app.chosen?.recording.durationNs ?? Infinity;
  return { begin: 0, end, peak: app.report.shown.value?.value.peak.time_ns, marks: new Map() };
}

/** The selected range: as the place says it or, of marks, from the first event after it to the last one before. */
export function selectedSpan(app: App, { beginNs, endNs }: Rise): Span {
  const { from = "start", to = "end" } = app.place.value;
  const run = runOf(app);
  const end = parseTime(to, run) ?? endNs;
  return { begin: parseTime(from, run) ?? beginNs, end: Number.isFinite(end) ? end : endNs };
}

/** The right side of the pages whose main part does not explain the range. */
export function ExplainRange({ app, picked }: { app: App; picked: boolean }) {
  // The page is asked first. While the reader drags, it follows, and this stays.
  const part = useLaterPart<Rise>(app, "rise", ({ recording, place, filters, rough }) =>
    riseTask(recording, filters, place.unfolded, rough),
  );
  const chosen = useSignal<boolean | undefined>(undefined); // undefined: open unless something is picked
  const rise = part.shown.value?.value;
  const open = chosen.value ?? !picked;
  return (
    <section class="explain" aria-label="the selected range">
      <p class="head">
        <button
          type="button"
          class="plain fold"
          aria-expanded={open}
          onClick={() => (chosen.value = !open)}
        >
          {riseTitle(rise, true)}
        </button>
        {rise && <b class="number">{signed(rise.end - rise.begin)}</b>}
      </p>
      {open && (
        <Answered part={part} skeleton={waterfallSkeleton}>
          {(answer) => (
            <>
              <p class="quiet">
                {app.clock.span(selectedSpan(app, answer))}
                {!isFlat(answer) && ` · ${explanation(answer)}`}
                {!isFlat(answer) && hasThreads(app) && <InThread app={app} rise={answer} />}
              </p>
              <RiseWaterfall
                rise={answer}
                to="at the end"
                {...pointing(app)}
                pick={(code) => {
                  chosen.value = undefined; // it makes room for what is picked
                  pointing(app).pick(code);
                }}
              />
              <ResidentChanged app={app} range={selectedSpan(app, answer)} />
            </>
          )}
        </Answered>
      )}
    </section>
  );
}

/** Below this share of a change, no thread has most of it. */
const mostOfIt = 0.5;

/** Whether one of several threads may have most of a change, and it is known soon: that takes all events. */
function hasThreads(app: App): boolean {
  const { events = Infinity } = app.about.shown.value?.value ?? {};
  const several = (app.report.shown.value?.value.threads ?? 0) > 1;
  return several && app.place.value.thread.length === 0 && events <= mostAtOnce;
}

/** In which thread most of a change was allocated, if one has. */
function InThread({ app, rise }: { app: App; rise: Rise }) {
  const part = useLaterPart<RiseThread | undefined>(app, "rise-thread", ({ recording, filters, rough }) =>
    riseThreadTask(recording, filters, rough),
  );
  const thread = part.shown.value?.value;
  const share = thread ? thread.bytes / (rise.end - rise.begin) : 0;
  if (!thread || !(share >= mostOfIt)) return null;
  const { place } = app;
  return (
    <>
      {" · "}
      {percent(Math.min(share, 1), 1)} in thread{" "}
      <button
        type="button"
        class="plain"
        title="only what this thread allocated"
        onClick={() => app.change({ thread: [...place.value.thread, String(thread.tid)] })}
      >
        <Name text={thread.name} limit={32} />
      </button>
    </>
  );
}

/** By how much the resident set changed over a range; nothing if it was never read. */
export function ResidentChanged({ app, range }: { app: App; range: Span }) {
  const part = useLaterPart<ResidentChange | undefined>(app, "resident", ({ recording, filters }) =>
    residentChangeTask(recording, filters),
  );
  const change = part.shown.value?.value;
  if (!change) return null;
  return (
    <div class="resident-change">
      <ResidentChangeView
        recording={app.place.value.recording ?? ""}
        change={change}
        range={range}
        clock={app.clock}
        go={(to) => app.go(to)}
      />
    </div>
  );
}
