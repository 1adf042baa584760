// The palette: every action, page, function, file and mark, by a few letters of its name.
import { useSignal, type Signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { chordLabels, type Action, type Chord } from "../model/keys.ts";
import { visible } from "../model/names.ts";
import { groups, type Item } from "../model/palette.ts";
import { parts, type Ranked } from "../model/search.ts";
import { Dialog } from "./dialog.tsx";

export interface PaletteProps {
  /** What is there without asking: actions, pages, marks, recordings. */
  known: readonly Item[];
  /** What the server has found for the text; the palette writes what is typed into `typed`. */
  found: readonly Item[];
  busy: boolean;
  typed: Signal<string>;
  /** The chords that start an action. */
  keysOf: (action: Action) => readonly Chord[];
  mac: boolean;
  choose: (item: Item) => void;
  close: () => void;
}

export function Palette(props: PaletteProps) {
  const { known, found, typed, choose, close } = props;
  const list = groups(typed.value, known, found);
  const all = list.flatMap(({ items }) => items);
  // What is chosen stays chosen while answers come in, unless the text changes.
  const chosen = useSignal<string | undefined>(undefined);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const keyOf = ({ item }: Ranked<Item>) => `${item.kind} ${item.id}`;
  const at = Math.max(0, all.findIndex((match) => keyOf(match) === chosen.value));
  const options = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    options.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }, [at, all.length]);

  const press = (event: KeyboardEvent) => {
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 };
    const step = steps[event.key];
    const match = all[at];
    if (step !== undefined && all.length > 0) {
      const to = Math.abs(step) === 1 ? (at + step + all.length) % all.length : at + step;
      const next = all[Math.min(all.length - 1, Math.max(0, to))];
      chosen.value = next && keyOf(next);
    } else if (event.key === "Enter" && match && !event.isComposing) choose(match.item);
    else return;
    event.preventDefault();
  };

  let index = 0;
  return (
    <Dialog label="find anything" class="palette" close={close}>
      <input
        ref={field}
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={all.length > 0 ? `palette-${at}` : undefined}
        aria-label="action, page, function, file or mark, or a link"
        placeholder="action, page, function, file, mark … or a link that you were sent"
        autocomplete="off"
        spellcheck={false}
        value={typed.value}
        onInput={(event) => {
          typed.value = event.currentTarget.value;
          chosen.value = undefined;
        }}
        onKeyDown={press}
      />
      <div id="palette-list" role="listbox" aria-label="what matches" aria-busy={props.busy} ref={options}>
        {list.map(({ title, items }) => (
          <div key={title} role="group" aria-label={title}>
            <h2 aria-hidden="true">{title}</h2>
            {items.map((match) => {
              const i = index++;
              return (
                <div
                  key={keyOf(match)}
                  id={`palette-${i}`}
                  role="option"
                  class="option"
                  aria-selected={i === at}
                  title={visible(match.item.name).slice(0, 2000)}
                  onPointerMove={() => (chosen.value = keyOf(match))}
                  onClick={() => choose(match.item)}
                >
                  <bdi class={["function", "file", "module"].includes(match.item.kind) ? "name" : ""}>
                    <Hits match={match} />
                  </bdi>
                  <span class="quiet note">
                    <bdi>{visible(match.item.note)}</bdi>
                  </span>
                  {match.item.action && <KeysOf chords={props.keysOf(match.item.action)} mac={props.mac} />}
                </div>
              );
            })}
          </div>
        ))}
        {all.length === 0 && <p class="quiet">{props.busy ? "asking …" : "nothing has that in its name"}</p>}
      </div>
    </Dialog>
  );
}

/** The most of a name that is shown. */
const mostOfName = 200;

/** A name with the letters that match. */
function Hits({ match }: { match: Ranked<Item> }) {
  const name = match.item.name.slice(0, mostOfName);
  return (
    <>
      {parts(name, match.at).map(({ text, hit }, i) => (hit ? <b key={i}>{visible(text)}</b> : visible(text)))}
      {name.length < match.item.name.length && "…"}
    </>
  );
}

/** The chords of an action, as keys. */
export function KeysOf({ chords, mac }: { chords: readonly Chord[]; mac: boolean }) {
  return (
    <span class="keys">
      {chords.map((chord, i) => (
        <span key={chord}>
          {i > 0 && " or "}
          {chordLabels(chord, mac).map((label) => (
            <kbd key={label}>{label}</kbd>
          ))}
        </span>
      ))}
    </span>
  );
}
