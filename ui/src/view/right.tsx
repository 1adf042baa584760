// The right side: what is picked, explained.
import { useLayoutEffect, useRef } from "preact/hooks";
import type { App } from "../app.ts";
import { pickedOf } from "../model/picked.ts";
import { Lazy } from "./lazy.tsx";

const about = new Lazy<{ app: App }>(async () => (await import("./about.tsx")).About);

export function Right({ app, open }: { app: App; open: boolean }) {
  const picked = pickedOf(app.place.value);
  const side = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    if (side.current) side.current.scrollTop = 0;
  }, [JSON.stringify(picked)]);
  return (
    <aside ref={side} class={open ? "right open" : "right"} aria-label="Details">
      {picked ? (
        <about.View app={app} />
      ) : (
        <p class="quiet">Click a function: its numbers, its call stack and its source appear here.</p>
      )}
    </aside>
  );
}

