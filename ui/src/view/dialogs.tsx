// The palette and the sheet of keys: which of them is open.
import { useSignal } from "@preact/signals";
import type { App } from "../app.ts";
import { Lazy } from "./lazy.tsx";
import { useActions } from "./part.tsx";

type Props = { app: App; close: () => void };
const palette = new Lazy<Props>(async () => (await import("./palette-of-app.tsx")).PaletteOfApp);
const compare = new Lazy<Props>(async () => (await import("./compare-dialog.tsx")).CompareDialog);
const sheet = new Lazy<Props>(async () => (await import("./sheet-of-app.tsx")).SheetOfApp);

export function Dialogs({ app }: { app: App }) {
  const open = useSignal<Lazy<Props> | undefined>(undefined);
  useActions(app, {
    "compare.choose": () => (open.value = compare),
    "find.anything": () => (open.value = palette),
    "help.keys": () => (open.value = sheet),
  });
  const Open = open.value?.View;
  return Open ? <Open app={app} close={() => (open.value = undefined)} /> : null;
}
