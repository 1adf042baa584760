// Buttons that lead out of a page that shows nothing.
import type { App } from "../app.ts";
import { waysBack } from "../model/ways-back.ts";

export function WaysBack({ app }: { app: App }) {
  const ways = waysBack(app.place.value);
  if (ways.length === 0) return null;
  return (
    <div class="actions">
      {ways.map(({ label, change }) => (
        <button key={label} type="button" onClick={() => app.change(change)}>
          {label}
        </button>
      ))}
    </div>
  );
}
