// What pages say that need the events of a recording, where it has none.
import type { App } from "../../app.ts";
import { EmptyBox } from "../states.tsx";

/** Whether the recording has events: undefined until that is known. A server that does not say it is asked anyway. */
export function hasEvents(app: App): boolean | undefined {
  const about = app.about.shown.value?.value;
  if (!about) return app.about.wait.value?.phase === "failed" ? true : undefined;
  const { rows, what } = about.lacks;
  for (let i = 0; i < rows; i++) if (/\bevents$/.test(what.at(i))) return false;
  return true;
}

/** Why there are none. */
export function NoEvents({ app, what }: { app: App; what: string }) {
  const merged = app.about.shown.value?.value.merged === true;
  return merged ? (
    <EmptyBox
      why={`This recording has the sums of several, and no events: ${what} is known of each of those.`}
      command="heaptap open RUN"
    />
  ) : (
    <EmptyBox
      why={`Calls were only counted, so there are no events: they say ${what}.`}
      command="heaptap run --mode exact ./program"
    />
  );
}
