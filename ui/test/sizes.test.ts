import assert from "node:assert/strict";
import { test } from "node:test";
import type { Hist } from "../src/api.ts";
import { Lists } from "../src/columns.ts";
import { clockOf } from "../src/model/clock.ts";
import { commandOf } from "../src/model/commands.ts";
import { home, type Place } from "../src/model/place.ts";
import {
  ageFilter,
  ageName,
  before,
  cellOf,
  cellText,
  choiceOf,
  describe,
  flameOf,
  heatWords,
  isChosen,
  labelled,
  rowTotal,
  sizeFilter,
  sizeMetricOf,
  sizeName,
  sizesOf,
  slackShare,
  stepTo,
  strengthOf,
  strongest,
  summaryOf,
  toggled,
  type Class,
} from "../src/model/sizes.ts";

const numbers = (...list: number[]) => Float64Array.from(list);

/** The columns of rows that are given as lists. */
function columns(names: readonly string[], rows: readonly (readonly number[])[]): Record<string, unknown> {
  const of = names.map((name, i) => [name, numbers(...rows.map((row) => row[i] ?? 0))]);
  return { rows: rows.length, ...Object.fromEntries(of) };
}

/** A heat map of rows with their bounds and cells. */
function heat(down: readonly [number, number, number[], number[]][], across: readonly [number, number][], never = -1) {
  const lists = (of: number[][]) => {
    let end = 0;
    return new Lists(Int32Array.from(of.map((list) => (end += list.length))), numbers(...of.flat()));
  };
  return {
    down: {
      ...columns(["min", "max"], down.map(([min, max]) => [min, max])),
      never: Uint8Array.from(down.map((_, i) => (i === never ? 1 : 0))),
      counts: lists(down.map((row) => row[2])),
      bytes: lists(down.map((row) => row[3])),
      in_place: lists(down.map((row) => row[2].map((n) => n - 1))),
    },
    across: { ...columns(["min", "max"], across), never: new Uint8Array(across.length) },
  };
}

const bounds = ["min", "max", "count", "bytes"];
const answer = {
  allocations: 112,
  deallocations: 90,
  sizes: columns(bounds, [[0, 0, 2, 0], [16, 31, 100, 2400], [64, 127, 10, 1000]]),
  live: columns(bounds, [[16, 31, 12, 300]]),
  slack: columns(["min", "max", "count", "requested", "slack"], [[16, 31, 100, 2400, 3600]]),
  exact: columns(["size", "count", "slack"], [[24, 100, 3600], [100, 10, 40]]),
  more_sizes: 3,
  other_sizes: 0,
  lifetimes_ns: columns(bounds, [[64, 127, 90, 2000]]),
  never_freed: { count: 22, bytes: 1400 },
  percentiles: columns(["percent", "size"], [[50, 24], [90, 24], [99, 100]]),
  reallocations: { count: 7, in_place: 2 },
  heat: {
    time: heat([[16, 31, [60, 40], [1440, 960]], [32, 63, [0, 0], [0, 0]], [64, 127, [0, 10], [0, 1000]]],
      [[0, 500_000_000], [500_000_000, 1_000_000_000]]),
    lifetime: heat([[64, 127, [80, 10], [1900, 100]], [0, 0, [20, 2], [1300, 100]]], [[16, 31], [32, 63]], 1),
    reallocs: heat([[16, 31, [3, 4], [50, 60]]], [[32, 63], [64, 127]]),
  },
} as unknown as Hist;
const sizes = sizesOf(answer);
const [byTime, byLife, byMove] = sizes.heats;
assert.ok(byTime && byLife && byMove);
const clock = clockOf(1e9, undefined);

test("classes have what each part of the answer says, also those between them that count nothing", () => {
  assert.deepEqual(sizes.sizes.map(({ min, max, allocations }) => [min, max, allocations]),
    [[0, 0, 2], [16, 31, 100], [32, 63, 0], [64, 127, 10]]);
  const { live, liveBlocks, slack, slackOf } = sizes.sizes[1] ?? assert.fail();
  assert.deepEqual([live, liveBlocks, slack, slackOf], [300, 12, 3600, 2400]);
  assert.equal(slackShare(sizes.sizes[1] ?? assert.fail()), "150 %");
  assert.deepEqual(sizes.lifetimes.map(({ count, never }) => [count, never]), [[90, false], [22, true]]);
  assert.equal(sizes.bytes, 3400);
  assert.equal(
    summaryOf(sizes),
    "112 allocations of 3.32 KiB · half are at most 24 B, 90 % 24 B, 99 % 100 B · " +
      "slack 3.52 KiB, 150 % of what was asked for",
  );
});

test("classes are named as the terminal names them, and are filters", () => {
  const of = (min: number, max: number, never = false): Class => ({ min, max, never });
  const named: [number, number, string, string][] = [
    [0, 0, "0 B", "0"], [1, 1, "1 B", "1"], [16, 31, "16 to 31 B", "16..31"],
    [512, 1023, "512 to 1023 B", "512..1023"], [1024, 2047, "1 to <2 KiB", "1024..2047"],
    [524288, 1048575, "512 KiB to <1 MiB", "524288..1048575"], [2 ** 63, 2 ** 64, "8 EiB or more", `${2 ** 63}..`],
  ];
  for (const [min, max, name, filter] of named) {
    assert.equal(sizeName({ min, max }), name);
    assert.equal(sizeFilter({ min, max }), filter);
  }
  assert.deepEqual([ageName(of(0, 0)), ageFilter(of(0, 0))], ["0 ns", "0ns..0ns"]);
  assert.deepEqual([ageName(of(1024, 2047)), ageFilter(of(1024, 2047))], ["1.02 to 2.05 µs", "1024ns..2047ns"]);
  assert.deepEqual([ageName(of(512, 1023)), ageFilter(of(512, 1023))], ["512 ns to 1.02 µs", "512ns..1023ns"]);
  assert.deepEqual([ageName(of(0, 0, true)), ageFilter(of(0, 0, true))], ["never freed", "never"]);
});

test("a bar and a cell are filters, and a second click takes them away", () => {
  const place: Place = { ...home, recording: "1", page: "sizes", size: "1..", from: "10%" };
  const choice = choiceOf(byTime, 0, 1);
  assert.deepEqual(choice, { size: "16..31", from: "500ms", to: "1s" });
  assert.deepEqual(choiceOf(byLife, 1, 0), { lifetime: "never", size: "16..31" });
  assert.deepEqual(choiceOf(byMove, 0, 1), { "old-size": "16..31", size: "64..127" });
  assert.deepEqual(choiceOf(byMove, 9, 9), {});
  assert.ok(!isChosen(place, choice) && !isChosen(place, {}));
  const chosen = { ...place, ...toggled(place, choice) };
  assert.ok(isChosen(chosen, choice));
  assert.deepEqual(toggled(chosen, choice), { size: undefined, from: undefined, to: undefined });
  assert.deepEqual(before(place, choice), { size: "1..", from: "10%", to: undefined });
  const flame = flameOf({ ...chosen, order: "bytes" }, { lifetime: "never" }, "bytes");
  assert.deepEqual([flame.page, flame.metric, flame.size, flame.lifetime, flame.order],
    ["flame", ["bytes"], "16..31", "never", undefined]);
  assert.equal(sizeMetricOf({ ...place, order: "slack" }), "slack");
  assert.equal(sizeMetricOf({ ...place, order: "age" }), "allocations");
});

test("heat maps: cells, their sums, how strong they are, and what is said of them", () => {
  assert.deepEqual(cellOf(byMove, 0, 1), { count: 4, bytes: 60, inPlace: 3 });
  assert.deepEqual([byTime.least, byTime.most, byTime.total], [10, 60, 110]);
  assert.deepEqual([0, 1, 2].map((down) => rowTotal(byTime, down)), [100, 0, 10]);
  assert.deepEqual(strongest(byTime), { down: 0, across: 0 });
  assert.deepEqual([strengthOf(byTime, 0), strengthOf(byTime, 60)], [0, 1]);
  assert.ok(strengthOf(byTime, 10) > 0.1 && strengthOf(byTime, 40) > strengthOf(byTime, 10));
  assert.equal(strengthOf({ ...byTime, least: 5, most: 5 }, 5), 1);
  const text = (one: typeof byTime, down: number, across: number) =>
    cellText(one, heatWords(one.kind, clock), down, across);
  assert.equal(text(byTime, 2, 1), "64 to 127 B, at 0.500 s – end: 10 allocations, 9.1 %, 1,000 B");
  assert.equal(text(byLife, 1, 0), "never freed, 16 to 31 B: 20 blocks, 17.9 %, 1.27 KiB");
  assert.equal(text(byMove, 0, 0), "from 16 to 31 B to 32 to 63 B: 3 reallocations, 42.9 %, 2 in place, 50 B copied");
  assert.equal(text(byTime, 7, 7), "");
  assert.match(describe(byLife, heatWords("lifetime", clock)), /^Rows are lifetime from 64 to 127 ns to never freed/);
});

test("keys lead from cell to cell and not beyond", () => {
  const at = { down: 1, across: 1 };
  const to = (key: string) => stepTo(at, key, byTime);
  assert.deepEqual(to("ArrowUp"), { down: 0, across: 1 });
  assert.deepEqual(to("ArrowRight"), at);
  assert.deepEqual(to("Home"), { down: 1, across: 0 });
  assert.deepEqual(to("PageDown"), { down: 2, across: 1 });
  assert.equal(to("a"), undefined);
});

test("labels of columns do not overlap", () => {
  assert.deepEqual(labelled(3, 50, 40), [0, 1, 2]);
  assert.deepEqual(labelled(60, 10, 95), [0, 10, 20, 30, 40, 50]);
  assert.deepEqual(labelled(7, 1, 400), [0]);
  assert.deepEqual(labelled(0, 10, 10), []);
});

test("the command prints what the page shows", () => {
  const recording = { id: "1", pid: 7 };
  const run = { path: "a b.htap", recordings: [recording] };
  const values = { size: "16..31", heat: ["time", "lifetime"], limit: 20 };
  const command = commandOf(run as never, recording as never, "hist", values);
  assert.equal(command, "heaptap hist --size 16..31 --heat time,lifetime --limit 20 " +
    "--show sizes,exact,lifetimes,slack 'a b.htap'");
});
