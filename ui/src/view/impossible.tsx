// A page that cannot be asked: what its metric does not go with, and the way out of it.
import type { App } from "../app.ts";
import { hindrance, metricOf, whyNot, type Hindrance } from "../model/metrics.ts";
import { timeText } from "../model/time.ts";
import { pages } from "./pages.ts";

/** The first metric of the page that is not known of what is selected; undefined: all are. */
export function impossibleIn(app: App): { name: string; found: Hindrance } | undefined {
  const brush = app.brush.value;
  const place = { ...app.place.value, ...(brush && { from: timeText(brush.begin) }) };
  if (!pages[place.page].metric) return undefined;
  for (const name of place.metric) {
    const found = hindrance(place, name);
    if (found) return { name, found };
  }
  return undefined;
}

export function Impossible({ app, name, found }: { app: App; name: string; found: Hindrance }) {
  const { metric } = app.place.value;
  return (
    <div class="state" role="status">
      <p>
        “{metricOf(name)?.label ?? name}” is known of the whole run only: it does not go with{" "}
        {found.words.join(" and ")}.
      </p>
      <div class="actions">
        <button type="button" onClick={() => app.change(found.without)}>
          Remove {found.words.join(" and ")}
        </button>
        <button type="button" onClick={() => app.change({ metric: metric.filter((m) => !whyNot(app.place.value, m)) })}>
          Show another metric
        </button>
      </div>
    </div>
  );
}
