// What the timeline asks, and what it makes of the answers.
import type { Curve, ProcessTimeline } from "../api.ts";
import type { Ribbon, Steps } from "../model/timeline.ts";

/** Makes steps of the answer to `process`. Lists of what the kernel said have no entry for the beginning. */
export function stepsOf(answer: ProcessTimeline): Steps {
  const { times_ns: timesNs, most_live_bytes: most, fewest_live_bytes: fewest, live_bytes: live, bytes } = answer;
  const n = timesNs.length;
  const { marks, regions } = answer;
  const sampled = (list: Float64Array): Float64Array | undefined => {
    if (list.length === 0) return undefined;
    if (list.length !== n - 1) fail();
    const all = new Float64Array(n);
    all.set(list, 1);
    all[0] = list[0] ?? NaN;
    return all.map((value) => (value > 0 ? value : NaN)); // before the first sample, nothing is known
  };
  if ([most, fewest, live, bytes, answer.exact].some((list) => list.length !== n)) fail();
  for (let i = 1; i < n; i++) if (!((timesNs[i] ?? 0) >= (timesNs[i - 1] ?? 0))) fail();
  return {
    timesNs,
    live,
    most,
    fewest,
    bytes,
    exact: Uint8Array.from(answer.exact, Number),
    resident: sampled(answer.resident_bytes),
    mapped: sampled(answer.mapped_bytes),
    marks: Array.from({ length: marks.rows }, (_, i) => ({
      name: marks.name.at(i),
      atNs: marks.time_ns[i] ?? 0,
      text: marks.mark.at(i),
    })),
    regions: Array.from({ length: regions.rows }, (_, i) => ({
      name: regions.region.at(i),
      begin: regions.begin_ns[i] ?? 0,
      end: regions.end_ns[i] ?? 0,
    })),
    rough: answer.rough ?? false,
  };
}

/** Makes a ribbon of the answer to `curve`. */
export function ribbonOf(name: string, { times_ns: timesNs, most_live_bytes: most }: Curve): Ribbon {
  if (most.length !== timesNs.length) fail();
  return { name, timesNs, most };
}

function fail(): never {
  throw new TypeError("the timeline's columns do not belong together");
}
