// The page: a line at the top, and below it what the place asks for.
import { useSignalEffect } from "@preact/signals";
import type { App } from "../app.ts";
import { duration } from "../model/format.ts";
import { shorten, visible } from "../model/names.ts";
import { home } from "../model/place.ts";
import { Answer } from "./answer.tsx";
import { Invite } from "./invite.tsx";
import { Link } from "./link.tsx";
import { Name } from "./name.tsx";
import { Runs } from "./runs.tsx";
import { ThemeButton } from "./theme.tsx";

export function Page({ app }: { app: App }) {
  const session = app.session.state.value;
  const chosen = app.place.value.recording !== undefined;
  useSignalEffect(() => {
    const recording = app.chosen?.recording;
    document.title = recording ? `${shorten(visible(recording.command), 60)} – heaptap` : "heaptap";
  });
  return (
    <>
      <header class="top">
        <Link app={app} to={home} class="brand">
          heaptap
        </Link>
        <Where app={app} />
        <ThemeButton />
      </header>
      {session.phase === "closed" && <Invite app={app} fault={session.fault} />}
      {session.phase === "starting" && <main />}
      {session.phase === "open" && (chosen ? <Answer app={app} /> : <Runs app={app} />)}
    </>
  );
}

/** Which recording is shown, and the way back to the others. */
function Where({ app }: { app: App }) {
  const recording = app.chosen?.recording;
  const list = app.runs.state.value;
  const total = list.phase === "done" ? list.value.reduce((n, run) => n + run.recordings.length, 0) : 0;
  if (!recording) return <span class="where" />;
  return (
    <span class="where">
      {total > 1 && (
        <>
          <Link app={app} to={home}>
            {total} recordings
          </Link>
          {" › "}
        </>
      )}
      <b>
        <Name text={recording.command} limit={80} />
      </b>{" "}
      <span class="quiet">
        process {recording.pid} · {duration(recording.durationNs)} ·{" "}
      </span>
      <span class={recording.failed ? "wrong" : "quiet"}>{recording.end}</span>
    </span>
  );
}
