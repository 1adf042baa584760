// The left side: the pages, and which events count.
import { useSignal } from "@preact/signals";
import { useId, useRef } from "preact/hooks";
import type { App } from "../app.ts";
import { charactersIn, isRange, words, wrongAt, wrongIn } from "../model/filters.ts";
import { chordLabels } from "../model/keys.ts";
import { visible } from "../model/names.ts";
import { pageNames } from "../model/place.ts";
import { CompareSection } from "./compare-section.tsx";
import { Link } from "./link.tsx";
import { Name } from "./name.tsx";
import { pages } from "./pages.ts";

export function Left({ app, open }: { app: App; open: boolean }) {
  const place = app.place.value;
  const list = words(place, app.clock);
  return (
    <aside class={open ? "left open" : "left"}>
      <nav aria-label="Pages">
        <ul>
          {pageNames.map((name) => (
            <li key={name}>
              <Link app={app} to={{ ...place, page: name }} current={name === place.page}>
                {pages[name].title} <KeyOf app={app} id={`page.${name}`} />
              </Link>
            </li>
          ))}
        </ul>
      </nav>
      <section aria-label="Filters">
        <h2 title="filters: only what they match counts, on all pages">Only</h2>
        {list.length === 0 && <p class="quiet">everything counts</p>}
        <ul class="words">
          {list.map(({ kind, value, idle, without }, i) => (
            <li key={i}>
              <button
                type="button"
                class={idle ? "word idle" : "word"}
                onClick={() => app.go(without)}
                title={`remove: ${kind} ${value}${idle && ` (no effect here: ${idle})`}`}
              >
                <span class="quiet">{kind}</span> <Name text={value} limit={32} /> <span aria-hidden="true">✕</span>
              </button>
            </li>
          ))}
        </ul>
        <AddFilter app={app} />
      </section>
      <section aria-label="Fold">
        <h2>Fold</h2>
        <button
          type="button"
          class="word"
          aria-pressed={!place.unfolded}
          onClick={() => app.change({ unfolded: !place.unfolded })}
        >
          {place.unfolded ? "fold library frames" : "library frames ✕"}
        </button>
      </section>
      {/* Last: what it can offer is known late, and moves nothing else. */}
      <CompareSection app={app} />
    </aside>
  );
}

/** The key that starts an action, if one does. */
function KeyOf({ app, id }: { app: App; id: string }) {
  const { keys } = app.actions;
  const action = keys.actions.value.find((a) => a.id === id);
  const chord = action && keys.acting(action)[0];
  return chord === undefined ? null : <kbd>{chordLabels(chord, keys.mac).join("+")}</kbd>;
}

const kinds = [
  { name: "focus", hint: "a function, file or module (a regular expression)" },
  { name: "ignore", hint: "a function, file or module (a regular expression)" },
  { name: "thread", hint: "a thread's id or name: worker-*" },
  { name: "freed-by", hint: "the id or name of the thread that freed: worker-*" },
  { name: "region", hint: "a region's name: load/*" },
  { name: "module", hint: "a file: libc.so.6" },
  { name: "size", hint: "100..4k, ..16, 1M.." },
  { name: "old-size", hint: "of the block that realloc enlarged: 100..4k" },
  { name: "lifetime", hint: "..1ms, 10us..2s, 5s.., never" },
] as const;

/** A form that adds a filter. */
function AddFilter({ app }: { app: App }) {
  const kind = useSignal<(typeof kinds)[number]>(kinds[0]);
  const text = useSignal("");
  const wrong = useSignal("");
  const field = useRef<HTMLInputElement>(null);
  const id = useId();
  const add = async (event: SubmitEvent) => {
    event.preventDefault();
    const value = text.value.trim();
    if (value === "") return;
    const { name } = kind.value;
    const one = isRange(name);
    const refused = await app.refusal({ [name]: one ? value : [value] });
    if (text.value.trim() !== value) return; // the reader has gone on
    if (refused) {
      // It stays, to be mended where it is wrong.
      // The server takes what lacks a closing bracket to be wrong from its beginning on.
      const here = refused.position === undefined ? undefined : wrongAt(value);
      const at = here?.at ?? (refused.position === undefined ? undefined : charactersIn(value, refused.position));
      const place = at === undefined ? "" : `, character ${at + 1}`;
      wrong.value = here ? wrongIn(value) : refused.message + place;
      text.value = value;
      field.current?.focus();
      if (at !== undefined) field.current?.setSelectionRange(at, value.length);
      return;
    }
    text.value = "";
    wrong.value = "";
    app.change(one ? { [name]: value } : { [name]: [...app.place.value[name], value] });
  };
  return (
    <form class="add" onSubmit={add}>
      <select
        aria-label="what the filter is about"
        value={kind.value.name}
        onChange={(event) => {
          kind.value = kinds.find(({ name }) => name === event.currentTarget.value) ?? kinds[0];
        }}
      >
        {kinds.map(({ name }) => (
          <option key={name}>{name}</option>
        ))}
      </select>
      <input
        aria-label={`${kind.value.name}: ${kind.value.hint}`}
        title={kind.value.hint}
        placeholder={kind.value.hint}
        value={text.value}
        ref={field}
        aria-invalid={wrong.value !== ""}
        aria-describedby={id}
        onInput={(event) => {
          text.value = event.currentTarget.value;
          wrong.value = "";
        }}
      />
      <p id={id} class="wrong" role="alert">
        <bdi>{visible(wrong.value)}</bdi>
      </p>
    </form>
  );
}
