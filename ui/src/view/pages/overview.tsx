// The overview: the figures of a recording, what stands out, why live memory rose, of what the resident set consisted,
// and which functions have the most.
import { useComputed } from "@preact/signals";
import type { App } from "../../app.ts";
import type { Recording, Run } from "../../model/answers.ts";
import { filtersOf, type Filters } from "../../model/filters.ts";
import { visible } from "../../model/names.ts";
import { explanation, isFlat, riseTitle, signed, type Code, type Rise } from "../../model/explain.ts";
import {
  mostLabels,
  mostMetric,
  nextMetric,
  placeOfInsight,
  wholeProcess,
  wholeRun,
  type Insight,
  type Most,
} from "../../model/overview.ts";
import { besidePeak, readAt, residentMoment, type Resident } from "../../model/resident.ts";
import { parseSpan } from "../../model/time.ts";
import { taskOf } from "../../net/ask.ts";
import { riseTask } from "../../net/explain.ts";
import {
  figuresOf,
  insightsQuestion,
  mostQuestion,
  placeKey,
  placesQuestion,
  type Places,
} from "../../net/overview.ts";
import { residentPeak } from "../../net/questions.ts";
import { memoryQuestion } from "../../net/resident.ts";
import { pointing, ResidentChanged, runOf, selectedSpan } from "../explain.tsx";
import { Size } from "../figures.tsx";
import { goOf } from "../go-of.ts";
import { Answered, useActions, useLaterPart, useMainPart, usePart } from "../part.tsx";
import { FigureRow } from "../parts/figures.tsx";
import { InsightList, insightsSkeleton } from "../parts/insights.tsx";
import { MostChoice, MostTable, mostSkeleton } from "../parts/most.tsx";
import { ProcessTree } from "../parts/processes.tsx";
import { ResidentBar, residentSkeleton } from "../parts/resident.tsx";
import { RiseWaterfall, waterfallSkeleton } from "../parts/waterfall.tsx";
import { Gaps, Warnings } from "../parts/warnings.tsx";
import { EmptyBox, FaultBox } from "../states.tsx";
import { WaysBack } from "../ways-back.tsx";

export function Overview({ app }: { app: App }) {
  const figures = useComputed(() => {
    const about = app.about.shown.value?.value;
    const report = app.report.shown.value?.value;
    return about && report && figuresOf(about, report);
  }).value;
  const failed = app.about.wait.value;
  const chosen = app.chosen;
  const note = wholeRun(filtersOf(app.place.value, app.brush.value));
  return (
    <div class="part overview">
      {failed?.phase === "failed" && <FaultBox fault={failed.fault} retry={() => app.about.retry()} />}
      {figures && <Warnings warnings={figures.warnings} />}
      {note !== "" && <p class="quiet">Figures {note}</p>}
      <div class="first">
        <FigureRow figures={figures} clock={app.clock} />
        <Answered part={app.report} skeleton={null}>
          {() => null}
        </Answered>
      </div>
      {!figures?.counted && (
        <>
          <Insights app={app} />
          <div class="pair">
            <RisePart app={app} />
            <ResidentPart app={app} />
          </div>
          <MostPart app={app} />
        </>
      )}
      {chosen && chosen.run.recordings.length > 1 && <Processes app={app} {...chosen} />}
      {figures && figures.gaps.length > 0 && (
        <section>
          <h2>What this recording cannot answer</h2>
          <Gaps gaps={figures.gaps} />
        </section>
      )}
    </div>
  );
}

function Insights({ app }: { app: App }) {
  const part = useLaterPart<Insight[]>(app, "insights", ({ recording }) => taskOf(recording, insightsQuestion));
  const recording = app.place.value.recording ?? "";
  const most = part.shown.value?.value[0];
  const note = wholeRun(filtersOf(app.place.value, app.brush.value));
  useActions(app, most ? { "overview.show": () => app.go(placeOfInsight(recording, most)) } : {});
  return (
    <section class="standing">
      <h2>
        What stands out
        {note !== "" && <span class="quiet">{note}</span>}
      </h2>
      <Answered part={part} skeleton={insightsSkeleton}>
        {(insights) => 
          <InsightList recording={recording} insights={insights} clock={app.clock} go={(to) => app.go(to)} />
        }
      </Answered>
    </section>
  );
}

function RisePart({ app }: { app: App }) {
  const part = usePart<Rise>(app, "rise", ({ recording, place, filters, rough }) => {
    const merged = app.about.shown.value?.value.merged;
    const ranged = filters.from !== undefined || filters.to !== undefined;
    // Of sums, it is not known when the peak was.
    if (merged === undefined) return undefined;
    return riseTask(recording, ranged || merged ? filters : { ...filters, to: "peak" }, place.unfolded, rough);
  });
  const merged = app.about.shown.value?.value.merged;
  const { from, to } = app.place.value;
  const settled = from !== undefined || to !== undefined;
  const ranged = settled || app.brush.value !== undefined;
  const rise = part.shown.value?.value;
  return (
    <section>
      <h2>
        {riseTitle(rise, ranged, merged)}
        {rise && (
          <span class="quiet">
            {app.clock.span(settled ? selectedSpan(app, rise) : { begin: rise.beginNs, end: rise.endNs })} ·{" "}
            {signed(rise.end - rise.begin)}
          </span>
        )}
      </h2>
      <Answered part={part} skeleton={waterfallSkeleton}>
        {(answer) => (
          <>
            {!isFlat(answer) && <p class="quiet sum">{explanation(answer) || "\u00a0"}</p>}
            <RiseWaterfall rise={answer} to={ranged || merged ? "at the end" : "at the peak"} {...pointing(app)} />
            {settled && <ResidentChanged app={app} range={selectedSpan(app, answer)} />}
          </>
        )}
      </Answered>
    </section>
  );
}

function ResidentPart({ app }: { app: App }) {
  const asked = (at: string | undefined, filters: Filters) => residentMoment(at, filters, runOf(app), app.clock);
  const part = usePart<Resident | undefined>(app, "memory", ({ recording, place, filters }) =>
    taskOf(recording, memoryQuestion(asked(place.at, filters).at)),
  );
  const shown = part.shown.value?.value;
  const place = app.place.value;
  const filters = filtersOf(place, app.brush.value);
  const { title, atNs } = asked(place.at, filters);
  const note = wholeProcess(filters);
  const report = app.report.shown.value?.value;
  // The page says already how much was resident at most, and when.
  const most = atNs === undefined && asked(place.at, filters).at === undefined;
  const when = most && shown && report ? besidePeak(shown, residentPeak(report)) : undefined;
  return (
    <section>
      <h2>
        Resident memory {visible(title).slice(0, 80)}
        {shown && (
          <span class="quiet">
            {when || (
              <>
                {readAt(shown.atNs, atNs, app.clock, parseSpan(filters.from, filters.to, runOf(app)))} ·{" "}
                <Size bytes={shown.bytes} />
              </>
            )}
            {note !== "" && ` · ${note}`}
          </span>
        )}
      </h2>
      <Answered part={part} skeleton={residentSkeleton}>
        {(resident) =>
          resident ? (
            <ResidentBar
              recording={place.recording ?? ""}
              resident={resident}
              go={(to) => app.go(to)}
              source={(file, line) => goOf(app, { page: "source", file, line: String(line), picked: [] })}
            />
          ) : (
            <EmptyBox why="It was never read: the process ran for too short a time, or the recording has only sums." />
          )
        }
      </Answered>
    </section>
  );
}

function MostPart({ app }: { app: App }) {
  const part = useMainPart<"top", Most>(app, "most", ({ place, filters, rough }) =>
    mostQuestion(mostMetric(place, filters), filters, place.unfolded, rough),
  );
  const places = usePart<Places>(app, "places", ({ recording, place, filters, rough }) =>
    taskOf(recording, placesQuestion(mostMetric(place, filters), filters, place.unfolded, rough)),
  ).shown.value?.value;
  const place = app.place.value;
  const metric = mostMetric(place, filtersOf(place, app.brush.value));
  useActions(app, { "overview.metric": () => app.change({ metric: [nextMetric(metric)] }) });
  const shown = part.shown.value?.value;
  const placeOf = (code: Code) => places?.get(placeKey(code.name, code.module)) ?? code;
  return (
    <section class="most">
      <h2>
        Most {mostLabels[metric]}
        <span class="quiet">{place.unfolded ? "by function" : "own functions first"}</span>
        {shown && shown.more > 0 && (
          <span class="quiet">
            {shown.rows.length} of {shown.rows.length + shown.more}
          </span>
        )}
      </h2>
      <MostChoice metric={metric} choose={(name) => app.change({ metric: [name] })} />
      <Answered part={part} skeleton={mostSkeleton}>
        {(most) => (
          <MostTable
            most={most}
            placeOf={placeOf}
            picked={place.picked.at(-1)}
            empty={<WaysBack app={app} />}
            {...pointing(app)}
          />
        )}
      </Answered>
    </section>
  );
}

function Processes({ app, run, recording }: { app: App; run: Run; recording: Recording }) {
  return (
    <section>
      <h2>Programs of this run</h2>
      <ProcessTree run={run} recording={recording} go={(to) => app.go(to)} />
    </section>
  );
}
