// Other tools' files are opened by dropping them on the page, or with a dialog.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { App } from "../app.ts";
import type { Progress } from "../api.ts";
import { visible } from "../model/names.ts";
import { placeOf } from "../model/place.ts";
import { faultOf, isAbort, type Fault } from "../net/fault.ts";
import { useActions } from "./part.tsx";
import { FaultBox, ProgressBox } from "./states.tsx";

type Sending = { name: string; progress: Progress; cancel: () => void } | { fault: Fault; files: File[] } | undefined;

/** Says how far it is after so long. */
const quietMs = 500;

export function DropZone({ app }: { app: App }) {
  const over = useSignal(false);
  const sending = useSignal<Sending>(undefined);
  const picker = useRef<HTMLInputElement>(null);

  const send = async (files: File[]) => {
    let last: string | undefined;
    for (const [i, file] of files.entries()) {
      const controller = new AbortController();
      const cancel = () => controller.abort();
      const show = (progress: Progress) => (sending.value = { name: file.name, progress, cancel });
      const timer = setTimeout(() => show({ share: null, doing: "sending the file" }), quietMs);
      try {
        last = await app.sendFile(file, controller.signal, show);
        sending.value = undefined;
      } catch (thrown) {
        sending.value = isAbort(thrown) ? undefined : { fault: faultOf(thrown, file.name), files: files.slice(i) };
        break;
      } finally {
        clearTimeout(timer);
      }
    }
    if (last !== undefined) app.go(placeOf(last));
  };

  useActions(app, { "files.open": () => picker.current?.click() });

  useEffect(() => {
    let depth = 0; // a drag enters and leaves every element that it passes
    const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false;
    const enter = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      depth++;
      over.value = true;
    };
    const leave = (event: DragEvent) => {
      if (hasFiles(event) && --depth <= 0) over.value = false;
    };
    const move = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      if (event.dataTransfer) event.dataTransfer.dropEffect = "copy";
    };
    const drop = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault(); // else the browser shows the file instead of the page
      depth = 0;
      over.value = false;
      void send([...(event.dataTransfer?.files ?? [])]);
    };
    const listeners = { dragenter: enter, dragleave: leave, dragover: move, drop } as const;
    for (const [name, listener] of Object.entries(listeners)) addEventListener(name, listener as EventListener);
    return () => {
      for (const [name, listener] of Object.entries(listeners)) removeEventListener(name, listener as EventListener);
    };
  }, [app]);

  const state = sending.value;
  return (
    <>
      <input
        ref={picker}
        type="file"
        multiple
        hidden
        aria-label="files of other tools"
        onChange={(event) => {
          const files = [...(event.currentTarget.files ?? [])];
          event.currentTarget.value = "";
          void send(files);
        }}
      />
      {over.value && (
        <div class="drop" aria-hidden="true">
          <p>Drop to open: heaptrack, massif, DHAT, pprof, speedscope, jemalloc, folded stacks, or a recording</p>
        </div>
      )}
      {state && (
        <div class="sending" role="region" aria-label="file">
          {"fault" in state ? (
            <>
              <FaultBox fault={state.fault} retry={() => void send(state.files)} />
              <button type="button" onClick={() => (sending.value = undefined)}>
                Close
              </button>
            </>
          ) : (
            <>
              <p>
                <bdi>{visible(state.name).slice(0, 200)}</bdi>
              </p>
              <ProgressBox progress={state.progress} cancel={state.cancel} />
            </>
          )}
        </div>
      )}
    </>
  );
}
