import assert from "node:assert/strict";
import { test } from "node:test";
import { frameActions } from "../src/model/keys.ts";
import { actionItems, groups, type Item } from "../src/model/palette.ts";

const item = (kind: Item["kind"], name: string): Item => ({ kind, id: name, name, note: "" });
const functions = ["Cache::insert", "Session::create"].map((name) => item("function", name));
const marks = Array.from({ length: 40 }, (_, i) => item("mark", `step ${i}`));

test("without a text, pages and actions are offered; with one, the kind of the best match comes first", () => {
  const known = [...actionItems(frameActions), ...marks];
  const shown = (typed: string) =>
    groups(typed, known, functions).map(({ title, items }) => `${title} ${items.length}`);
  assert.deepEqual(shown(" "), ["Pages 7", "Actions 8", "Marks 12"]);
  const [first] = groups("session", known, functions);
  assert.equal(first?.title, "Functions");
  assert.deepEqual(first?.items[0]?.item.id, "Session::create");
  assert.equal(groups("flame", known, functions)[0]?.items[0]?.item.name, "Flame graph");
  assert.deepEqual(groups("zzzz", known, functions), []);
});
