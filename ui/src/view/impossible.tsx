// A page that cannot be asked: what its metric, or a recording of sums, does not go with, and the way out of it.
import type { App } from "../app.ts";
import { whyNoRange } from "../model/explain.ts";
import { hindrance, metricOf, whyNot, type Hindrance } from "../model/metrics.ts";
import { timeText } from "../model/time.ts";
import { pages } from "./pages.ts";

/** Why a page cannot be asked. */
export type Why = { kind: "metric"; name: string; found: Hindrance } | { kind: "sums"; processes: number };

/** Why the page cannot be asked: the first metric that is not known of what is selected; undefined: it can. */
export function impossibleIn(app: App): Why | undefined {
  const brush = app.brush.value;
  const place = { ...app.place.value, ...(brush && { from: timeText(brush.begin) }) };
  const about = app.about.shown.value?.value;
  if (about?.merged && (place.from !== undefined || place.to !== undefined)) {
    return { kind: "sums", processes: about.processes };
  }
  if (!pages[place.page].metric) return undefined;
  for (const name of place.metric) {
    const found = hindrance(place, name);
    if (found) return { kind: "metric", name, found };
  }
  return undefined;
}

export function Impossible({ app, why }: { app: App; why: Why }) {
  const { metric } = app.place.value;
  const without = (found: Pick<Hindrance, "words" | "without">) => (
    <button type="button" onClick={() => app.change(found.without)}>
      Remove {found.words.join(" and ")}
    </button>
  );
  if (why.kind === "sums") {
    return (
      <div class="state" role="status">
        <p>{whyNoRange(why.processes)}</p>
        <div class="actions">
          {without({ words: ["the range of time"], without: { from: undefined, to: undefined } })}
        </div>
      </div>
    );
  }
  return (
    <div class="state" role="status">
      <p>
        “{metricOf(why.name)?.label ?? why.name}” is known of the whole run only: it does not go with{" "}
        {why.found.words.join(" and ")}.
      </p>
      <div class="actions">
        {without(why.found)}
        <button type="button" onClick={() => app.change({ metric: metric.filter((m) => !whyNot(app.place.value, m)) })}>
          Show another metric
        </button>
      </div>
    </div>
  );
}
