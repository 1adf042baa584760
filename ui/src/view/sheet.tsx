// The sheet of keys: what each does, and other keys for it.
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { chordOf, isSingle, type Action, type Keys } from "../model/keys.ts";
import { Dialog } from "./dialog.tsx";
import { KeysOf } from "./palette.tsx";

export interface SheetProps {
  keys: Keys;
  /** The page whose keys come first. */
  page: string;
  close: () => void;
  /** Other settings that stand here: the editor. */
  children?: ComponentChildren;
}

export function KeySheet({ keys, page, close, children }: SheetProps) {
  const changing = useSignal<string | undefined>(undefined); // the id of the action that waits for a key
  const said = useSignal("");
  const sections = new Map<string, Action[]>();
  const actions = [...keys.actions.value].sort((a, b) => Number(b.page === page) - Number(a.page === page));
  for (const action of actions) {
    const title = action.page === undefined || action.page === page ? action.section : `${action.section} (its page)`;
    sections.set(title, [...(sections.get(title) ?? []), action]);
  }
  const remap = (action: Action, chord: string) => {
    changing.value = undefined;
    const others = keys.remap(action, [chord]);
    said.value = others.length > 0 ? `also of: ${others.map(({ title }) => title).join(", ")}` : "";
  };
  const changed = keys.actions.value.some((action) => keys.changed(action));
  return (
    <Dialog label="keys" class="sheet" close={close}>
      <header>
        <h1>Keys</h1>
        <label>
          <input
            type="checkbox"
            checked={keys.single}
            onChange={(event) => keys.setSingle(event.currentTarget.checked)}
          />{" "}
          keys of a single letter act
        </label>
        {changed && (
          <button type="button" onClick={() => keys.reset()}>
            Reset all keys
          </button>
        )}
        <button type="button" onClick={close}>
          Close
        </button>
      </header>
      <p class="quiet" role="status">
        {said.value || "Choose a key to change it. Esc keeps it, Delete takes it away."}
      </p>
      <div class="sections">
        {[...sections].map(([title, list]) => (
          <section key={title}>
            <h2>{title}</h2>
            <dl>
              {list.map((action) => (
                <div key={action.id}>
                  <dt>{action.title}</dt>
                  <dd>
                    {changing.value === action.id ? (
                      <Listen
                        mac={keys.mac}
                        take={(chord) => remap(action, chord)}
                        none={() => {
                          changing.value = undefined;
                          keys.remap(action, []);
                        }}
                        leave={() => (changing.value = undefined)}
                      />
                    ) : (
                      <button
                        type="button"
                        class={keys.single || !keys.keysOf(action).every(isSingle) ? "key" : "key off"}
                        aria-label={`change the key of: ${action.title}`}
                        onClick={() => (changing.value = action.id)}
                      >
                        {keys.keysOf(action).length > 0 ? (
                          <KeysOf chords={keys.keysOf(action)} mac={keys.mac} />
                        ) : (
                          <span class="quiet">none</span>
                        )}
                      </button>
                    )}
                    {keys.changed(action) && (
                      <button type="button" class="plain" onClick={() => keys.reset(action)}>
                        reset
                      </button>
                    )}
                  </dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
        <section>
          <h2>With the mouse</h2>
          <dl>
            {pointing.map(([what, how]) => (
              <div key={what}>
                <dt>{what}</dt>
                <dd>{how}</dd>
              </div>
            ))}
          </dl>
        </section>
      </div>
      {children}
    </Dialog>
  );
}

/** What a mouse does on the timeline and the flame graph; keys do all of it, too. */
const pointing = [
  ["Select a time", "drag over the timeline"],
  ["Select a second time, to compare with", "Shift and drag"],
  ["Make the selected time longer or shorter", "drag one of its ends"],
  ["Move the selected time", "Alt and drag, or drag its words"],
  ["Select the rise, or the fall, around a moment", "double click"],
  ["Zoom at the pointer", "wheel, or two fingers"],
  ["Zoom into a frame", "double click"],
  ["Everything that a row or a frame offers", "right click"],
] as const;

/** Waits for a key. */
function Listen(props: { mac: boolean; take: (chord: string) => void; none: () => void; leave: () => void }) {
  const element = useRef<HTMLButtonElement>(null);
  useEffect(() => element.current?.focus(), []);
  const press = (event: KeyboardEvent) => {
    event.preventDefault();
    event.stopPropagation();
    const chord = chordOf(event, props.mac);
    if (chord === undefined) return;
    if (chord === "Escape" || chord === "Tab") props.leave();
    else if (chord === "Delete" || chord === "Backspace") props.none();
    else props.take(chord);
  };
  return (
    <button type="button" class="key" ref={element} onKeyDown={press} onBlur={props.leave}>
      press a key …
    </button>
  );
}
