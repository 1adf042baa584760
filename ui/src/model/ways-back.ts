// What leads out of a page that shows nothing: changes of the place, each of which counts more.
import { isRange, metricAt } from "./metrics.ts";
import type { Place } from "./place.ts";

export interface Way {
  label: string;
  change: Partial<Place>;
}

const filters = {
  thread: [], "freed-by": [], region: [], module: [], focus: [], ignore: [], hide: [], collapse: [], below: [],
  size: undefined, "old-size": undefined, lifetime: undefined,
};

/** Pages whose metric is not chosen at the top. */
const withoutMetric: readonly Place["page"][] = [
  "overview", "leaks", "generations", "sizes", "threads", "blocks", "heap",
];

/** The ways back that apply to a place. */
export function waysBack(place: Place): Way[] {
  const ways: Way[] = [];
  const second = { from: place.from2, to: place.to2 };
  if (!withoutMetric.includes(place.page) && metricAt(place, place) !== "peak") {
    const rest = place.metric.slice(1).filter((name) => name !== "peak");
    ways.push({ label: "Show live at the peak", change: { metric: ["peak", ...rest] } });
  }
  if (isRange(place) || isRange(second)) {
    const change = { from: undefined, to: undefined, from2: undefined, to2: undefined };
    ways.push({ label: "Clear the range", change });
  }
  if (Object.keys(filters).some((name) => place[name as keyof typeof filters]?.length)) {
    ways.push({ label: "Remove the filters", change: filters });
  }
  return ways;
}
