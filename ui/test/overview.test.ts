import assert from "node:assert/strict";
import { test } from "node:test";
import type { About, Insights, Report, Top } from "../src/api.ts";
import { decode } from "../src/columns.ts";
import {
  around,
  metricPart,
  mostMetric,
  mostMetrics,
  nextMetric,
  partOf,
  placeOfInsight,
  wholeProcess,
  wholeRun,
} from "../src/model/overview.ts";
import { formatPlace, placeOf } from "../src/model/place.ts";
import {
  figuresOf,
  insightsOf,
  mostOf,
  mostQuestion,
  placesQuestion,
} from "../src/net/overview.ts";
import { columns } from "./encode.mjs";

test("what ignores the range and the filters says so", () => {
  const notes = [{}, { from: "1s" }, { focus: ["f"] }, { to: "1s", thread: ["a"] }].map((f) => [
    wholeRun(f),
    wholeProcess(f),
  ]);
  assert.deepEqual(notes, [
    ["", ""],
    ["of the whole run: the range does not apply", ""],
    ["of the whole run: the filters do not apply", "of the whole process: the filters do not apply"],
    ["of the whole run: the range and the filters do not apply", "of the whole process: the filters do not apply"],
  ]);
});

test("sentences: their values are written as everywhere on the page, and lead to the evidence", () => {
  const show = { page: "flame", metric: "live", from: "1s", to: "2.5s", focus: "^f$" };
  const one = {
    rule: "growth",
    name: "f",
    file: "/src/f.cc",
    line: 8,
    module: "/bin/x",
    saves: 2048,
    unit: "bytes",
    measured: true,
    confidence: 0.9,
    says: [{ part: " keeps growing: ", value: 0, unit: "" }, { part: "", value: 60, unit: "bytes/s" }],
    how: [{ part: "measured", value: 0, unit: "" }],
    show,
  };
  const other = { ...show, page: "leaks", focus: "" };
  const two = { ...one, rule: "mappings", unit: "ns", saves: 2e9, says: [], show: other };
  const found = insightsOf(decode<Insights>(columns({ insights: [one, two] })).answer);
  assert.deepEqual(
    found.map(({ saves, says, basis, measured }) => {
      return [saves.text, says.map((p) => p.text).join(""), basis.length, measured];
    }),
    [
      ["2.00 KiB", " keeps growing: 3.52 KiB per minute", 1, true],
      ["2.00 s", "", 1, true],
    ],
  );
  assert.deepEqual(
    found.map((insight) => formatPlace(placeOfInsight("a", insight))),
    [
      "/?recording=a&page=flame&from=1s&to=2.5s&focus=%5Ef%24&picked=f",
      "/?recording=a&page=leaks&from=1s&to=2.5s",
    ],
  );
  // A metric is in the place only if the page would not count it by itself.
  const metricOf = (parts: object) => placeOfInsight("a", { ...found[0]!, show: { ...show, ...parts } }).metric;
  assert.deepEqual(metricOf({ metric: "temporary" }), ["temporary"]);
  assert.deepEqual(metricOf({ from: "", to: "" }), ["live"]);
  const values: [number, string, string, string | undefined][] = [
    [1536, "bytes", "1.50 KiB", "1,536 bytes"],
    [0.5, "bytes/s", "1.76 KiB per hour", "1 bytes per second"],
    [1_234_567, "count", "1.23 M", "1,234,567"],
    [1.5e9, "ns", "1.50 s", "1,500,000,000 ns"],
    [0.375, "share", "37.5 %", undefined],
  ];
  for (const [value, unit, text, exact] of values) {
    assert.deepEqual(partOf("", value, unit), exact === undefined ? { text } : { text, exact });
  }
  assert.deepEqual(partOf("so", 0, ""), { text: "so" });
  assert.equal(partOf("", 1.5e9, "time").atNs, 1.5e9); // how it is written depends on the run
});

test("the functions with the most: the metric sorts, library frames are folded unless they are wanted", () => {
  const question = mostQuestion("bytes", { hide: ["x"] }, false, true);
  assert.deepEqual(question.parameters.metric?.slice(0, 2), ["bytes", "peak"]);
  assert.ok(!question.parameters.metric?.includes("leaked") && question.parameters.rough === "pixel");
  assert.deepEqual([question.parameters.hide, question.parameters.fold], [["x"], true]);
  assert.equal(mostQuestion("leaked", {}, true, false).parameters.fold, undefined);
  const group = (name: string, offset = "", unknown = false) => {
    return { unknown, function: name, module: "/bin/x", offset, file: "", line: 0 };
  };
  const rows = [
    { group: group("f"), self: { bytes: 300, peak: 3 }, total: { bytes: 500 } },
    { group: group("", "0x12"), self: { bytes: 200, peak: null }, total: { bytes: 200 } },
    { group: group("", "", true), self: { bytes: 100, peak: 1 }, total: { bytes: 100 } },
    { group: group("main"), self: { bytes: 0, peak: 0 }, total: { bytes: 900 } },
  ];
  const most = mostOf("bytes", decode<Top>(columns({ rows, total: { bytes: 600 }, more: 7 })).answer);
  assert.deepEqual(
    most.rows.map(({ name, values, withCallees }) => [name, values.bytes, withCallees]),
    [
      ["f", 300, 500],
      ["x+0x12", 200, 200],
      ["libraries alone, or unknown", 100, 100],
    ],
  );
  assert.deepEqual([most.total, most.more], [600, 8]);
  assert.equal(metricPart("peak", most.rows[1]?.values.peak).text, "–");
  assert.equal(metricPart("allocations", 12345).text, "12.3 k");
  const lines = [
    { group: { function: "f", file: "/y.cc", line: 1, module: "/bin/y" } },
    { group: { function: "f", file: "/f.cc", line: 8, module: "/bin/x" } },
    { group: { function: "f", file: "/f.cc", line: 9, module: "/bin/x" } },
  ];
  const places = placesQuestion("bytes", {}, false, false).read(decode<Top>(columns({ rows: lines })).answer);
  assert.deepEqual(places.get(JSON.stringify(["f", "/bin/x"])), { file: "/f.cc", line: 8 });
});

test("the next metric is each once, then the first again", () => {
  const seen = new Set<string>();
  let metric = mostMetric(placeOf("a"), {});
  for (; !seen.has(metric); metric = nextMetric(metric)) seen.add(metric);
  assert.deepEqual([seen.size, metric], [mostMetrics.length, "peak"]);
});

test("the metric of the table is the place's, else what the range suggests", () => {
  assert.equal(mostMetric(placeOf("a"), {}), "peak");
  assert.equal(mostMetric(placeOf("a"), { from: "1s" }), "live");
  assert.equal(mostMetric({ ...placeOf("a"), metric: ["temporary"] }, { from: "1s" }), "temporary");
  assert.equal(mostMetric({ ...placeOf("a"), metric: ["slack"] }, {}), "peak");
});

const about = { sampled: false, merged: false, folded: false, growing: false, lacks: [] };
const report = {
  recording: { damage: ["block 7 is damaged"], complete: false, folded_ns: 0 },
  lost_events: 1200,
  truncated_stacks: 1,
  totals: { events: 20, bytes: 1000, allocations: 10 },
  temporary: { allocations: null },
  peak: { bytes: 500, blocks: 5, time_ns: 2e9 },
  leaked: { bytes: 50, blocks: 1, runtime_bytes: 7, runtime_blocks: 1 },
  resident: null,
  samples: { peak_rss_bytes: 4096, peak_rss_time_ns: 1e9 },
};

function figures(a: object, r: object) {
  return figuresOf(decode<About>(columns(a)).answer, decode<Report>(columns(r)).answer);
}

test("the figures of a recording, and what is wrong with it", () => {
  const lacks = [{ what: "addresses", why: "not recorded", flag: "--addresses" }];
  assert.deepEqual(figures({ ...about, lacks }, report), {
    counted: false,
    live: { bytes: 500, atNs: 2e9, blocks: 5 },
    resident: { bytes: 4096, atNs: 1e9 },
    leaked: { bytes: 50, blocks: 1, runtime: 7, running: false },
    allocated: { bytes: 1000, allocations: 10 },
    temporary: undefined,
    gaps: [{ question: "addresses", why: "not recorded", remedy: "--addresses" }],
    warnings: [
      "block 7 is damaged",
      "The recording has no end: the recorder was stopped, or still writes it.",
      "1,200 events were lost: numbers are too low.",
      "1 call stack was cut: its outermost frames are missing.",
    ],
  });
});

test("estimates, folded events and sums are marked as such", () => {
  const recording = { damage: [], complete: true, folded_ns: 5e9 };
  const whole = { ...report, recording, lost_events: 0, truncated_stacks: 0 };
  const sampling = { mean_bytes: 524288, samples: 1234 };
  const found = figures({ ...about, sampled: true, folded: true, merged: true }, { ...whole, sampling });
  assert.deepEqual(found.warnings, [
    "Numbers are estimates from 1,234 samples, on average one for each 512 KiB.",
    "Events before 5.00 s were folded into sums: their threads and order are not known.",
  ]);
  assert.equal(found.live?.atNs, undefined);
  assert.deepEqual(figures(about, whole).warnings, []);
});

test("of counted calls only the allocations are known", () => {
  const counts = [
    { function: "malloc", frees: false, calls: 3, bytes: 300 },
    { function: "free", frees: true, calls: 2, bytes: 0 },
    { function: "calloc", frees: false, calls: 1, bytes: 50 },
  ];
  const found = figures(about, { ...report, totals: { events: 0, bytes: 0, allocations: 0 }, counts });
  assert.equal(found.counted, true);
  assert.deepEqual(found.allocated, { bytes: 350, allocations: 4 });
  assert.deepEqual([found.live, found.leaked, found.temporary], [undefined, undefined, undefined]);
});

test("a long list of processes is cut around the one that is shown", () => {
  const nodes = Array.from({ length: 30 }, (_, i) => ({ id: `p${i}`, parent: i === 0 ? undefined : "p0" }));
  for (const [id, first, last] of [
    ["p0", "p0", "p7"],
    ["p15", "p11", "p18"],
    ["p29", "p22", "p29"],
    ["none", "p0", "p7"],
  ] as const) {
    const { rows, left } = around(nodes, id, 8);
    assert.deepEqual([rows[0]?.node.id, rows.at(-1)?.node.id, rows.length, left], [first, last, 8, 22]);
  }
  assert.equal(around(nodes.slice(0, 3), "p1", 8).left, 0);
});
