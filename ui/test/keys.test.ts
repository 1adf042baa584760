import assert from "node:assert/strict";
import { test } from "node:test";
import {
  chordLabels,
  chordOf,
  conflicts,
  frameActions,
  isSingle,
  Keys,
  parseChord,
  type Action,
  type KeyPress,
} from "../src/model/keys.ts";

/** An event: modifiers in front of the key as in "ctrl shift K"; code as after a colon in "ctrl л:KeyK". */
function press(text: string): KeyPress {
  const words = text.split(" ").map((word) => (word === "SPACE" ? " " : word));
  const last = words.pop() ?? "";
  const [key = "", code = ""] = /^.+:\w+$/.test(last) ? last.split(":") : [last];
  const has = (word: string) => words.includes(word);
  return {
    key,
    code,
    ctrlKey: has("ctrl"),
    altKey: has("alt"),
    metaKey: has("meta"),
    shiftKey: has("shift"),
    isComposing: has("composing"),
    getModifierState: (name) => (name === "AltGraph" && has("altgr")) || (name === "CapsLock" && has("caps")),
  };
}

test("events are chords", () => {
  for (const [event, want] of [
    ["n", "n"],
    ["shift N", "N"],
    ["caps N", "n"],
    ["caps shift n", "N"],
    ["shift ?", "?"],
    ["?", "?"],
    ["ctrl k", "Ctrl+K"],
    ["ctrl caps K", "Ctrl+K"],
    ["ctrl shift K", "Ctrl+Shift+K"],
    ["ctrl shift k", "Ctrl+Shift+K"],
    ["ctrl shift ?", "Ctrl+?"],
    ["meta k", "Meta+K"],
    ["ctrl +", "Ctrl++"],
    ["shift ArrowLeft", "Shift+ArrowLeft"],
    ["alt shift ArrowLeft", "Alt+Shift+ArrowLeft"],
    ["SPACE", "Space"],
    ["shift SPACE", "Shift+Space"],
    ["Escape", "Escape"],
    ["ctrl alt altgr [", "["],
    ["altgr [", "["],
    ["ctrl л:KeyK", "Ctrl+K"],
    ["л:KeyK", "k"],
    ["shift Л:KeyK", "K"],
    ["é", "é"],
    ["shift Shift", undefined],
    ["ctrl Control", undefined],
    ["Dead", undefined],
    ["composing a", undefined],
    ["Process", undefined],
    ["Unidentified", undefined],
  ] as const) {
    assert.equal(chordOf(press(event)), want, event);
  }
  assert.equal(chordOf(press("meta k"), true), "Ctrl+K");
  assert.equal(chordOf(press("ctrl k"), true), "Meta+K");
});

test("chords are read as they are written, and nothing else is", () => {
  for (const [text, want] of [
    ["n", "n"],
    ["Shift+n", "N"],
    ["ctrl+k", "Ctrl+K"],
    ["Shift+Ctrl+k", "Ctrl+Shift+K"],
    ["+", "+"],
    ["Ctrl++", "Ctrl++"],
    ["F12", "F12"],
    ["Alt+ArrowUp", "Alt+ArrowUp"],
    [" ", "Space"],
    ["", undefined],
    ["Ctrl+", undefined],
    ["Ctrl+Ctrl+k", undefined],
    ["Hyper+k", undefined],
    ["nn", undefined],
    ["\u0007", undefined],
    ["\u202e", undefined],
    ["Ctrl+__proto__", undefined],
    ["A".repeat(100), undefined],
  ] as const) {
    assert.equal(parseChord(text), want, JSON.stringify(text));
  }
  for (const { keys } of frameActions) for (const chord of keys) assert.equal(parseChord(chord), chord);
});

test("labels of keys", () => {
  assert.deepEqual(chordLabels("Ctrl+K"), ["Ctrl", "K"]);
  assert.deepEqual(chordLabels("n"), ["N"]);
  assert.deepEqual(chordLabels("N"), ["Shift", "N"]);
  assert.deepEqual(chordLabels("Ctrl++"), ["Ctrl", "+"]);
  assert.deepEqual(chordLabels("+"), ["+"]);
  assert.deepEqual(chordLabels("?"), ["?"]);
  assert.deepEqual(chordLabels("Shift+ArrowLeft"), ["Shift", "←"]);
  assert.deepEqual(chordLabels("Ctrl+Shift+K", true), ["⌘", "⇧", "K"]);
  assert.equal(isSingle("?"), true);
  assert.equal(isSingle("Escape"), false);
  assert.equal(isSingle("Ctrl+K"), false);
});

function store(start: Record<string, string> = {}) {
  const kept = new Map(Object.entries(start));
  return {
    kept,
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
    removeItem: (key: string) => void kept.delete(key),
  };
}

let zoomed = true;
const table: Action[] = [
  { id: "find", keys: ["Ctrl+K"], title: "Find", section: "Find" },
  { id: "next", keys: ["n"], title: "Next", section: "Find" },
  { id: "flame.next", keys: ["n"], title: "Next frame", section: "Flame graph", page: "flame" },
  { id: "flame.out", keys: ["Escape"], title: "Out", section: "Flame graph", page: "flame", enabled: () => zoomed },
  { id: "close", keys: ["Escape"], title: "Close", section: "Frame" },
];

test("a page's action comes before the frame's, if it can be done", () => {
  const keys = new Keys(table, undefined);
  const at = (event: string, page: string, typing = false) => keys.match(press(event), page, typing)?.id;
  assert.equal(at("ctrl k", "table"), "find");
  assert.equal(at("n", "table"), "next");
  assert.equal(at("n", "flame"), "flame.next");
  assert.equal(at("Escape", "flame"), "flame.out");
  zoomed = false;
  assert.equal(at("Escape", "flame"), "close");
  assert.deepEqual(
    keys.on("flame").map(({ id }) => id),
    ["find", "next", "flame.next", "close"],
  );
  zoomed = true;
  assert.equal(at("x", "flame"), undefined);
  for (const event of ["n", "ctrl k", "Escape"]) assert.equal(at(event, "flame", true), undefined, event);
});

test("keys of one character can be turned off, and all can be changed; that is kept", () => {
  const kept = store();
  const keys = new Keys(table, kept);
  const [find, next, , , close] = table;
  assert.ok(find && next && close);
  const at = (k: Keys, event: string, page = "") => k.match(press(event), page, false)?.id;

  keys.setSingle(false);
  assert.equal(at(keys, "n"), undefined);
  assert.equal(at(keys, "ctrl k"), "find");
  assert.deepEqual(keys.acting(next), []);
  assert.deepEqual(keys.keysOf(next), ["n"]);
  assert.equal(new Keys(table, kept).single, false);
  keys.setSingle(true);

  assert.deepEqual(keys.remap(next, ["ctrl+m", "bad key"]), []);
  assert.deepEqual(keys.remap(find, ["n"]).map(({ id }) => id), ["flame.next"]);
  const again = new Keys(table, kept);
  for (const k of [keys, again]) {
    assert.equal(at(k, "ctrl m"), "next");
    assert.equal(at(k, "n"), "find");
    assert.equal(at(k, "n", "flame"), "flame.next");
    assert.equal(k.changed(next), true);
    assert.equal(k.changed(close), false);
  }
  keys.reset(find);
  assert.equal(at(keys, "ctrl k"), "find");
  keys.reset();
  assert.equal(at(keys, "n"), "next");
  assert.equal(kept.kept.size, 0);
});

test("whatever is kept is read or ignored", () => {
  for (const text of [
    "", "null", "7", "[]", "{", '{"keys":7}', '{"keys":{"find":"x","next":[7,null,"\\u0000"]}}',
    '{"keys":{"__proto__":["x"],"constructor":["y"]}}', '{"single":0}',
  ]) {
    const keys = new Keys(table, store({ "heaptap.keys": text }));
    assert.equal(keys.single, true, text);
    assert.equal(keys.match(press("ctrl k"), "", false)?.id, "find", text);
  }
  const refuses = {
    getItem: () => { throw new Error("refused"); },
    setItem: () => { throw new Error("refused"); },
    removeItem: () => { throw new Error("refused"); },
  };
  const keys = new Keys(table, refuses);
  keys.setSingle(false);
  assert.equal(keys.single, false);
});

test("two actions with the same key on the same page are found", () => {
  const twice = conflicts([...table, { id: "other", keys: ["n"], title: "", section: "", page: "flame" }]);
  assert.deepEqual(
    twice.map(({ chord, first, second }) => [chord, first.id, second.id]),
    [["n", "flame.next", "other"]],
  );
  assert.deepEqual(conflicts(table), []);
  assert.deepEqual(conflicts(frameActions), []);
  assert.equal(new Set(frameActions.map(({ id }) => id)).size, frameActions.length);
});
