// In the left column: what can be compared.
import type { App } from "../app.ts";
import { comparisonOf, nameOfRun } from "../model/compare.ts";
import { isRange } from "../model/metrics.ts";

/** How many recordings are named; the dialog has all. */
const mostNamed = 4;

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
    const times = { from2: undefined, to2: undefined };
    app.change(on ? { compare: false, with: [] } : { compare: true, with: [id], also: [], ...times });
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
          title={place.also.includes(id) ? "another run of side B" : "this recording, less that one"}
          onClick={() => run(id)}
        >
          <span class="quiet">{place.also.includes(id) ? "beside" : "with"}</span> <bdi>{nameOfRun(runs, id)}</bdi>
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
