// The frame of all pages of a recording: the timeline across the whole width, pages and filters at the left, what is
// picked at the right, and below it all how the answer came about.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { App } from "../app.ts";
import { comparisonOf, shownOf } from "../model/compare.ts";
import { filtersOf } from "../model/filters.ts";
import { Bottom } from "./bottom.tsx";
import { pageNames, type PageName } from "../model/place.ts";
import { Impossible, impossibleIn } from "./impossible.tsx";
import { Lazy } from "./lazy.tsx";
import { Left } from "./left.tsx";
import { pages } from "./pages.ts";
import { Right } from "./right.tsx";
import { TimelineOfApp } from "./timeline-part.tsx";

const views = Object.fromEntries(pageNames.map((name) => [name, new Lazy(pages[name].load)])) as Readonly<
  Record<PageName, Lazy<{ app: App }>>
>;

const bar = new Lazy<{ app: App }>(async () => (await import("./compare-bar.tsx")).CompareBar);
const changes = new Lazy<{ app: App }>(async () => (await import("./pages/compared.tsx")).Compared);

/** Loads a page, before it is known whether it can be shown: so its code comes while the first questions are asked. */
export function loadAhead(name: PageName): void {
  void views[name].load();
}

/** Loads the pages that the reader has not opened yet, and asks for the flame graph, while nothing else happens. */
async function loadAll(app: App): Promise<void> {
  for (const name of pageNames) await views[name].load();
  await (await import("./pages/flame.tsx")).askAhead(app);
}

export function Frame({ app }: { app: App }) {
  const { page, recording } = app.place.value;
  const { View } = views[page];
  const impossible = impossibleIn(app);
  const place = app.place.value;
  const comparing = comparisonOf(place, filtersOf(place, app.brush.value)) !== undefined;
  const shown = shownOf(place);
  const replaces = (shown.kind === "table" || shown.kind === "tree") && !shown.within;
  const Changes = comparing && replaces ? changes.View : undefined;
  const Body = Changes ?? View;
  const left = useSignal(false); // whether the drawers of narrow windows are open
  const right = useSignal(false);
  useEffect(() => {
    const timer = setTimeout(() => void loadAll(app), 2000);
    return () => clearTimeout(timer);
  }, [recording]);
  useEffect(() => {
    left.value = false;
  }, [page, recording]);
  return (
    <>
      <TimelineOfApp app={app} />
      <div class="frame">
        <Left app={app} open={left.value} />
        <main key={`${recording} ${page}`} data-awaits={app.awaits}>
          {place.compare && <bar.View app={app} />}
          {impossible ? <Impossible app={app} why={impossible} /> : <Body app={app} />}
          {!impossible && Changes && shown.source && place.file !== undefined && <View app={app} />}
        </main>
        <Right app={app} open={right.value} />
      </div>
      <Bottom app={app}>
        <button type="button" class="drawer left" aria-expanded={left.value} onClick={() => (left.value = !left.value)}>
          Pages and filters
        </button>
        <button
          type="button"
          class="drawer right"
          aria-expanded={right.value}
          onClick={() => (right.value = !right.value)}
        >
          Details
        </button>
      </Bottom>
    </>
  );
}
