import assert from "node:assert/strict";
import { test } from "node:test";
import { allActions } from "../src/actions.ts";
import { conflicts, parseChord } from "../src/model/keys.ts";

test("no two actions of a page have the same key or the same name, and all keys are written as they are read", () => {
  assert.deepEqual(
    conflicts(allActions).map(({ chord, first, second }) => `${chord}: ${first.id}, ${second.id}`),
    [],
  );
  assert.equal(new Set(allActions.map(({ id }) => id)).size, allActions.length);
  for (const { id, keys } of allActions) for (const chord of keys) assert.equal(parseChord(chord), chord, id);
});
