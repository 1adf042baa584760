// Steps of made-up curves, for tests and pictures of the timeline.
import type { Span } from "../src/model/time.ts";
import type { Steps } from "../src/model/timeline.ts";

/** How finely a curve is looked at, within a step. */
const finer = 16;

/** Divides a span into steps of equal time, with the extremes of curves in each. */
export function stepsFrom(of: {
  span: Span;
  steps: number;
  live: (ns: number) => number;
  resident?: (ns: number) => number;
  mapped?: (ns: number) => number;
  bytes?: (ns: number) => number; // per step
}): Steps {
  const { begin, end } = of.span;
  const n = of.steps + 1;
  const timesNs = Float64Array.from({ length: n }, (_, i) => Math.round(begin + ((end - begin) * i) / of.steps));
  const list = () => new Float64Array(n);
  const steps: Steps = {
    timesNs,
    live: list(),
    most: list(),
    fewest: list(),
    bytes: list(),
    exact: new Uint8Array(n).fill(1),
    resident: of.resident && list(),
    mapped: of.mapped && list(),
    marks: [],
    regions: [],
    rough: false,
  };
  for (let i = 0; i < n; i++) {
    const to = timesNs[i] ?? 0;
    const from = i === 0 ? to : (timesNs[i - 1] ?? 0);
    const values = Array.from({ length: finer + 1 }, (_, k) => Math.round(of.live(from + ((to - from) * k) / finer)));
    steps.live[i] = values.at(-1) ?? 0;
    steps.most[i] = Math.max(...values);
    steps.fewest[i] = Math.min(...values);
    let churn = 0;
    values.forEach((value, k) => (churn += Math.max(0, value - (values[k - 1] ?? value))));
    steps.bytes[i] = i === 0 ? 0 : (of.bytes?.(to) ?? churn + 1e6 * (1 + Math.sin(i / 30)));
    if (steps.resident && of.resident) steps.resident[i] = of.resident(to);
    if (steps.mapped && of.mapped) steps.mapped[i] = of.mapped(to);
  }
  return steps;
}
