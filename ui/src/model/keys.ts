// Actions and their keys. One table of actions makes the palette, the sheet of keys, and what a key does; each part of
// the app exports its rows, and a test of the merged table finds keys that two rows claim.
//
// A row is data. What an action does is the business of whoever gets its id.
import { computed, signal, type ReadonlySignal } from "@preact/signals";

export interface Action {
  /** Names the action for good: settings are kept by it. For example "flame.zoom-in". */
  id: string;
  /** Chords that start it, such as "Ctrl+K", "Shift+ArrowLeft", "?" or "n"; see `Chord`. May be empty. */
  keys: readonly Chord[];
  /** What it does, as the palette and the sheet say it: "Zoom in". */
  title: string;
  /** The heading that it stands below: "Pages", "Timeline", "Flame graph". */
  section: string;
  /** The page on which it exists; without it, it exists everywhere. A page's key hides the same key of the frame. */
  page?: string;
  /** Whether it can be done now; without it, always. */
  enabled?: () => boolean;
}

/**
 * A key with its modifiers, in the order Ctrl, Alt, Meta, Shift: "Ctrl+Shift+K", "Alt+ArrowUp". A key that writes a
 * character is that character, and Shift is part of it ("?", "N"), unless another modifier is held ("Ctrl+Shift+N").
 * On a Mac, Ctrl is the command key.
 */
export type Chord = string;

/** What a keyboard event says, as far as this needs it. */
export interface KeyPress {
  key: string;
  code: string;
  ctrlKey: boolean;
  altKey: boolean;
  metaKey: boolean;
  shiftKey: boolean;
  isComposing: boolean;
  getModifierState(key: string): boolean;
}

/** The actions of the frame itself. */
export const frameActions: readonly Action[] = [
  { id: "page.overview", keys: ["1"], title: "Overview", section: "Pages" },
  { id: "page.flame", keys: ["2"], title: "Flame graph", section: "Pages" },
  { id: "page.table", keys: ["3"], title: "Table", section: "Pages" },
  { id: "page.tree", keys: ["4"], title: "Tree", section: "Pages" },
  { id: "page.leaks", keys: ["5"], title: "Leaks", section: "Pages" },
  { id: "page.source", keys: ["6"], title: "Source", section: "Pages" },
  { id: "page.generations", keys: ["7"], title: "Generations", section: "Pages" },
  { id: "page.timeline", keys: ["8"], title: "Timeline", section: "Pages" },
  { id: "page.sizes", keys: ["9"], title: "Sizes", section: "Pages" },
  { id: "page.threads", keys: ["0"], title: "Threads", section: "Pages" },
  { id: "page.blocks", keys: ["b"], title: "Blocks", section: "Pages" },
  { id: "page.heap", keys: ["o"], title: "Heap", section: "Pages" },
  { id: "page.events", keys: ["e", "E"], title: "Events", section: "Pages" },
  { id: "page.more", keys: ["g", "G"], title: "More", section: "Pages" },
  { id: "page.sql", keys: ["q"], title: "SQL", section: "Pages" },
  { id: "page.recordings", keys: [], title: "All recordings", section: "Pages" },
  { id: "compare.choose", keys: [], title: "Compare with other recordings", section: "Compare" },
  { id: "compare.swap", keys: [], title: "Exchange the two sides that are compared", section: "Compare" },
  { id: "compare.scale", keys: [], title: "Scale side A, so that the totals are equal", section: "Compare" },
  { id: "files.open", keys: [], title: "Open a file of another tool", section: "Files" },
  { id: "find.anything", keys: ["Ctrl+K"], title: "Find an action, page, function, file or mark", section: "Find" },
  { id: "find.here", keys: ["/"], title: "Search on this page", section: "Find" },
  { id: "help.keys", keys: ["?"], title: "Keys", section: "Help" },
  { id: "copy.command", keys: [], title: "Copy this question as a command", section: "Copy" },
  { id: "copy.url", keys: [], title: "Copy this question as a URL", section: "Copy" },
  { id: "copy.link", keys: [], title: "Share: copy a link to this view", section: "Copy" },
  { id: "look.theme", keys: [], title: "Light, dark, or as the system", section: "Look" },
];

const modifiers = ["Ctrl", "Alt", "Meta", "Shift"] as const;

/** The chord of an event; undefined for a modifier alone, a dead key, and while text is composed. */
export function chordOf(event: KeyPress, mac = false): Chord | undefined {
  const { code } = event;
  let { key } = event;
  if (event.isComposing || ["Control", "Alt", "Meta", "Shift", "AltGraph", "CapsLock", "Dead"].includes(key)) {
    return undefined;
  }
  if (["Unidentified", "Process"].includes(key) || key === "") return undefined;
  // Some layouts write [ with AltGr, which some systems report as Ctrl and Alt.
  const composed = [...key].length === 1 && event.getModifierState("AltGraph");
  const [ctrlKey, metaKey] = mac ? [event.metaKey, event.ctrlKey] : [event.ctrlKey, event.metaKey];
  const held = { Ctrl: ctrlKey && !composed, Alt: event.altKey && !composed, Meta: metaKey, Shift: event.shiftKey };
  // Letters of other scripts stand for the Latin ones on the same keys.
  const letter = /^Key([A-Z])$/.exec(code)?.[1];
  if (letter !== undefined && /^[^\x00-\x7f]$/u.test(key)) key = held.Shift ? letter : letter.toLowerCase();
  if (key === " ") key = "Space";
  if (isCharacter(key)) {
    const alone = !held.Ctrl && !held.Alt && !held.Meta;
    // With other modifiers a layout may or may not apply Shift, and Caps Lock does what it does: letters are capital.
    if (!alone) key = key.toUpperCase();
    else if (event.getModifierState("CapsLock")) key = held.Shift ? key.toUpperCase() : key.toLowerCase();
    held.Shift = held.Shift && !alone && key !== key.toLowerCase();
  }
  return [...modifiers.filter((m) => held[m]), key].join("+");
}

/** Whether a key writes a character, except for a space. */
function isCharacter(key: string): boolean {
  return [...key].length === 1;
}

/** Whether a chord is a character alone: those act while somebody dictates, so that they can be turned off. */
export function isSingle(chord: Chord): boolean {
  return isCharacter(chord);
}

/** A chord as it is meant to be written; undefined if it is none. */
export function parseChord(text: string): Chord | undefined {
  if (text.length > 40) return undefined;
  const parts = split(text);
  let key = parts.pop() ?? "";
  const held = new Set<string>();
  for (const part of parts) {
    const name = modifiers.find((m) => m.toLowerCase() === part.toLowerCase());
    if (!name || held.has(name)) return undefined;
    held.add(name);
  }
  if (key === " ") key = "Space";
  if (isCharacter(key)) {
    if (/[\p{C}\p{Z}]/u.test(key)) return undefined;
    const alone = !held.has("Ctrl") && !held.has("Alt") && !held.has("Meta");
    if (alone && held.delete("Shift")) key = key.toUpperCase();
    if (!alone) key = key.toUpperCase();
  } else if (!/^(F\d{1,2}|[A-Z][A-Za-z]{2,19})$/.test(key)) return undefined;
  return [...modifiers.filter((m) => held.has(m)), key].join("+");
}

/** The parts between the signs +; the last one may be a + itself. */
function split(chord: string): string[] {
  if (chord === "+") return ["+"];
  return chord.endsWith("++") ? [...chord.slice(0, -2).split("+"), "+"] : chord.split("+");
}

const labels: Record<string, string> = {
  ArrowLeft: "←",
  ArrowRight: "→",
  ArrowUp: "↑",
  ArrowDown: "↓",
  Escape: "Esc",
  PageUp: "Page up",
  PageDown: "Page down",
  Delete: "Del",
};

/** The keys of a chord as they are labelled: ["Ctrl", "K"]. A capital letter is labelled as it is typed. */
export function chordLabels(chord: Chord, mac = false): string[] {
  const parts = split(chord);
  const key = parts.pop() ?? "";
  const shifted = parts.length === 0 && isCharacter(key) && key !== key.toLowerCase();
  const names = [...parts, ...(shifted ? ["Shift"] : [])].map((m) => (mac ? macLabels[m] : undefined) ?? m);
  return [...names, labels[key] ?? (/^[a-z]$/.test(key) ? key.toUpperCase() : key)];
}

const macLabels: Record<string, string> = { Ctrl: "⌘", Alt: "⌥", Shift: "⇧", Meta: "⌃" };

/** Two actions that the same chord would start on the same page. */
export interface Conflict {
  chord: Chord;
  first: Action;
  second: Action;
}

/** The conflicts of a table. A key of a page may hide one of the frame. */
export function conflicts(actions: readonly Action[], keysOf = (a: Action) => a.keys): Conflict[] {
  const taken = new Map<string, Action>();
  const found: Conflict[] = [];
  for (const action of actions) {
    for (const chord of keysOf(action)) {
      const slot = JSON.stringify([action.page ?? "", chord]);
      const first = taken.get(slot);
      if (first) found.push({ chord, first, second: action });
      else taken.set(slot, action);
    }
  }
  return found;
}

/** What the reader has changed. */
interface Settings {
  /** Whether keys of a single character act. */
  single: boolean;
  /** The chords of actions, instead of those of the table. */
  keys: Readonly<Record<string, readonly Chord[]>>;
}

const unchanged: Settings = { single: true, keys: {} };
const settingsKey = "heaptap.keys";
const mostChords = 4;

/** Where settings are kept; the browser may refuse that. */
export type Store = Pick<Storage, "getItem" | "setItem" | "removeItem"> | undefined;

/** The table with the reader's changes. */
export class Keys {
  readonly #actions = signal<readonly Action[]>([]);
  readonly #settings = signal<Settings>(unchanged);
  readonly #store: Store;
  readonly #mac: boolean;
  /** The actions by page and chord; "" is every page. */
  readonly #slots = computed(() => {
    const slots = new Map<string, Action[]>();
    for (const action of this.#actions.value) {
      for (const chord of this.keysOf(action)) {
        const slot = `${action.page ?? ""} ${chord}`;
        slots.set(slot, [...(slots.get(slot) ?? []), action]);
      }
    }
    return slots;
  });

  constructor(actions: readonly Action[], store: Store, mac = false) {
    this.#actions.value = actions;
    this.#store = store;
    this.#mac = mac;
    this.#settings.value = read(store);
  }

  get mac(): boolean {
    return this.#mac;
  }

  get actions(): ReadonlySignal<readonly Action[]> {
    return this.#actions;
  }

  /** Whether keys of a single character act. */
  get single(): boolean {
    return this.#settings.value.single;
  }

  /** The chords that start an action now; those of single characters too, even if they are turned off. */
  keysOf(action: Action): readonly Chord[] {
    const { keys } = this.#settings.value;
    return Object.hasOwn(keys, action.id) ? (keys[action.id] ?? []) : action.keys;
  }

  /** The chords that start an action and are not turned off. */
  acting(action: Action): readonly Chord[] {
    return this.keysOf(action).filter((chord) => this.single || !isSingle(chord));
  }

  changed(action: Action): boolean {
    return Object.hasOwn(this.#settings.value.keys, action.id);
  }

  /**
   * The action that a key starts on a page. While text is typed into a field, none.
   * @param typing whether the event's target takes text
   */
  match(event: KeyPress, page: string, typing: boolean): Action | undefined {
    if (typing) return undefined;
    const chord = chordOf(event, this.#mac);
    if (chord === undefined || (isSingle(chord) && !this.single)) return undefined;
    for (const slot of [`${page} ${chord}`, ` ${chord}`]) {
      const action = this.#slots.value.get(slot)?.find(isEnabled);
      if (action) return action;
    }
    return undefined;
  }

  /** The actions that exist on a page and can be done now. */
  on(page: string): Action[] {
    return this.#actions.value.filter((a) => (a.page === undefined || a.page === page) && isEnabled(a));
  }

  setSingle(single: boolean): void {
    this.#change({ ...this.#settings.value, single });
  }

  /** Gives an action other chords; an empty list takes them away. It returns the actions that have one of them too. */
  remap(action: Action, chords: readonly Chord[]): Action[] {
    const wanted = [...new Set(chords.map(parseChord).filter((chord) => chord !== undefined))].slice(0, mostChords);
    this.#change({ ...this.#settings.value, keys: { ...this.#settings.value.keys, [action.id]: wanted } });
    return this.#actions.value.filter(
      (other) =>
        other.id !== action.id &&
        (other.page === action.page || other.page === undefined || action.page === undefined) &&
        this.keysOf(other).some((chord) => wanted.includes(chord)),
    );
  }

  /** Gives an action the chords of the table again; without one, all of them. */
  reset(action?: Action): void {
    if (!action) return this.#change({ ...unchanged });
    const { [action.id]: _, ...keys } = this.#settings.value.keys;
    this.#change({ ...this.#settings.value, keys });
  }

  #change(settings: Settings): void {
    this.#settings.value = settings;
    try {
      if (settings.single && Object.keys(settings.keys).length === 0) this.#store?.removeItem(settingsKey);
      else this.#store?.setItem(settingsKey, JSON.stringify(settings));
    } catch {
      // It lasts as long as the page.
    }
  }
}

function isEnabled(action: Action): boolean {
  return action.enabled?.() ?? true;
}

/** Reads the settings. Whatever else may stand there, each part counts only if it is one. */
function read(store: Store): Settings {
  let kept: unknown;
  try {
    kept = JSON.parse(store?.getItem(settingsKey) ?? "null");
  } catch {
    return unchanged;
  }
  if (typeof kept !== "object" || kept === null) return unchanged;
  const single = !("single" in kept) || kept.single !== false;
  const keys: Record<string, Chord[]> = {};
  if ("keys" in kept && typeof kept.keys === "object" && kept.keys !== null) {
    for (const [id, chords] of Object.entries(kept.keys)) {
      if (id === "__proto__" || !Array.isArray(chords)) continue;
      const read = chords.map((c: unknown) => (typeof c === "string" ? parseChord(c) : undefined));
      keys[id] = read.filter((chord) => chord !== undefined).slice(0, mostChords);
    }
  }
  return { single, keys };
}
