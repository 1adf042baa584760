import assert from "node:assert/strict";
import { test } from "node:test";
import type { Memory } from "../src/api.ts";
import { decode } from "../src/columns.ts";
import { formatPlace } from "../src/model/place.ts";
import {
  besidePeak,
  changeInWords,
  partChanges,
  placeOfPart,
  readAt,
  between,
  readings,
  residentBars,
  residentInWords,
  residentKinds,
  residentMeanings,
  residentMoment,
  residentOf,
  restMatters,
  type PartOf,
  type Resident,
} from "../src/model/resident.ts";
import { Clock } from "../src/model/clock.ts";
import { residentChangeTask, residentOfMemory } from "../src/net/resident.ts";
import { columns } from "./encode.mjs";

const clock = new Clock({ begin: 0, end: 3e9 });

/** Numbers from 0 to 1, the same in every run. */
function random(seed: number): () => number {
  let state = seed + 1;
  return () => {
    state = (state * 1664525 + 1013904223) % 2 ** 32;
    return state / 2 ** 32;
  };
}

test("the moment of the resident set: the cursor in the range, else the end of the range", () => {
  const run = { begin: 0, end: 10e9, peak: 4e9, marks: new Map() };
  const show = (at: string | undefined, range: { from?: string; to?: string }) => {
    const { title, at: asked } = residentMoment(at, range, run, clock);
    return [title, asked];
  };
  assert.deepEqual(show(undefined, {}), ["at its most", undefined]);
  assert.deepEqual(show("1.5s", {}), ["at 1.500 s", "1.5s"]);
  assert.deepEqual(show("peak", {}), ["at the live peak, 4.000 s", "peak"]);
  assert.deepEqual(show("2s", { from: "1s", to: "3s" }), ["at 2.000 s", "2s"]);
  for (const outside of ["0.5s", "3.5s", undefined]) {
    assert.deepEqual(show(outside, { from: "1s", to: "3s" }), ["at the end of the range, 3.000 s", "3s"]);
  }
  assert.deepEqual(show("0.5s", { from: "1s" }), ["at the end of the range, 10.000 s", "end"]);
  assert.deepEqual(show("11s", { from: "1s" }), ["at 11.000 s", "11s"]); // a run that goes on
  assert.deepEqual(show("a mark", { from: "1s" }), ["at a mark", "a mark"]);
  assert.equal(readAt(965_400_000, undefined, clock), "read at 0.965 s");
  assert.equal(readAt(965_400_000, 965_100_000, clock), "read at 0.965 s");
  assert.equal(readAt(965_400_000, 970_000_000, clock), "read at 0.965 s, 4.60 ms earlier");
  const range = { begin: 0.97e9, end: 2e9 };
  assert.equal(readAt(965_400_000, 970_000_000, clock, range), "read at 0.965 s, 4.60 ms earlier: outside the range");
  assert.equal(readAt(2.5e9, 2e9, clock, range), "read at 2.500 s, 500 ms later: outside the range");
  assert.equal(readAt(1.5e9, 2e9, clock, range), "read at 1.500 s, 500 ms earlier");
  assert.equal(readAt(1.5e9, Infinity, clock, range), "read at 1.500 s"); // of a run that goes on
});

test("parts of the resident set lead to what they consist of", () => {
  const of = [
    { name: "store", hint: "", bytes: 9, function: true, file: "x.c", line: 7 },
    { name: "Python's own pools", hint: "record", bytes: 1, function: false, file: "", line: 0 },
  ];
  const parts = new Map([["live", 10], ["slack", 10], ["mapped", 10]]);
  const resident = residentOf(1.5e9, 30, parts, new Map([["mapped", of]]));
  const [live, slack, mapped] = resident.parts;
  assert.ok(live && slack && mapped);
  const place = (part: typeof live, one?: (typeof of)[number]) => {
    const found = placeOfPart("a", resident, part, one);
    return found && formatPlace(found);
  };
  assert.equal(place(live), "/?recording=a&page=flame&to=1.5s&metric=live");
  assert.equal(place(slack), undefined);
  assert.equal(place(mapped), "/?recording=a&page=flame&metric=mapped-resident");
  assert.equal(place(mapped, of[0]), "/?recording=a&page=table&metric=mapped-resident&picked=store");
  assert.equal(place(mapped, of[1]), undefined);
  assert.deepEqual(Object.keys(residentMeanings), residentKinds);
});

test("the parts of a resident set add up: what has no name is rest", () => {
  const rng = random(3);
  for (let i = 0; i < 200; i++) {
    const parts = new Map<string, number>();
    let sum = 0;
    for (const kind of [...residentKinds, "unheard-of"]) {
      if (rng() < 0.3) continue;
      const n = Math.floor(rng() * 1e9);
      parts.set(kind, n);
      sum += n;
    }
    const resident = residentOf(5, sum, parts);
    assert.equal(resident.parts.reduce((all, { bytes }) => all + bytes, 0), sum);
    const kinds = resident.parts.map(({ kind }) => residentKinds.indexOf(kind));
    assert.deepEqual(kinds, [...kinds].sort((a, b) => a - b));
    for (const { kind, bytes } of resident.parts) {
      assert.ok(bytes > 0 && (kind === "rest" || bytes === parts.get(kind)));
    }
  }
});

test("a resident set much larger than the live blocks is explained by its largest part", () => {
  const words = (parts: Record<string, number>) => {
    const all = Object.values(parts).reduce((sum, n) => sum + n, 0);
    return residentInWords(residentOf(0, all, new Map(Object.entries(parts))));
  };
  assert.match(words({ live: 100, slack: 150, mapped: 90, files: 10 }), /^3.50 times .* free in the .*: freed/);
  assert.match(words({ live: 100, slack: 10, mapped: 90 }), /^2.00 times .* mapped by the program: /);
  assert.equal(words({ live: 100, slack: 49 }), "");
  assert.equal(words({ slack: 49 }), "");
  assert.equal(words({ live: 100 }), "");
});

test("the resident set of an answer", () => {
  const memory = {
    time_ns: 3e9,
    resident_bytes: 100,
    parts: [
      { kind: "live", resident_bytes: 40, size_bytes: 50 },
      { kind: "mapped", resident_bytes: 50, size_bytes: 50 },
      { kind: "rest", resident_bytes: 10, size_bytes: 0 },
    ],
    mappings: [
      { heap: "Python's own pools", hint: "record", stack: 4, resident_bytes: 30 },
      { heap: "", hint: "", stack: 5, resident_bytes: 15 },
      { heap: "", hint: "", stack: 0, resident_bytes: 5 },
      { heap: "", hint: "", stack: 0, resident_bytes: 0 },
    ],
    files: [{ file: "", resident_bytes: 3 }],
    frames: [
      { function: "", file: "", line: 0, module: "/lib/x.so", offset: "0x1" },
      { function: "store", file: "x.c", line: 7, module: "/bin/x", offset: "0x2" },
    ],
  };
  const read = (of: object) => {
    const message = columns(of) as { answer: { mappings: { columns: Record<string, unknown> } } };
    message.answer.mappings.columns["frames"] = { path: [2, 2, 0, 0] };
    const paths = { rows: 3, columns: { parent: [-1, 0, 1], frame: [-1, 1, 0] } };
    return residentOfMemory(decode<Memory>({ ...message, paths }).answer);
  };
  const found = read(memory);
  assert.equal(found?.bytes, 100);
  assert.deepEqual(
    found?.parts.map(({ kind, bytes }) => [kind, bytes]),
    [
      ["live", 40],
      ["mapped", 50],
      ["rest", 10],
    ],
  );
  assert.deepEqual(
    found?.parts[1]?.of.map(({ name, bytes, function: is, file, line }) => [name, bytes, is, file, line]),
    [
      ["Python's own pools", 30, false, "", 0],
      ["store", 15, true, "x.c", 7],
      ["several call stacks", 5, false, "", 0],
    ],
  );
  assert.equal(read({ ...memory, time_ns: null }), undefined);
});

const mapper = (name: string, bytes: number): PartOf => {
  return { name, hint: "", bytes, function: true, file: "x.c", line: 5 };
};

function setAt(seconds: number, parts: Record<string, number>, mappers: PartOf[] = []): Resident {
  const bytes = Object.values(parts).reduce((sum, n) => sum + n, 0);
  return residentOf(seconds * 1e9, bytes, new Map(Object.entries(parts)), new Map([["mapped", mappers]]));
}

test("the change of a resident set adds up, whatever grew and shrank", () => {
  const rng = random(3);
  for (let round = 0; round < 300; round++) {
    const set = (seconds: number) => {
      const mappers = ["a", "b", "c"].filter(() => rng() < 0.6).map((name) => mapper(name, Math.floor(rng() * 500)));
      const mapped = mappers.reduce((sum, { bytes }) => sum + bytes, 0) + Math.floor(rng() * 50);
      const parts: Record<string, number> = { mapped };
      for (const kind of residentKinds) {
        if (kind !== "mapped" && rng() < 0.7) parts[kind] = Math.floor(rng() * 10 ** Math.floor(rng() * 5));
      }
      return setAt(seconds, parts, mappers);
    };
    const change = { begin: set(1), end: set(2) };
    const steps = partChanges(change);
    const sum = steps.reduce((all, { bytes }) => all + bytes, 0);
    const largest = Math.max(...steps.map(({ bytes }) => Math.abs(bytes)));
    assert.ok(Math.abs(change.end.bytes - change.begin.bytes - sum) <= largest / 1000);
    const { bars } = residentBars(change);
    assert.equal(bars[0]?.bytes, change.begin.bytes);
    assert.equal(bars.at(-1)?.bytes, change.end.bytes);
    const named = steps.filter((step) => step.row).map(({ bytes }) => bytes);
    assert.deepEqual(named, [...named].sort((a, b) => b - a));
  }
});

test("what a resident set grew by is named: who mapped it, or which part", () => {
  const begin = setAt(1, { live: 100e6, mapped: 10e6, files: 5e6 }, [mapper("cache", 10e6)]);
  const mapped = { begin, end: setAt(2, { live: 101e6, mapped: 60e6, files: 5e6 }, [mapper("cache", 60e6)]) };
  assert.equal(
    changeInWords(mapped),
    "Resident memory rose by 48.6 MiB, live blocks by 977 KiB: most of the rest is mapped by the program.",
  );
  assert.ok(restMatters(mapped));
  const rows = partChanges(mapped).map(({ bytes, row }) => [row?.of?.name ?? row?.part.kind ?? "others", bytes]);
  assert.deepEqual(rows, [["cache", 50e6], ["live", 1e6]]);
  const alike = { begin, end: setAt(2, { live: 200e6, mapped: 10e6, files: 5e6 }, [mapper("cache", 10e6)]) };
  assert.ok(!restMatters(alike));
  assert.equal(changeInWords(alike), "Resident memory rose by 95.4 MiB, live blocks by 95.4 MiB.");
  const still = { begin, end: setAt(2, { live: 100e6, mapped: 8e6, files: 7e6 }) };
  assert.equal(changeInWords(still), "Resident memory and live blocks did not change.");
  const other = { begin, end: setAt(2, { live: 102e6, mapped: 8e6, files: 5e6 }) };
  assert.match(changeInWords(other), /^Resident memory did not change, and live blocks rose by 1.91 MiB/);
  const lone = { begin, end: setAt(2, { live: 100e6, mapped: 10e6, files: 9e6 }) };
  assert.match(changeInWords(lone), /^Resident memory rose by 3.81 MiB, while live blocks did not change: /);
  const slack = { begin, end: setAt(2, { live: 50e6, slack: 70e6, mapped: 10e6, files: 5e6 }) };
  assert.equal(
    changeInWords(slack),
    "Resident memory rose by 19.1 MiB, while live blocks fell by 47.7 MiB: " +
      "most of the rest is free in the allocator, and slack.",
  );
  const spread = { begin, end: setAt(2, { live: 100e6, slack: 9e6, stacks: 8e6, mapped: 18e6, files: 13e6 }) };
  assert.match(changeInWords(spread), /: the largest part of the rest is free in the allocator, and slack\.$/);
});

test("a resident set that was read once near a range does not say what changed", () => {
  const once = setAt(5, { live: 10e6 });
  assert.match(changeInWords({ begin: once, end: once }), /^Resident memory was read only once near this range/);
  assert.ok(!restMatters({ begin: once, end: once }));
  assert.equal(
    readings({ begin: once, end: once }, { begin: 1e9, end: 2e9 }, clock),
    "Read at 5.000 s (4.00 s later: outside the range).",
  );
  const change = { begin: setAt(1.2, {}), end: setAt(2.0, {}) };
  assert.equal(readings(change, { begin: 1e9, end: 2e9 }, clock), "Read at 1.200 s (200 ms later) and at 2.000 s.");
  assert.equal(between(change, { begin: 1e9, end: 2e9 }, clock), "Between 1.200 s and 2.000 s, ");
  assert.equal(between(change, { begin: 1.2e9, end: 2e9 }, clock), "");
});

test("the readings nearest to both ends are asked for", async () => {
  const asked: string[] = [];
  const empty = { resident_bytes: 7, parts: [], mappings: [], files: [], frames: [] };
  const ask = (time: number | null) => (path: string) => {
    asked.push(path);
    return Promise.resolve(columns({ ...empty, time_ns: time }));
  };
  const change = await residentChangeTask("1", { from: "2s" }).run(ask(3e9));
  assert.deepEqual(asked, ["r/1/memory?at=2s", "r/1/memory?at=end"]);
  assert.deepEqual([change?.begin.bytes, change?.end.atNs], [7, 3e9]);
  assert.equal(await residentChangeTask("1", {}).run(ask(null)), undefined);
});

test("the largest set whose parts were read is told beside the peak, which the page says already", () => {
  const read = { atNs: 28.972e9, bytes: 96e6 };
  const after = besidePeak(read, { atNs: 8.972e9, bytes: 100e6 });
  assert.equal(after, "read 20.0 s after the resident peak, at 96.0 % of it");
  assert.match(besidePeak(read, { atNs: 29.272e9, bytes: 100e6 }), /^read 300 ms before the resident peak/);
  assert.equal(besidePeak(read, { atNs: read.atNs, bytes: 96e6 }), "");
  assert.equal(besidePeak(read, { atNs: undefined, bytes: 96e6 }), "");
});
