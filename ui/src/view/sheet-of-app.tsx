// The sheet of keys, in the app.
import type { App } from "../app.ts";
import { EditorChoice } from "./editor.tsx";
import { KeySheet } from "./sheet.tsx";

export function SheetOfApp({ app, close }: { app: App; close: () => void }) {
  return (
    <KeySheet keys={app.actions.keys} page={app.place.value.page} close={close}>
      <EditorChoice />
    </KeySheet>
  );
}
