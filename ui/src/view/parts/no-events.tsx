// What stands in the place of pages that need events, about a recording that has the sums of several.
import type { App } from "../../app.ts";
import { plural } from "../../model/format.ts";
import { EmptyBox } from "../states.tsx";

/** Whether questions about events can be asked; undefined: that is not known yet. */
export function hasEvents(app: App): boolean | undefined {
  const about = app.about.shown.value?.value;
  return about && !about.merged;
}

/** @param what is not there: single events, a timeline */
export function NoEvents({ app, what }: { app: App; what: string }) {
  const of = plural(app.about.shown.value?.value.processes ?? 0, "process");
  const why = `The recording has the sums of ${of}, and no ${what}: these are in the recordings that it was made of.`;
  return <EmptyBox why={why} command="heaptap open RUN" />;
}
