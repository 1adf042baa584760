// The timeline of the app: asks for its steps, and passes on what the reader selects.
import type { App } from "../app.ts";
import { levelsOf } from "../net/questions.ts";
import { usePart } from "./part.tsx";
import { taskOf } from "../net/ask.ts";
import { Timeline } from "./timeline.tsx";

export function TimelineOfApp({ app }: { app: App }) {
  const levels = usePart(app, "timeline", ({ recording }) =>
    taskOf(recording, { name: "process", parameters: { steps: 400, rough: "pixel" }, read: levelsOf }),
  );
  const report = app.report.shown.value?.value;
  const wait = levels.wait.value;
  const shown = levels.shown.value;
  const part =
    wait?.phase === "failed" ? { fault: wait.fault } : shown ? { value: shown.value } : undefined;
  return (
    <Timeline part={part} peak={report && { bytes: report.peak.bytes, atNs: report.peak.time_ns }} />
  );
}
