import assert from "node:assert/strict";
import { test } from "node:test";
import { riseAround } from "../src/model/rise.ts";

const n = 1000;

/** Random numbers from 0 to 1 that are the same each time (mulberry32). */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A value that rises from 0 to 1 between two indexes. */
const ramp = (i: number, from: number, to: number) => Math.min(1, Math.max(0, (i - from) / (to - from)));
/** A tooth of a saw: from 0 to 1 over its length, again and again. */
const saw = (i: number, length: number) => (i % length) / length;

/** Curves with where a reader points, and which stretch is meant; undefined: nothing rises there. */
const curves: [string, (i: number, noise: () => number) => number, number, [number, number] | undefined][] = [
  ["a ramp between plateaus", (i) => 100 + 400 * ramp(i, 300, 600), 450, [300, 600]],
  ["the same, pointed at its foot", (i) => 100 + 400 * ramp(i, 300, 600), 302, [300, 600]],
  ["the same, pointed at just above its end", (i) => 100 + 400 * ramp(i, 300, 600), 601, [300, 600]],
  ["a ramp over the whole run", (i) => i, 500, [0, 999]],
  ["a step", (i) => (i < 500 ? 50 : 800), 500, [499, 500]],
  ["a step, pointed at beside it", (i) => (i < 500 ? 50 : 800), 498, [499, 500]],
  ["a staircase", (i) => 100 * Math.floor(ramp(i, 200, 700) * 5), 450, [299, 700]],
  ["noise on two plateaus", (i, r) => 100 + 400 * ramp(i, 300, 600) + 8 * (r() - 0.5), 450, [300, 600]],
  ["more noise", (i, r) => 100 + 400 * ramp(i, 300, 600) + 30 * (r() - 0.5), 450, [300, 600]],
  ["noise on a ramp over the whole run", (i, r) => i + 30 * (r() - 0.5), 500, [0, 999]],
  ["one tooth of a saw that falls to its foot", (i) => 200 * saw(i, 250), 400, [250, 499]],
  ["growth below a saw of small teeth", (i) => 500 * ramp(i, 200, 800) + 50 * saw(i, 20), 500, [200, 800]],
  ["garbage collection on a plateau, then growth", (i) => 400 * ramp(i, 500, 900) + 60 * saw(i, 25), 700, [500, 900]],
  ["collections that free a tenth of the heap", collected(0.1, 150, 850), 500, [150, 850]],
  ["what follows a fall of half the climb", twice(100, 50, 150), 600, [500, 800]],
  ["what precedes it", twice(100, 50, 40), 200, [100, 300]],
  ["both sides of a fall of a tenth of the climb", twice(300, 30, 230), 250, [100, 800]],
  ["a slow start that becomes fast", (i) => 500 * (Math.exp(5 * ramp(i, 200, 700)) - 1), 600, [200, 700]],
  ["a fast start that becomes slow", (i) => 500 * Math.sqrt(ramp(i, 200, 700)), 250, [200, 700]],
  ["a wave", (i) => 300 - 300 * Math.cos((i / 400) * 2 * Math.PI), 500, [400, 600]],
  ["a falling slope", (i) => 1000 - i, 500, undefined],
  ["a falling slope with noise", (i, r) => 1000 - i + 8 * (r() - 0.5), 500, undefined],
  ["a plateau", () => 77, 500, undefined],
  ["nothing", () => 0, 0, undefined],
  ["the run's first column", (i) => 100 + 400 * ramp(i, 0, 300), 0, [0, 300]],
  ["the run's last column", (i) => 100 + 400 * ramp(i, 700, 999), 999, [700, 999]],
];

/** A rise from 100 to 300, a fall until 350, and another rise from 500 to 800. */
function twice(first: number, fall: number, second: number): (i: number) => number {
  return (i) => first * ramp(i, 100, 300) - fall * ramp(i, 300, 350) + second * ramp(i, 500, 800);
}

/** Growth by 10 an index, of which a collection frees a share of the heap every 50. */
function collected(share: number, from: number, to: number): (i: number) => number {
  const values: number[] = [];
  let heap = 500;
  for (let i = 0; i < n; i++) {
    if (i > from && i <= to) heap += 10;
    if (i > from && i < to && i % 50 === 0) heap *= 1 - share / 2;
    values.push(heap);
  }
  return (i) => values[i] ?? 0;
}

for (const [name, at, pointed, want] of curves) {
  test(`the rise of ${name}`, () => {
    for (let seed = 1; seed <= 10; seed++) {
      const noise = random(seed);
      const values = Float64Array.from({ length: n }, (_, i) => at(i, noise));
      const got = riseAround(values, pointed, 3);
      if (!want || !got) {
        assert.equal(got, want);
        continue;
      }
      const off = Math.max(Math.abs(got.from - want[0]), Math.abs(got.to - want[1]));
      assert.ok(off <= 0.02 * n, `seed ${seed}: from ${got.from} to ${got.to}, not from ${want[0]} to ${want[1]}`);
    }
  });
}

/** The climb of the largest rise around an index, as the definition says: of all pairs of ends. */
function largestClimb(values: Float64Array, at: number): number {
  let most = 0;
  for (let from = 0; from <= at; from++) {
    for (let to = at; to < values.length; to++) {
      const inside = [...values.subarray(from, to + 1)];
      const [low, high] = [inside[0] ?? 0, inside.at(-1) ?? 0];
      if (Math.min(...inside) < low || Math.max(...inside) > high) continue;
      let fall = 0;
      inside.forEach((value, i) => inside.slice(i).forEach((later) => (fall = Math.max(fall, value - later))));
      if (fall <= 0.2 * (high - low)) most = Math.max(most, high - low);
    }
  }
  return most;
}

test("no rise climbs more than the one that is found, by all pairs of ends", () => {
  const noise = random(7);
  for (let round = 0; round < 300; round++) {
    const length = 1 + Math.floor(noise() * 14);
    let level = 50;
    const values = Float64Array.from({ length }, () => (level = Math.max(0, level + Math.round(20 * (noise() - 0.4)))));
    const at = Math.floor(noise() * length);
    const got = riseAround(values, at);
    const climb = got ? (values[got.to] ?? 0) - (values[got.from] ?? 0) : 0;
    const want = largestClimb(values, at);
    // The ends may move inwards by up to a twenty-fifth of the climb each; a fiftieth of the top is noise.
    if (want >= 0.02 * Math.max(...values) && want > 0) {
      assert.ok(climb <= want && climb >= 0.92 * want, `${values} at ${at}: ${climb}, not ${want}`);
    } else assert.equal(got, undefined, `${values} at ${at}`);
  }
});
