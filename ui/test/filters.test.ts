import assert from "node:assert/strict";
import { test } from "node:test";
import { commandOf, diffCommandOf } from "../src/model/commands.ts";
import type { Recording, Run } from "../src/model/answers.ts";
import { filtersOf, literally, words } from "../src/model/filters.ts";
import { placeOf, type Place } from "../src/model/place.ts";

const place: Place = {
  ...placeOf("2"),
  from: "1s",
  at: "1.234567s",
  thread: ["worker-*"],
  ignore: ["a", "^b$"],
  size: "1k..",
  below: ["main", "f"],
};

test("filters are parameters", () => {
  assert.deepEqual(filtersOf(placeOf("2")), {});
  assert.deepEqual(filtersOf(place), { from: "1s", thread: ["worker-*"], size: "1k..", ignore: "(?:a)|(?:^b$)" });
  const brushed = filtersOf(place, { begin: 2e9, end: 2.5e9 });
  assert.deepEqual([brushed.from, brushed.to], ["2s", "2.5s"]);
});

test("each word can be removed", () => {
  const list = words(place);
  assert.deepEqual(
    list.map(({ kind, value }) => `${kind} ${value}`),
    ["time 1s – end", "live at 1.234s", "thread worker-*", "ignore a", "ignore b", "size 1k..", "below main › f"],
  );
  for (const { without } of list) assert.equal(words(without).length, list.length - 1);
  assert.deepEqual(list[3]?.without.ignore, ["^b$"]);
});

test("a literal pattern matches its name only", () => {
  const name = "operator new[](unsigned long, std::nothrow_t const&) $^|{}?*+.\\";
  assert.ok(new RegExp(literally(name)).test(name));
  assert.ok(!new RegExp(literally("a.c")).test("abc"));
});

test("a question is a command", () => {
  const recording = { id: "2", pid: 7 } as Recording;
  const one = { path: "/tmp/it's.htap", recordings: [recording] } as Run;
  const below = ["m", "f(x)"];
  const values = { from: "1s", metric: ["live", "bytes"], focus: "a b", up: true, rough: "pixel", below };
  assert.equal(
    commandOf(one, recording, "tree", values),
    "heaptap tree --from 1s --metric live,bytes --focus 'a b' --up --below m --below 'f(x)' '/tmp/it'\\''s.htap'",
  );
  assert.equal(
    diffCommandOf(one, recording, { ...values, up: false, nodes: 9, to: "2s" }, { from: undefined, to: "1s" }),
    "heaptap diff --tree --metric live,bytes --focus 'a b' '/tmp/it'\\''s.htap@..1s' @1s..2s",
  );
  const two = { path: "r.htap", recordings: [recording, recording] } as Run;
  assert.equal(commandOf(two, recording, "process", { steps: 4 }), "heaptap timeline --process 7 r.htap");
});
