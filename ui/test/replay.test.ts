import assert from "node:assert/strict";
import { test } from "node:test";
import type { Replayed } from "../src/api.ts";
import { decode } from "../src/columns.ts";
import { replayOf } from "../src/model/replay.ts";
import { columns } from "./encode.mjs";

const answer = (object: object) => decode<Replayed>(columns(object)).answer;

function allocator(name: string, peak: number, p99: number, what_if = false) {
  return {
    name, what_if, call_ns: 20, cpu_ns: 1e6, p50_ns: 10, p99_ns: p99, p999_ns: 900, max_ns: 5000, peak_rss_bytes: peak,
    mean_rss_bytes: peak / 2, freed_rss_bytes: 100, peak_rss_all_bytes: 0, times_ns: [0, 10, 20],
    rss_bytes: [0, peak, peak / 2],
  };
}

function saved(more: object = {}): Replayed {
  const best = { time: "jemalloc", p99: "jemalloc", peak_rss: "glibc", mean_rss: "glibc" };
  const replay = {
    format_version: 1, pid: 7, started_ns: 1, runs: 5, calls: 1_200_000, threads: 9, peak_live_bytes: 4000,
    verdict: "jemalloc against glibc: the same peak RSS, 61 % less CPU time", what_if: [], best,
    allocators: [allocator("glibc", 8000, 600), allocator("jemalloc", 16000, 120)], times_ns: [0, 10, 20],
    live_bytes: [0, 4000, 0], failures: [], ...more,
  };
  return answer({ replay, why: "" });
}

test("a saved replay has a row for each allocator, the best marked, and the verdict", () => {
  const { columns: shown, items, sum, curves } = replayOf(saved());
  assert.deepEqual(items.map(({ name, note }) => [name, note]), [
    ["glibc", "best: peak RSS, mean RSS"],
    ["jemalloc", "best: time, p99"],
  ]);
  assert.match(sum, /^jemalloc against glibc: the same peak RSS, 61 % less CPU time · .* calls by 9 threads · at most/);
  const column = (key: string) => [...(shown.find((one) => one.key === key)?.values ?? [])];
  assert.deepEqual(column("peak"), [8000, 16000]);
  assert.deepEqual(column("p99"), [600, 120]);
  assert.deepEqual(column("upper"), [], "no interval was measured");
  // All curves have the scale of the largest.
  assert.equal(curves?.length, 2);
  assert.match(curves?.[0]?.path ?? "", / ?50/);
  assert.notEqual(curves?.[0]?.path, curves?.[1]?.path);
  assert.notEqual(curves?.[0]?.back, "");
});

test("a changed program has the name that it was saved with, and nobody is the best of one", () => {
  // internal/replay adds "(what if)" to the name.
  const both = replayOf(saved({ allocators: [allocator("glibc", 8, 6), allocator("glibc (what if)", 7, 6, true)] }));
  assert.deepEqual(both.items.map(({ name }) => name), ["glibc", "glibc (what if)"]);
  assert.deepEqual(both.curves?.map(({ name }) => name), ["glibc", "glibc (what if)"]);
  const one = replayOf(saved({ allocators: [allocator("glibc", 8, 6)] }));
  assert.deepEqual(one.items.map(({ note }) => note), [""]);
});

test("without a saved replay, it is said why", () => {
  const none = replayOf(answer({ replay: null, why: "the saved replay is of another recording" }));
  assert.equal(none.items.length, 0);
  assert.equal(none.why, "the saved replay is of another recording");
  assert.equal("why" in replayOf(answer({ replay: null, why: "" })), false);
});

test("curves that cannot be drawn are left out", () => {
  const odd = replayOf(saved({ times_ns: [], live_bytes: [] }));
  assert.deepEqual(odd.curves?.map(({ back }) => back), ["", ""]);
});
