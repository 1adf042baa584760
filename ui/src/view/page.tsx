// The page: what the session and the place ask for.
import { useSignalEffect } from "@preact/signals";
import type { App } from "../app.ts";
import { shorten, visible } from "../model/names.ts";
import { Dialogs } from "./dialogs.tsx";
import { DropZone } from "./drop.tsx";
import { Frame } from "./frame.tsx";
import { Invite } from "./invite.tsx";
import { Lazy } from "./lazy.tsx";
import { Top } from "./top.tsx";

const runs = new Lazy<{ app: App }>(async () => (await import("./runs.tsx")).Runs);

export function Page({ app }: { app: App }) {
  const session = app.session.state.value;
  const chosen = app.place.value.recording !== undefined;
  useSignalEffect(() => {
    const recording = app.chosen?.recording;
    document.title = recording ? `${shorten(visible(recording.command), 60)} – heaptap` : "heaptap";
  });
  return (
    <>
      <Top app={app} />
      {session.phase === "closed" && <Invite app={app} fault={session.fault} />}
      {session.phase === "starting" && <main />}
      {session.phase === "open" && (chosen ? <Frame app={app} /> : <runs.View app={app} />)}
      {session.phase === "open" && <Dialogs app={app} />}
      {session.phase === "open" && <DropZone app={app} />}
    </>
  );
}
