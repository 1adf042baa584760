import assert from "node:assert/strict";
import { test } from "node:test";
import type { Recording, Run } from "../src/model/answers.ts";
import { percentText, signedText } from "../src/model/changes.ts";
import { clockOf } from "../src/model/clock.ts";
import {
  comparisonOf,
  diffCommand,
  lacking,
  metricsFor,
  nameOfRun,
  sidesOf,
} from "../src/model/compare.ts";
import { sideInWords, swapped } from "../src/model/compare-words.ts";
import { formatPlace, home, parsePlace, type Place } from "../src/model/place.ts";
import { scaleOf } from "../src/model/table.ts";

const at = (more: Partial<Place> = {}): Place => ({ ...home, recording: "b", compare: true, ...more });
const recording = (id: string, pid: number) => ({ id, pid, command: "./server" }) as Recording;
const run = (path: string, ...recordings: Recording[]) => ({ path, recordings }) as Run;
const runs = [
  run("/x/old.htap", recording("a", 7)),
  run("/x/new.htap", recording("b", 8)),
  run("/x/many it's", recording("c", 9), recording("d", 10)),
];
const shown = runs[1]!;
const recordingShown = shown.recordings[0]!;
const clock = clockOf(5e9, undefined);

test("what is compared: other recordings, a second range, or the ends of one", () => {
  assert.equal(comparisonOf(at()), undefined);
  assert.match(lacking(at()) ?? "", /select a range on the timeline.*recording at the left/);
  assert.equal(comparisonOf(at({ compare: false, with: ["a"] })), undefined);
  assert.equal(lacking(at({ with: ["a"] })), undefined);
  const moments = comparisonOf(at({ from: "1s", to: "2s" }));
  assert.deepEqual([moments?.before.to, moments?.after.to, moments?.moments], ["1s", "2s", true]);
  assert.deepEqual(metricsFor(moments!, ["bytes", "live-blocks"]), ["live-blocks", "live"]);
  const dragged = comparisonOf(at({ from: "1s", to: "2s" }), { from: "3s", to: "4s" });
  assert.equal(dragged?.after.to, "4s");
  const ranges = comparisonOf(at({ from: "1s", to: "2s", to2: "1s" }));
  assert.deepEqual(ranges?.before, { from: undefined, to: "1s" });
  assert.deepEqual(metricsFor(ranges!, ["bytes"]), ["bytes"]);
});

test("the parameters and the command of a comparison", () => {
  const place = at({ with: ["a", "c"], also: ["d"], from: "1s", to2: "50%", scale: true });
  const compared = comparisonOf(place)!;
  const sides = sidesOf(place, compared, { from: "1s", focus: ["f g"] });
  const want = { focus: ["f g"], with: ["a", "c"], also: ["d"], to2: "50%", from: "1s", scale: true };
  assert.deepEqual(sides, want);
  assert.equal(
    diffCommand(runs, shown, recordingShown, compared, { ...sides, by: "stack", metric: ["peak", "bytes"] }),
    "heaptap diff --focus 'f g' --scale --by stack --metric peak,bytes " +
      "/x/old.htap@..50% '/x/many it'\\''s#9@..50%' -- '/x/many it'\\''s#10@1s..' /x/new.htap@1s..",
  );
  const two = comparisonOf(at({ from: "1s", from2: "0s", to2: "1s" }))!;
  assert.equal(
    diffCommand(runs, shown, recordingShown, two, { limit: 10_000, tree: true }),
    "heaptap diff --limit 0 --tree /x/new.htap@0s..1s /x/new.htap@1s..",
  );
});

test("sides in words, and exchanged", () => {
  assert.equal(nameOfRun(runs, "a"), "old.htap");
  assert.equal(nameOfRun(runs, "d"), "many it's, ./server 10");
  assert.equal(sideInWords(runs, ["a"], { from: "1s" }, clock), "old.htap, 1.00 s – end");
  assert.equal(sideInWords(runs, ["a", "b", "c"], {}, clock), "3 runs: old.htap, …");
  const place = at({ with: ["a", "c"], also: ["d"], from: "1s" });
  const other = { ...place, ...swapped(place) };
  assert.deepEqual([other.recording, other.also, other.with, other.from2], ["a", ["c"], ["b", "d"], "1s"]);
  const again = { ...other, ...swapped(other) };
  assert.deepEqual([again.recording, again.with, again.also, again.from], ["b", ["a", "c"], ["d"], "1s"]);
});

test("a comparison is in the address, also as older links say it", () => {
  const place = at({ with: ["a"], from2: "1s", scale: true });
  assert.equal(formatPlace(place), "/?recording=b&from2=1s&with=a&compare&scale");
  assert.deepEqual(parsePlace(formatPlace(place).slice(1)), place);
  const old = parsePlace("?recording=b&page=flame&from=1s&from2=0s&shape=difference");
  assert.deepEqual([old.compare, old.shape], [true, undefined]);
});

test("changes have signs", () => {
  const scale = scaleOf("bytes", 4 << 20);
  assert.deepEqual([2 << 20, -(1 << 20), 0].map((n) => signedText(scale, n)), ["+2.00", "−1.00", "0"]);
  const all = [[0, 0], [0, 1], [1, 0], [100, 150], [200, 100], [1e6, 1e6 + 1], [1, 200]] as const;
  assert.deepEqual(
    all.map(([a, b]) => percentText(a, b)),
    ["", "new", "gone", "+50.0 %", "−50.0 %", "+<0.1 %", "×200"],
  );
});
