// Above each page: what is compared with what.
import type { App } from "../app.ts";
import { sideInWords, swapped } from "../model/compare-words.ts";
import { comparisonOf, lacking, shownOf } from "../model/compare.ts";
import { filtersOf } from "../model/filters.ts";
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
      {shownOf(place).kind === "none" && (
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
