import assert from "node:assert/strict";
import { test } from "node:test";
import {
  edgesOf,
  highestStep,
  largest,
  layerAt,
  layerCountOf,
  layersByOf,
  layersParameters,
  notLive,
  perSecond,
  shownTimes,
  stepNear,
  type Layer,
  type Layers,
} from "../src/model/layers.ts";
import { home } from "../src/model/place.ts";

/** A random number below n; the same ones in each run. */
function randomly(seed: number): (n: number) => number {
  let state = seed + 1;
  return (n) => {
    state = (state * 48271) % 2147483647;
    return state % n;
  };
}

function layer(name: string, live: readonly number[]): Layer {
  return { group: undefined, name, live: Float64Array.from(live) };
}

test("the edges of layers are sums, and a point lies in the layer that has it", () => {
  for (let seed = 0; seed < 50; seed++) {
    const random = randomly(seed);
    const steps = 1 + random(20);
    const layers = Array.from({ length: 1 + random(6) }, (_, i) =>
      layer(String(i), Array.from({ length: steps }, () => random(3) * random(2 ** 40))),
    );
    const edges = edgesOf(layers);
    for (let step = 0; step < steps; step++) {
      let sum = 0;
      layers.forEach(({ live }, i) => {
        const bytes = live[step] ?? 0;
        if (bytes > 0) {
          assert.equal(layerAt(edges, step, sum), i);
          assert.equal(layerAt(edges, step, sum + bytes - 1), i);
        }
        sum += bytes;
        assert.equal(edges[i]?.[step], sum);
      });
      assert.equal(layerAt(edges, step, sum), -1);
      assert.equal(layerAt(edges, step, -1), -1);
    }
  }
});

test("steps: the highest one, the nearest one, rates", () => {
  const timesNs = Float64Array.of(0, 1e9, 3e9, 3e9);
  assert.equal(highestStep({ live: Float64Array.of(1, 7, 7, 2) }), 1);
  assert.equal(stepNear(timesNs, 1.9e9), 1);
  assert.equal(stepNear(timesNs, 9e9), 2);
  assert.deepEqual([...perSecond(Float64Array.of(5, 10, 10, 3), timesNs)], [0, 10, 5, 0]);
  assert.equal(largest(Float64Array.of(NaN, 3, NaN, 2)), 3);
  assert.equal(largest(new Float64Array()), 0);
});

test("what is not live is known where the resident set is", () => {
  const sampled = { resident_bytes: Float64Array.of(NaN, 10, 4) } as unknown as Layers["sampled"];
  const layers = { live: Float64Array.of(3, 4, 5), sampled } as Layers;
  assert.deepEqual([...notLive(layers)], [NaN, 6, -1]);
});

test("the page asks for the range, else for what the timeline shows", () => {
  const place = { ...home, zoom: "1s..2s" };
  assert.deepEqual(shownTimes(place, {}), { from: "1s", to: "2s" });
  assert.deepEqual(shownTimes(place, { to: "3s" }), {});
  assert.deepEqual(shownTimes(home, {}), {});
  const asked = { by: "function", metric: ["peak"], top: 8, steps: 400, fold: true };
  assert.deepEqual(layersParameters(home, 1000), asked);
  const ranged = layersParameters({ ...home, from: "1s", by: "thread", top: "20" }, 1e6);
  assert.deepEqual(ranged, { from: "1s", by: "thread", metric: ["peak"], top: 20, steps: 400 });
  assert.equal(layersParameters(home, 1e9).steps, undefined, "the server chooses steps that come at once");
  assert.equal(layersByOf({ by: "nonsense" }), "function");
  assert.equal(layerCountOf({ top: "9999999" }), 8);
});
