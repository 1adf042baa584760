// The palette, in the app.
import { signal, useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import type { App } from "../app.ts";
import { nameOfRun } from "../model/compare.ts";
import { actionItems, placeOfLink, type Item } from "../model/palette.ts";
import { formatPlace, home, parsePlace, placeOf } from "../model/place.ts";
import { timeText } from "../model/time.ts";
import { askFound } from "../net/found.ts";
import { Palette } from "./palette.tsx";
import { usePart } from "./part.tsx";

/** So long after the last key the server is asked. */
const typingMs = 100;

export function PaletteOfApp({ app, close }: { app: App; close: () => void }) {
  const typed = useSignal("");
  const asked = useMemo(() => signal(""), []);
  useEffect(() => {
    const timer = setTimeout(() => (asked.value = typed.value.trim()), typingMs);
    return () => clearTimeout(timer);
  }, [typed.value]);
  const found = usePart<Item[]>(app, "palette", ({ recording, filters, rough }) => {
    const text = asked.value;
    if (text.length < 2 || rough) return undefined;
    const key = JSON.stringify([recording, filters, text]);
    return { base: recording, key, run: (ask) => askFound(ask, recording, filters, text) };
  });
  const page = app.place.value.page;
  const { keys } = app.actions;
  const choose = (item: Item) => {
    close();
    // The focus is back on the page when the action acts.
    queueMicrotask(() => act(app, item));
  };
  return (
    <Palette
      known={[
        ...actionItems(keys.on(page).filter(({ id }) => app.actions.can(id) && id !== "find.anything")),
        ...marks(app),
        ...recordings(app),
        ...others(app),
        ...links(app, typed.value),
      ]}
      found={found.shown.value?.value ?? []}
      busy={found.wait.value?.phase === "busy" || typed.value.trim() !== asked.value}
      typed={typed}
      keysOf={(action) => keys.acting(action)}
      mac={keys.mac}
      choose={choose}
      close={close}
    />
  );
}

function act(app: App, item: Item): void {
  switch (item.kind) {
    case "action":
    case "page":
      app.actions.run(item.id);
      return;
    case "function":
      app.change({ picked: [item.id] });
      return;
    case "file":
      app.change({ page: "source", file: item.id, line: undefined, picked: [] });
      return;
    case "module":
      app.change({ module: [...app.place.value.module, item.id] });
      return;
    case "mark":
      app.change({ at: item.id });
      return;
    case "recording":
      app.go({ ...home, ...placeOf(item.id), page: app.place.value.page });
      return;
    case "compare":
      app.change({ compare: true, with: [item.id], from2: undefined, to2: undefined });
      return;
    case "link":
      app.go(parsePlace(new URL(item.id, location.origin).search));
  }
}

/** A link that somebody has sent, from another server. */
function links(app: App, typed: string): Item[] {
  const here = (app.runs.shown.value?.value ?? []).flatMap((run) => run.recordings.map(({ id }) => id));
  const to = placeOfLink(typed, here, app.place.value.recording);
  if (!to) return [];
  const page = app.actions.keys.on(to.page).find(({ id }) => id === `page.${to.page}`);
  return [{ kind: "link", id: formatPlace(to), name: "Go where this link leads", note: page?.title ?? "" }];
}

function marks(app: App): Item[] {
  const all = app.report.shown.value?.value.marks;
  if (!all) return [];
  return Array.from({ length: all.rows }, (_, i) => {
    const ns = all.time_ns[i] ?? 0;
    const name = all.name.at(i) || all.mark.at(i);
    return { kind: "mark", id: timeText(ns), name, note: `at ${app.clock.moment(ns)}` };
  });
}

/** The recordings that the one on the screen can be compared with. */
function others(app: App): Item[] {
  const { recording } = app.place.value;
  if (recording === undefined) return [];
  return recordings(app).flatMap((item): Item[] => {
    if (item.id === recording) return [];
    const name = nameOfRun(app.runs.shown.value?.value ?? [], item.id);
    return [{ ...item, kind: "compare", name: `compare with ${name}`, note: item.name }];
  });
}

function recordings(app: App): Item[] {
  const runs = app.runs.shown.value?.value ?? [];
  const list = runs.flatMap((run) => run.recordings);
  if (list.length < 2) return [];
  return list.map((r) => ({ kind: "recording", id: r.id, name: r.command, note: `process ${r.pid}` }));
}
