import assert from "node:assert/strict";
import { test } from "node:test";
import { fuzzy, parts, rank } from "../src/model/search.ts";

/** A name with its matching letters in brackets. */
function marked(typed: string, name: string): string | undefined {
  const match = fuzzy(typed, name);
  return match && parts(name, match.at).map(({ text, hit }) => (hit ? `[${text}]` : text)).join("");
}

test("letters match in order, preferably at the beginnings of words", () => {
  for (const [typed, name, want] of [
    ["fg", "Flame graph", "[F]lame [g]raph"],
    ["graph", "Flame graph", "Flame [graph]"],
    ["sc", "Session::create", "[S]ession::[c]reate"],
    ["create", "recreate creates", "recreate [create]s"],
    ["hm", "hashMap_of", "[h]ash[M]ap_of"],
    ["co url", "Copy this question as a URL", "[Co]py this question as a [URL]"],
    ["x", "abc", undefined],
    ["ba", "abc", undefined],
    ["", "abc", "abc"],
    ["aa", "a", undefined],
    ["ß", "Größe", "Grö[ß]e"],
    ["😀", "a😀b", "a[😀]b"],
  ] as const) {
    assert.equal(marked(typed, name), want, `${typed} in ${name}`);
  }
});

/** The best score, by trying all places. */
function slowly(typed: string, name: string): boolean {
  let i = 0;
  for (const c of name.toLowerCase()) if (c === typed.toLowerCase()[i]) i++;
  return i === typed.length;
}

test("what matches has the letters, and nothing else does", () => {
  let seed = 7;
  const random = (n: number) => (seed = (seed * 48271) % 0x7fffffff) % n;
  const word = (n: number) => Array.from({ length: random(n) }, () => "abAB:_"[random(6)]).join("");
  for (let i = 0; i < 3000; i++) {
    const [typed, name] = [word(5), word(12)];
    const match = fuzzy(typed, name);
    assert.equal(match !== undefined, slowly(typed, name), `${typed} in ${name}`);
    if (!match) continue;
    const found = match.at.map((at) => name[at]?.toLowerCase()).join("");
    assert.equal(found, typed.toLowerCase());
    match.at.forEach((at, k) => assert.ok(k === 0 || at > (match.at[k - 1] ?? -1)));
  }
});

test("the best come first, equal ones in their order", () => {
  const names = ["Leaks by stack", "Source", "All recordings", "Copy this as a command", "Keys", "operator new"];
  const first = (typed: string) => rank(typed, names, (name) => name).map(({ item }) => item)[0];
  assert.equal(first("so"), "Source");
  assert.equal(first("key"), "Keys");
  assert.equal(first("command"), "Copy this as a command");
  assert.equal(first("new"), "operator new");
  assert.deepEqual(rank("", ["b", "a"], (name) => name).map(({ item }) => item), ["b", "a"]);
  assert.equal(rank("a", Array.from({ length: 200 }, () => "a"), (name) => name).length, 50);
});

test("hostile names cost little", () => {
  const begin = process.cpuUsage().user;
  const items = Array.from({ length: 200 }, () => "a".repeat(10_000));
  rank("a".repeat(1000), items, (name) => name);
  assert.ok((process.cpuUsage().user - begin) / 1000 < 12000);
});
