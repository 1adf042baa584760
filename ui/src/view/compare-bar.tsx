// What is compared with what: in the left column the way to begin, and above each page what A and B are.
import type { App } from "../app.ts";
import { comparisonOf, lacking, nameOfRun, shownOn, sideInWords, swapped } from "../model/compare.ts";
import { filtersOf } from "../model/filters.ts";
import { isRange } from "../model/metrics.ts";
import { useActions } from "./part.tsx";

/** Above each page: what the two sides are. */
export function CompareBar({ app }: { app: App }) {
  const place = app.place.value;
  const range = filtersOf(place, app.brush.value);
  const compared = comparisonOf(place, range);
  useActions(app, {
    "compare.swap": () => app.change(swapped(app.place.peek())),
    "compare.scale": () => app.change({ scale: !app.place.peek().scale }),
  });
  const stop = (
    <button type="button" class="plain" onClick={() => app.actions.run("timeline.compare")}>
      stop comparing
    </button>
  );
  if (!compared) {
    return (
      <p class="compare-bar quiet" role="status">
        {lacking(place, range)}{" "}
        <button type="button" class="plain" onClick={() => app.change({ compare: false })}>
          stop comparing
        </button>
      </p>
    );
  }
  const runs = app.runs.shown.value?.value ?? [];
  const { clock } = app;
  const one = compared.with.length === 0 && compared.also.length === 0;
  const shown = one ? [] : [place.recording ?? ""];
  const [a, b] = [
    sideInWords(runs, one ? [] : compared.with.length > 0 ? compared.with : shown, compared.before, clock),
    sideInWords(runs, [...compared.also, ...shown], compared.after, clock),
  ];
  return (
    <div class="compare-bar" role="group" aria-label="Compared">
      <span class="side b">
        <b>B</b> <bdi>{compared.moments ? `live ${moment(app, place.to ?? "end")}` : b || "the whole run"}</bdi>
      </span>
      <span class="quiet">less</span>
      <span class="side a">
        <b>A</b> <bdi>{compared.moments ? `live ${moment(app, place.from ?? "start")}` : a || "the whole run"}</bdi>
      </span>
      {!compared.moments && (
        <button type="button" class="plain" onClick={() => app.actions.run("compare.swap")}>
          swap
        </button>
      )}
      <label title="multiply what A has, so that both have as much in all: changes of shares">
        <input
          type="checkbox"
          checked={place.scale}
          onChange={(event) => app.change({ scale: event.currentTarget.checked })}
        />{" "}
        scale to equal totals
      </label>
      {stop}
      {shownOn[place.page].kind === "none" && (
        <p class="quiet" role="status">
          This page shows one recording: it cannot compare. What follows is B alone.
        </p>
      )}
    </div>
  );
}

function moment(app: App, text: string): string {
  return text === "start" ? "at the start" : text === "end" ? "at the end" : `at ${app.clock.text(text)}`;
}

/** How many recordings are named; the dialog has all. */
const mostNamed = 4;

/** In the left column: what can be compared. */
export function CompareSection({ app }: { app: App }) {
  const place = app.place.value;
  const runs = app.runs.shown.value?.value ?? [];
  const all = runs.flatMap((run) => run.recordings.map(({ id }) => id));
  const others = all.filter((id) => id !== place.recording);
  const sides = new Set([...place.with, ...place.also]);
  const merged = app.about.shown.value?.value.merged ?? false;
  const ranged = isRange(place) && !merged;
  if (others.length === 0 && !ranged && !place.compare) return null;
  const run = (id: string) => {
    const on = place.compare && sides.has(id);
    app.change(on ? { compare: false, with: [] } : { compare: true, with: [id], also: [], from2: undefined, to2: undefined });
  };
  const moments = place.compare && comparisonOf(place)?.moments === true;
  return (
    <section aria-label="Compare">
      <h2>Compare</h2>
      {ranged && place.with.length === 0 && (
        <button
          type="button"
          class="word"
          aria-pressed={moments}
          title="what is live at the end of the selected time, less what was live when it began"
          onClick={() => app.change({ compare: !moments, from2: undefined, to2: undefined })}
        >
          its end with its beginning
        </button>
      )}
      {others.slice(0, mostNamed).map((id) => (
        <button
          key={id}
          type="button"
          class="word"
          aria-pressed={place.compare && sides.has(id)}
          title="this recording, less that one"
          onClick={() => run(id)}
        >
          <span class="quiet">with</span> <bdi>{nameOfRun(runs, id)}</bdi>
        </button>
      ))}
      {others.length > 1 && (
        <button type="button" class="plain" onClick={() => app.actions.run("compare.choose")}>
          several runs …
        </button>
      )}
    </section>
  );
}
