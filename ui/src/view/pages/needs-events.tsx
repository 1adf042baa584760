// What pages say that need the events of a recording, where it has none.
import type { App } from "../../app.ts";
import { timeText } from "../../model/time.ts";
import { EmptyBox } from "../states.tsx";

/** Why there are no events: only calls were counted; it has sums of several; those from the start on were folded. */
type Lack = "counted" | "sums" | "folded";

export function lackOf(app: App): Lack | undefined {
  const about = app.about.shown.value?.value;
  if (!about) return undefined;
  if (about.merged) return "sums";
  const { rows, what } = about.lacks;
  for (let i = 0; i < rows; i++) if (what.at(i) === "call stacks and events") return "counted";
  // Of a range that begins before, the server says from when on there are events.
  return about.folded && app.place.value.from === undefined ? "folded" : undefined;
}

/** Whether there are events; undefined: that is not known yet. If the server does not say it, it is asked anyway. */
export function hasEvents(app: App): boolean | undefined {
  if (lackOf(app)) return false;
  return app.about.shown.value || app.about.wait.value?.phase === "failed" ? true : undefined;
}

/**
 * Why there are none, and what would change that.
 * @param what what events say, in words: "who freed it"
 */
export function NoEvents({ app, what }: { app: App; what: string }) {
  const lack = lackOf(app);
  const from = app.about.shown.value?.value.from_ns ?? 0;
  if (lack === "sums") {
    const why = `These are the sums of several recordings, without their events: ${what} is known of each by itself.`;
    return <EmptyBox why={why} command="heaptap open RUN" />;
  }
  if (lack === "counted") {
    const why = `Calls were only counted. Events say ${what}.`;
    return <EmptyBox why={why} command="heaptap run --mode exact ./program" />;
  }
  return (
    <EmptyBox why={`Events before ${app.clock.moment(from)} were folded to save disk. Those after it say ${what}.`}>
      <div class="actions">
        <button type="button" onClick={() => app.change({ from: timeText(from) })}>
          Show what came after
        </button>
      </div>
    </EmptyBox>
  );
}
