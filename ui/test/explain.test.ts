import assert from "node:assert/strict";
import { test } from "node:test";
import type { Rise as RiseAnswer } from "../src/api.ts";
import { decode } from "../src/columns.ts";
import {
  explanation,
  isFlat,
  riseTitle,
  signed,
  waterfall,
  whyNoRange,
  type Rise,
} from "../src/model/explain.ts";
import { riseOf as riseOfAnswer, riseTask } from "../src/net/explain.ts";
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
  const span = { beginNs: 0, endNs: 1e9 };
  return { ...span, begin, end, rows, others: { groups: grown || shrunk ? 3 : 0, grown, shrunk }, of: "place" };
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
  assert.equal(riseTitle(riseOf(0, [15]), false, true), "What rose up to the end");
});

test("how much of a rise is named", () => {
  const text = explanation;
  assert.equal(text(riseOf(0, [80], 20)), "80.0 % from one place");
  assert.equal(text(riseOf(0, [80, 16], 5, 1)), "96.0 % from 2 places");
  assert.equal(text(riseOf(0, [80, 20])), "all from 2 places");
  assert.equal(text(riseOf(0, [80], 0, 60)), "one place changed most");
  assert.equal(text(riseOf(100, [-80], 0, 20)), "80.0 % from one place");
  assert.equal(text(riseOf(5, [])), "");
  assert.deepEqual([signed(2048), signed(-2048), signed(0)], ["+2.00 KiB", "−2.00 KiB", "±0 B"]);
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
  const rise = riseOfAnswer(decode<RiseAnswer>(columns(answer)).answer, "call stack");
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

test("many small call stacks are explained by places in the code, if these say more", async () => {
  const group = (name: string, offset = "") => {
    return { function: name, file: name === "" ? "" : "/f.cc", line: 3, module: "/bin/x", offset };
  };
  const answer = (named: readonly (readonly [string, number])[], change: number) => {
    const sum = named.reduce((all, [, bytes]) => all + bytes, 0);
    return columns({
      range: { begin_ns: 0, span_ns: 1e9 },
      begin_bytes: 0,
      end_bytes: change,
      rows: named.map(([name, bytes]) => {
        const of = name === "" ? group("", "0x12") : group(name);
        return { group: of, function: name, file: "", line: 0, module: "/bin/x", bytes, blocks: 1 };
      }),
      others: { groups: 900, grown_bytes: change - sum, shrunk_bytes: 0 },
    });
  };
  const run = async (stacks: number, places: number, unfolded = false) => {
    const asked: string[] = [];
    const rise = await riseTask("1", { from: "1s" }, unfolded, true).run((path) => {
      asked.push(path);
      const byPlace = path.includes("by=line");
      const named = byPlace ? ([["g", places - 10], ["", 10]] as const) : ([["f", stacks]] as const);
      return Promise.resolve(answer(named, 1000));
    });
    return { asked, of: rise.of, names: rise.rows.map(({ code: c }) => c.name), all: waterfall(rise).bars.length };
  };
  const few = await run(600, 900);
  assert.deepEqual([few.asked.length, few.of, few.names], [1, "call stack", ["f"]]);
  assert.match(few.asked[0] ?? "", /^r\/1\/rise\?from=1s&limit=8&rough=pixel$/);
  const many = await run(100, 700);
  assert.deepEqual([many.of, many.names, many.all], ["place", ["g", "x+0x12"], 5]);
  assert.match(many.asked[1] ?? "", /by=line&fold=true/);
  assert.doesNotMatch((await run(100, 700, true)).asked[1] ?? "", /fold/);
  assert.equal((await run(300, 200)).of, "call stack"); // places do not say more
});

test("recordings of sums in words", () => {
  assert.match(whyNoRange(3), /only the sums of 3 processes, and no single events/);
  assert.match(whyNoRange(0), /only sums, and/);
});
