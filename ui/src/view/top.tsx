// The line at the top: which recording is shown, and what counts.
import type { ComponentChildren } from "preact";
import type { App } from "../app.ts";
import type { Recording, Run } from "../model/answers.ts";
import { filtersOf } from "../model/filters.ts";
import { duration, plural } from "../model/format.ts";
import { chordLabels } from "../model/keys.ts";
import { labelAt, metricAt, metricGroups, metricOf, whyNot } from "../model/metrics.ts";
import { shorten, visible } from "../model/names.ts";
import { home } from "../model/place.ts";
import { rows } from "../model/tree.ts";
import { Link } from "./link.tsx";
import { Name } from "./name.tsx";
import { pages } from "./pages.ts";
import { ThemeButton } from "./theme.tsx";

export function Top({ app }: { app: App }) {
  const chosen = app.chosen;
  return (
    <header class="top">
      <Link app={app} to={home} class="brand">
        heaptap
      </Link>
      {chosen ? <Where app={app} {...chosen} /> : <span class="where" />}
      {chosen && <Metric app={app} />}
      {chosen && (
        <span class="helps">
          <Help app={app} id="find.anything">
            Find<span class="wide"> anything</span>
          </Help>
          <Help app={app} id="help.keys">
            Keys
          </Help>
        </span>
      )}
      <ThemeButton />
    </header>
  );
}

/** What a newcomer cannot guess, with its key. */
function Help({ app, id, children }: { app: App; id: string; children: ComponentChildren }) {
  const { keys } = app.actions;
  const action = keys.on("").find((other) => other.id === id);
  const chord = action && keys.acting(action)[0];
  return (
    <button type="button" class="plain" onClick={() => app.actions.run(id)}>
      {children} {chord !== undefined && <kbd>{chordLabels(chord, keys.mac).join(" ")}</kbd>}
    </button>
  );
}

/** Which recording is shown, and the way to the others. */
function Where({ app, run, recording: r }: { app: App; run: Run; recording: Recording }) {
  const place = app.place.value;
  const about = app.about.shown.value?.value;
  const list = app.runs.shown.value?.value ?? [];
  const total = list.reduce((n, { recordings }) => n + recordings.length, 0);
  return (
    <span class="where">
      {run.recordings.length > 1 ? (
        <label class="choose">
          process{" "}
          <select
            value={r.id}
            onChange={(event) => app.go({ ...home, page: place.page, recording: event.currentTarget.value })}
          >
            {rows(run.recordings).map(({ node, depth }) => (
              <option key={node.id} value={node.id}>
                {"\u00a0\u00a0".repeat(Math.min(depth, 12))}
                {shorten(visible(node.command), 60)} · {node.pid}
              </option>
            ))}
          </select>
        </label>
      ) : (
        <b>
          <Name text={r.command} limit={80} />
        </b>
      )}{" "}
      {total > 1 && (
        <>
          <Link app={app} to={home}>
            {total} recordings
          </Link>{" "}
        </>
      )}
      <span class="quiet wide">
        {about?.merged
          ? about.processes > 0 && `sums of ${plural(about.processes, "process")} · `
          : run.recordings.length === 1 && `process ${r.pid} · `}
        {duration(r.durationNs)}
      </span>
      {!about?.merged && (
        <span class="wide">
          <span class="quiet"> · </span>
          <span class={r.failed ? "wrong" : "quiet"}>{r.end}</span>
        </span>
      )}
    </span>
  );
}

/** What is counted, on pages that show one metric. */
function Metric({ app }: { app: App }) {
  const place = app.place.value;
  const page = pages[place.page];
  if (!page.metric) return null;
  const metric = metricAt(place, filtersOf(place, app.brush.value));
  return (
    <label class="choose">
      metric{" "}
      <select
        value={metric}
        title={metricOf(metric)?.about}
        onChange={(event) => app.change({ metric: [event.currentTarget.value, ...place.metric.slice(1)] })}
      >
        {metricGroups.map((group) => (
          <optgroup key={group.title} label={group.title}>
            {group.metrics.map(({ name, about }) => {
              const why = whyNot(place, name);
              return (
                <option key={name} value={name} disabled={why !== undefined && name !== metric} title={why ?? about}>
                  {labelAt(name, place, app.clock)}
                </option>
              );
            })}
          </optgroup>
        ))}
      </select>
    </label>
  );
}
