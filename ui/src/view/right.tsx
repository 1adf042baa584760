// The right side: what is picked, explained.
import type { App } from "../app.ts";
import { Name } from "./name.tsx";

export function Right({ app, open }: { app: App; open: boolean }) {
  const { picked } = app.place.value;
  const name = picked.at(-1);
  return (
    <aside class={open ? "right open" : "right"} aria-label="Details">
      {name === undefined ? (
        <p class="quiet">Click a function: its numbers, its call stack and its source appear here.</p>
      ) : (
        <h2>
          <Name text={name} />
        </h2>
      )}
    </aside>
  );
}
