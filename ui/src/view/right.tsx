// The right side: what is picked, and what happened in the selected range.
import { useLayoutEffect, useRef } from "preact/hooks";
import type { App } from "../app.ts";
import { pickedOf } from "../model/place.ts";
import { Lazy } from "./lazy.tsx";

const about = new Lazy<{ app: App }>(async () => (await import("./about.tsx")).About);
const explain = new Lazy<{ app: App; picked: boolean }>(async () => (await import("./explain.tsx")).ExplainRange);

export function Right({ app, open }: { app: App; open: boolean }) {
  const place = app.place.value;
  const picked = pickedOf(place);
  const side = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    if (side.current) side.current.scrollTop = 0;
  }, [JSON.stringify(picked), place.page, place.from, place.to, place.from2, place.to2]);
  const ranged = place.from !== undefined || place.to !== undefined;
  // The overview explains the range itself. Of sums, none can be explained, and the page says so.
  const explained = ranged && place.page !== "overview" && app.about.shown.value?.value.merged === false;
  return (
    <aside ref={side} class={open ? "right open" : "right"} aria-label="Details">
      {explained && <explain.View app={app} picked={picked !== undefined} />}
      {picked && <about.View app={app} />}
      {!picked && (
        <p class="quiet">
          Click a function: its numbers, its call stack and its source appear here.
          {!ranged && " Drag over the timeline: what rose there does, too."}
        </p>
      )}
    </aside>
  );
}
