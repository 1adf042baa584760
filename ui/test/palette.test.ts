import assert from "node:assert/strict";
import { test } from "node:test";
import { pageNames } from "../src/model/place.ts";
import { frameActions } from "../src/model/keys.ts";
import { actionItems, groups, placeOfLink, type Item } from "../src/model/palette.ts";

const item = (kind: Item["kind"], name: string): Item => ({ kind, id: name, name, note: "" });
const functions = ["Cache::insert", "Session::create"].map((name) => item("function", name));
const marks = Array.from({ length: 40 }, (_, i) => item("mark", `step ${i}`));

test("without a text, pages and actions are offered; with one, the kind of the best match comes first", () => {
  const known = [...actionItems(frameActions), ...marks];
  const shown = (typed: string) =>
    groups(typed, known, functions).map(({ title, items }) => `${title} ${items.length}`);
  assert.deepEqual(shown(" "), [`Pages ${pageNames.length + 1}`, "Actions 11", "Marks 12"]);
  const [first] = groups("session", known, functions);
  assert.equal(first?.title, "Functions");
  assert.deepEqual(first?.items[0]?.item.id, "Session::create");
  assert.equal(groups("flame", known, functions)[0]?.items[0]?.item.name, "Flame graph");
  assert.deepEqual(groups("zzzz", known, functions), []);
});

test("a link from another server leads to the same place here", () => {
  const link = "http://127.0.0.1:4711/?recording=b&page=flame&from=1s&to=2s";
  const place = placeOfLink(` ${link}\n`, ["a", "b"], "a");
  assert.equal(place?.page, "flame");
  assert.equal(place.recording, "b");
  assert.deepEqual([place.from, place.to], ["1s", "2s"]);
  assert.equal(placeOfLink(link, ["c", "a"], "a")?.recording, "a", "the file has another name here");
  assert.equal(placeOfLink(link, ["c"], undefined)?.recording, "c");
  const others = ["", "flame", "recording=b", "https://", "https://x.test/?page=flame", "javascript:1?recording=b"];
  for (const text of others) {
    assert.equal(placeOfLink(text, ["b"], "b"), undefined, text);
  }
  const to = { ...item("link", "?recording=b"), name: "Go where this link leads" };
  assert.deepEqual(
    groups(link, [...actionItems(frameActions), to], functions).map(({ items }) => items.map(({ item: i }) => i.kind)),
    [["link"]],
  );
});
