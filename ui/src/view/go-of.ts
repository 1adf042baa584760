import type { App } from "../app.ts";
import { formatPlace, type Place } from "../model/place.ts";
import type { Go } from "./go.tsx";

/** The link that changes parts of the place. */
export function goOf(app: App, parts: Partial<Place>): Go {
  return { href: formatPlace({ ...app.place.value, ...parts }), follow: () => app.change(parts) };
}
