import assert from "node:assert/strict";
import { test } from "node:test";
import type { About, Insights, Memory, Report, Rise as RiseAnswer, Top } from "../src/api.ts";
import { decode } from "../src/columns.ts";
import {
  around,
  explanation,
  isFlat,
  metricPart,
  mostMetric,
  mostMetrics,
  nextMetric,
  partOf,
  placeOfInsight,
  placeOfPart,
  readAt,
  residentKinds,
  residentInWords,
  residentMeanings,
  residentMoment,
  residentOf,
  riseTitle,
  signed,
  waterfall,
  wholeProcess,
  wholeRun,
  type Rise,
} from "../src/model/overview.ts";
import { formatPlace, placeOf } from "../src/model/place.ts";
import {
  figuresOf,
  insightsOf,
  mostOf,
  mostQuestion,
  placesQuestion,
  residentOfMemory,
  riseQuestion,
} from "../src/net/overview.ts";
import { columns } from "./encode.mjs";

/** Numbers from 0 to 1, the same in every run. */
function random(seed: number): () => number {
  let state = seed + 1;
  return () => {
    state = (state * 1664525 + 1013904223) % 2 ** 32;
    return state / 2 ** 32;
  };
}

const code = { name: "f", file: "/src/f.cc", line: 8, module: "/bin/x" };

function riseOf(begin: number, changes: number[], grown = 0, shrunk = 0): Rise {
  const end = changes.reduce((sum, n) => sum + n, begin + grown - shrunk);
  const rows = changes.map((bytes) => ({ code, bytes, blocks: 1 }));
  return { beginNs: 0, endNs: 1e9, begin, end, rows, others: { groups: grown || shrunk ? 3 : 0, grown, shrunk } };
}

test("a waterfall adds up, whatever grew and shrank", () => {
  const rng = random(7);
  let cuts = 0;
  for (let i = 0; i < 500; i++) {
    const begin = Math.floor(rng() * 1e6);
    const up = Array.from({ length: Math.floor(rng() * 5) }, () => 1 + Math.floor(rng() * 1e5));
    const down = rng() < 0.5 ? [] : [-Math.floor(rng() * (begin / 4))];
    const rise = riseOf(begin, [...up.sort((a, b) => b - a), ...down], Math.floor(rng() * 100), Math.floor(rng() * 50));
    const { bars, cut } = waterfall(rise);
    if (cut) cuts++;
    assert.deepEqual([bars[0]?.kind, bars.at(-1)?.kind], ["begin", "end"]);
    // The bars tell the levels: each begins where the one before ended.
    const first = bars[0]?.to ?? 0;
    let at = first;
    let level = rise.begin;
    for (const bar of bars.slice(1, -1)) {
      assert.ok(bar.from >= -1e-9 && bar.to <= 1 + 1e-9 && bar.from <= bar.to, JSON.stringify(bar));
      const [start, end] = bar.bytes < 0 ? [bar.to, bar.from] : [bar.from, bar.to];
      assert.ok(Math.abs(start - at) < 1e-9, `${start} does not follow ${at}`);
      at = end;
      level += bar.bytes;
    }
    assert.equal(level, rise.end);
    assert.ok(Math.abs((bars.at(-1)?.to ?? 0) - at) < 1e-9);
    assert.ok(Math.max(...bars.map(({ to }) => to)) > 0.999 || rise.begin + rise.end === 0);
  }
  assert.ok(cuts > 20 && cuts < 480, `${cuts} axes are cut`);
});

test("an axis is cut only if the changes are small beside the levels", () => {
  assert.equal(waterfall(riseOf(0, [10])).cut, false);
  assert.equal(waterfall(riseOf(1000, [1000])).cut, false);
  assert.equal(waterfall(riseOf(1000, [10])).cut, true);
  assert.equal(waterfall(riseOf(0, [])).bars.length, 2);
  assert.equal(waterfall(riseOf(1000, [10])).bars.every(({ to }) => to >= 0 && to <= 1), true);
});

test("what is flat is not explained", () => {
  assert.equal(isFlat(riseOf(30_000_000, [15])), true);
  assert.equal(isFlat(riseOf(30_000_000, [])), true);
  assert.equal(isFlat(riseOf(0, [])), true);
  assert.equal(isFlat(riseOf(0, [15])), false);
  assert.equal(isFlat(riseOf(1000, [15])), false);
  // Much came, and as much went.
  assert.equal(isFlat(riseOf(30_000_000, [5_000_000, -5_000_000])), false);
  assert.equal(isFlat(riseOf(30_000_000, [], 5_000_000, 5_000_000)), false);
  const titles = [riseOf(0, [15]), riseOf(90, [-15]), riseOf(90_000, [15]), undefined].map((r) => riseTitle(r, true));
  assert.deepEqual(titles, ["Explain this rise", "Explain this fall", "What changed", "Explain this rise"]);
  assert.equal(riseTitle(riseOf(0, [15]), false), "What rose to the peak");
});

test("the moment of the resident set: the cursor in the range, else the end of the range", () => {
  const run = { begin: 0, end: 10e9, peak: 4e9, marks: new Map() };
  const show = (at: string | undefined, range: { from?: string; to?: string }) => {
    const { title, at: asked } = residentMoment(at, range, run);
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
  assert.equal(readAt(965_400_000, undefined), "read at 0.965 s");
  assert.equal(readAt(965_400_000, 965_100_000), "read at 0.965 s");
  assert.equal(readAt(965_400_000, 970_000_000), "the nearest reading: 0.965 s");
});

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
  assert.equal(place(mapped), "/?recording=a&page=table&metric=mapped-resident");
  assert.equal(place(mapped, of[0]), "/?recording=a&page=table&metric=mapped-resident&picked=store");
  assert.equal(place(mapped, of[1]), undefined);
  assert.deepEqual(Object.keys(residentMeanings), residentKinds);
});

test("how much of a rise is named", () => {
  const text = (rise: Rise) => explanation(rise, waterfall(rise).explained);
  assert.equal(text(riseOf(0, [80], 20)), "80.0 % from one place");
  assert.equal(text(riseOf(0, [80, 16], 5, 1)), "96.0 % from 2 places");
  assert.equal(text(riseOf(0, [80, 20])), "all from 2 places");
  assert.equal(text(riseOf(0, [80], 0, 60)), "one place changed most");
  assert.equal(text(riseOf(100, [-80], 0, 20)), "80.0 % from one place");
  assert.equal(text(riseOf(5, [])), "");
  assert.deepEqual([signed(2048), signed(-2048), signed(0)], ["+2.00 KiB", "−2.00 KiB", "±0 B"]);
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
      "/?recording=a&page=flame&from=1s&to=2.5s&metric=live&focus=%5Ef%24&picked=f",
      "/?recording=a&page=leaks&from=1s&to=2.5s",
    ],
  );
  const values: [number, string, string, string | undefined][] = [
    [1536, "bytes", "1.50 KiB", "1,536 bytes"],
    [0.5, "bytes/s", "1.76 KiB per hour", "1 bytes per second"],
    [1_234_567, "count", "1.23 M", "1,234,567"],
    [1.5e9, "time", "1.50 s", "1,500,000,000 ns"],
    [0.375, "share", "37.5 %", undefined],
  ];
  for (const [value, unit, text, exact] of values) {
    assert.deepEqual(partOf("", value, unit), exact === undefined ? { text } : { text, exact });
  }
  assert.deepEqual(partOf("so", 0, ""), { text: "so" });
});

test("the rise of an answer", () => {
  const answer = {
    range: { begin_ns: 1e9, span_ns: 2e9 },
    begin_bytes: 100,
    end_bytes: 90,
    rows: [
      { function: "f", file: "/f.cc", line: 3, module: "/bin/x", bytes: 20, blocks: 2 },
      { function: "h", file: "", line: 0, module: "/bin/x", bytes: 8, blocks: 1 },
      { function: "f", file: "/f.cc", line: 3, module: "/bin/x", bytes: -4, blocks: 1 },
      { function: "g", file: "", line: 0, module: "/bin/x", bytes: -44, blocks: -1 },
    ],
    others: { groups: 4, grown_bytes: 12, shrunk_bytes: 2 },
  };
  const question = riseQuestion({ from: "1s" }, true);
  assert.deepEqual(question.parameters, { from: "1s", limit: 8, rough: "pixel" });
  const rise = question.read(decode<RiseAnswer>(columns(answer)).answer);
  assert.deepEqual([rise.beginNs, rise.endNs, rise.begin, rise.end], [1e9, 3e9, 100, 90]);
  assert.deepEqual(
    rise.rows.map(({ code: c, bytes }) => [c.name, c.line, bytes]),
    [
      ["f", 3, 16],
      ["h", 0, 8],
      ["g", 0, -44],
    ],
  );
  assert.equal(waterfall(rise).bars.length, 6);
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
  let metric = mostMetric(placeOf("a"));
  for (; !seen.has(metric); metric = nextMetric(metric)) seen.add(metric);
  assert.deepEqual([seen.size, metric], [mostMetrics.length, "peak"]);
});

test("the metric of the table is the place's, else what the range suggests", () => {
  assert.equal(mostMetric(placeOf("a")), "peak");
  assert.equal(mostMetric({ ...placeOf("a"), from: "1s" }), "live");
  assert.equal(mostMetric({ ...placeOf("a"), metric: ["temporary"] }), "temporary");
  assert.equal(mostMetric({ ...placeOf("a"), metric: ["slack"] }), "peak");
});

const about = { sampled: false, merged: false, folded: false, growing: false, lacks: [] };
const report = {
  recording: { damage: ["block 7 is damaged"], complete: false, folded_ns: 0 },
  lost_events: 1200,
  truncated_stacks: 1,
  totals: { events: 20, bytes: 1000, allocations: 10 },
  temporary: { allocations: null },
  peak: { bytes: 500, blocks: 5, time_ns: 2e9 },
  leaked: { bytes: 50, blocks: 1 },
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
    leaked: { bytes: 50, blocks: 1, running: false },
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
