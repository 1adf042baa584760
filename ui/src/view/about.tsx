// What is picked, explained: numbers, call stack, source.
import { signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import type { App, Selected } from "../app.ts";
import type { ByName, MetricName } from "../api.ts";
import {
  lasting,
  lineFocus,
  slow,
  type ByThread,
  type Details,
  type Excerpt,
  type MoreValues,
  type StackFrame,
} from "../model/details.ts";
import { editorLink } from "../model/editor.ts";
import { isEstimated } from "../model/estimate.ts";
import { literally } from "../model/filters.ts";
import { isRange, metricAt, metricOf, whyNot } from "../model/metrics.ts";
import { pickedOf, type PageName, type Place } from "../model/place.ts";
import { askDetails, askExcerpt, askMoreValues, askThreads, type DetailsAsked } from "../net/details.ts";
import type { Ask } from "../net/lanes.ts";
import { DetailsView } from "./details.tsx";
import { editorTemplate } from "./editor.tsx";
import { Bone } from "./figures.tsx";
import { goOf } from "./go-of.ts";
import { Name } from "./name.tsx";
import { Answered, useOrder, usePart } from "./part.tsx";

/** What is asked about what is picked; undefined: nothing is. */
function askedOf({ place, filters, rough }: Selected): DetailsAsked | undefined {
  const picked = pickedOf(place);
  if (!picked) return undefined;
  const metric = leadOf({ ...place, from: filters.from, to: filters.to });
  const fold = !place.unfolded && place.page === "table";
  const by = picked.kind === "line" || place.page === "source" ? undefined : (place.by as ByName | undefined);
  return { picked, filters, metric, rough, fold, ...(by && { by }), ...(place.at !== undefined && { at: place.at }) };
}

/** What is counted first: the page's metric or, where that is not known of what is selected, the peak. */
function leadOf(place: Place): MetricName {
  const name = metricAt(place, place);
  return (whyNot(place, name) === undefined ? metricOf(name)?.name : undefined) ?? "peak";
}

export function About({ app }: { app: App }) {
  const details = usePart<Details | undefined>(app, "details", (selected) => {
    const asked = askedOf(selected);
    const { recording } = selected;
    const key = JSON.stringify([recording, asked]);
    return asked && { base: recording, key, run: (ask) => askDetails(ask, recording, asked) };
  });
  // The rest may read events: while the reader drags, it would come too late.
  const later = <T,>(selected: Selected, run: (ask: Ask, recording: string, asked: DetailsAsked) => Promise<T>) => {
    const asked = askedOf(selected);
    const { recording } = selected;
    if (!asked || selected.rough) return undefined;
    return { base: recording, key: JSON.stringify([recording, asked]), run: (ask: Ask) => run(ask, recording, asked) };
  };
  const stays = usePart<MoreValues>(app, "details-lasting", (selected) =>
    later(selected, (ask, recording, asked) => askMoreValues(ask, recording, asked, lasting)),
  );
  const order = useOrder(app);
  const estimate = usePart<ByThread>(app, "details-threads", (selected) => {
    const { events } = app.about.shown.value?.value ?? {};
    if (!isEstimated(selected.place, "thread", events)) return undefined;
    const task = later(selected, (ask, recording, asked) => askThreads(ask, recording, asked, true));
    return task && order.first(task, task.key);
  });
  const threads = usePart<ByThread>(app, "details-threads-exact", (selected) => {
    const task = later(selected, (ask, recording, asked) => askThreads(ask, recording, asked, false));
    return task && order.after(task);
  });
  const times = usePart<MoreValues>(app, "details-times", (selected) => {
    const task = later(selected, (ask, recording, asked) => askMoreValues(ask, recording, asked, slow));
    return task && order.after(task);
  });
  const at = useMemo(() => signal<{ file: string; line: number } | undefined>(undefined), []);
  const excerpt = usePart<Excerpt | undefined>(app, "details-source", ({ recording }) => {
    const place = at.value;
    if (!place) return undefined;
    const { file, line } = place;
    const key = JSON.stringify([recording, file, line]);
    return { base: recording, key, run: (ask) => askExcerpt(ask, recording, file, line) };
  });
  const shown = details.shown.value?.value;
  useEffect(() => {
    const { file, line } = shown ?? { file: "", line: 0 };
    const known = file !== "" && line > 0;
    if (!known) at.value = undefined;
    else if (at.value?.file !== file || at.value.line !== line) at.value = { file, line };
  }, [shown]);

  const place = app.place.value;
  // A recording whose source must not be read has none.
  const refused = excerpt.wait.value?.phase === "failed";
  const text = excerpt.shown.value;
  const wait = threads.wait.value;
  const without = wait?.phase === "failed" ? wait.fault : undefined;
  return (
    <Answered part={details} skeleton={<Bone width="70%" />}>
      {(d) =>
        d ? (
          <DetailsView
            details={d}
            more={[stays, times].map((part) => part.shown.value?.value)}
            threads={threads.shown.value?.value ?? estimate.shown.value?.value}
            fault={without}
            excerpt={refused ? null : text ? (text.value ?? null) : undefined}
            moment={place.at === undefined ? endOf(place) : `at ${app.clock.text(place.at)}`}
            lead={leadOf(place)}
            open={(page) => goOf(app, placeOn(page, place, d))}
            source={(file, line) => goOf(app, { page: "source", file, line: String(line), picked: [] })}
            editor={(file, line) => editorLink(editorTemplate.value, file, line)}
            pick={(frame: StackFrame) => app.change({ picked: [frame.name] })}
            only={(thread) => app.change({ thread: [thread] })}
          />
        ) : (
          <>
            <h2>
              <Name text={place.picked.at(-1) ?? `line ${place.line}`} limit={160} />
            </h2>
            <p class="quiet">The selection has nothing of it.</p>
          </>
        )
      }
    </Answered>
  );
}

function endOf(place: Place): string {
  return isRange(place) ? "at the end of the range" : "at the end";
}

/** The same on another page. */
function placeOn(page: PageName, place: Place, d: Details): Partial<Place> {
  if (page === "source") return { page, ...(d.file !== "" && { file: d.file, line: String(d.line) }) };
  if (d.picked.kind === "line") return { page, focus: [...place.focus, lineFocus(d.file, d.line)], picked: [] };
  if (page === "flame" && d.picked.kind === "stack") return { page };
  // A table shows the row; the others are narrowed to what goes through it.
  return page === "table" ? { page, match: d.name } : { page, focus: [...place.focus, literally(d.name)] };
}
