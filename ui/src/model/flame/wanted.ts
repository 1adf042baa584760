// What a place asks the flame graph for: which tree, of which metric, in which colours, and what it is compared with.
import type { ByName, MetricName } from "../../api.ts";
import { comparisonOf, metricsFor, type Comparison } from "../compare.ts";
import { metricAt, metricOf, type Times } from "../metrics.ts";
import type { Place } from "../place.ts";
import { modes, type ColourMode } from "./colour.ts";

export const shapes = ["top-down", "bottom-up", "sandwich", "difference"] as const;
export type Shape = (typeof shapes)[number];
export const groupings: readonly ByName[] = ["function", "line", "module", "thread", "region"];

/** What is shown, as the place says it. */
export interface Wanted {
  shape: Shape;
  by: ByName;
  metric: MetricName;
  colour: ColourMode;
  /** What is compared; undefined: the picture is no difference. */
  compared: Comparison | undefined;
}

/** @param range the selected range, which is not yet in the place while the reader drags */
export function wantedOf(place: Place, range: Times = place): Wanted {
  const by = groupings.find((name) => name === place.by) ?? "function";
  const first = metricOf(metricAt(place, range));
  // Only of metrics that add up, a frame is as wide as all of its callees and itself.
  let metric: MetricName = first?.adds ? first.name : "peak";
  let shape: Shape = place.up ? "bottom-up" : "top-down";
  if (place.shape === "sandwich" && place.of !== undefined) shape = "sandwich";
  const compared = comparisonOf(place, range);
  if (compared) {
    shape = "difference";
    [metric = metric] = metricsFor(compared, [metric]);
  }
  const mode = modes.find((name) => name === place.colour);
  const possible = mode !== undefined && mode !== "growth" && (mode !== "thread" || by === "thread");
  const colour = shape === "difference" ? "growth" : possible ? mode : "module";
  return { shape, by, metric, colour, compared };
}

/** Why a shape cannot be shown now: what the reader has to do first; undefined: it can. */
export function neededFor(shape: Shape, place: Place): string | undefined {
  if (shape === "sandwich" && place.of === undefined && place.picked.length === 0) {
    return "A sandwich has the callers and the callees of a function: click a function first.";
  }
  return undefined;
}

/** What is counted, in words. */
export function countedOf({ compared, metric }: Wanted, label: string): string {
  if (!compared) return label;
  if (!compared.moments) return `change of: ${label}`;
  return `${metric === "live-blocks" ? "live blocks" : "live bytes"}: change over the range`;
}

/** What a picture shows, in words. */
export function titleOf({ shape, compared }: Wanted): string {
  switch (shape) {
    case "top-down":
      return "call tree from the root down";
    case "bottom-up":
      return "callers of the functions that allocate";
    case "sandwich":
      return "callees";
    case "difference":
      if (compared?.moments) return "what has changed over the range";
      return compared?.with.length ? "what has changed between recordings" : "what has changed between two ranges";
  }
}
