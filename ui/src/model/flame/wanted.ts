// What a place asks the flame graph for: which tree, of which metric, in which colours, and what it is compared with.
import type { ByName, MetricName } from "../../api.ts";
import { isRange, metricAt, metricOf, type Times } from "../metrics.ts";
import type { Place } from "../place.ts";
import type { Clock } from "../clock.ts";
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
  /** The range that the selected one is compared with; undefined: the picture is no difference. */
  before: Times | undefined;
  /** That is all before the selected range: its end is compared with its beginning. */
  growth: boolean;
}

/** @param range the selected range, which is not yet in the place while the reader drags */
export function wantedOf(place: Place, range: Times = place): Wanted {
  const by = groupings.find((name) => name === place.by) ?? "function";
  const first = metricOf(metricAt(place, range));
  // Only of metrics that add up, a frame is as wide as all of its callees and itself.
  let metric: MetricName = first?.adds ? first.name : "peak";
  let shape: Shape = place.up ? "bottom-up" : "top-down";
  if (place.shape === "sandwich" && place.of !== undefined) shape = "sandwich";
  const second = { from: place.from2, to: place.to2 };
  let before: Times | undefined;
  let growth = false;
  if (place.shape === "difference" && (isRange(second) || isRange(range))) {
    shape = "difference";
    before = second;
    if (!isRange(second)) {
      // What was live when the range began: at the end of all that was before it.
      growth = true;
      before = { from: undefined, to: range.from ?? "start" };
      if (metric !== "live-blocks") metric = "live";
    }
  }
  const mode = modes.find((name) => name === place.colour);
  const possible = mode !== undefined && mode !== "growth" && (mode !== "thread" || by === "thread");
  const colour = shape === "difference" ? "growth" : possible ? mode : "module";
  return { shape, by, metric, colour, before, growth };
}

/** Why a shape cannot be shown now: what the reader has to do first; undefined: it can. */
export function neededFor(shape: Shape, place: Place): string | undefined {
  if (shape === "sandwich" && place.of === undefined && place.picked.length === 0) {
    return "A sandwich has the callers and the callees of a function: click a function first.";
  }
  if (shape === "difference" && !isRange(place) && !isRange({ from: place.from2, to: place.to2 })) {
    return (
      "A difference needs a selected range: drag over the timeline. Its end is compared with its beginning. " +
      "To compare it with another range, drag over that one with Shift, or press c."
    );
  }
  return undefined;
}

/** What a difference compares, in words; undefined: it is none. */
export function comparedIn({ before, growth }: Wanted, place: Place, clock: Clock): string | undefined {
  if (!before) return undefined;
  if (growth) {
    return (
      "What was live at the end of the range, less what was live when it began. " +
      "To compare with another range, drag over that one with Shift, or press c."
    );
  }
  return `B − A: ${clock.range(place.from, place.to)}, less ${clock.range(before.from, before.to)}`;
}

/** What is counted, in words. */
export function countedOf({ before, growth, metric }: Wanted, label: string): string {
  if (!before) return label;
  if (!growth) return `change of: ${label}`;
  return `${metric === "live-blocks" ? "live blocks" : "live bytes"}: change over the range`;
}

/** What a picture shows, in words. */
export function titleOf({ shape, growth }: Wanted): string {
  switch (shape) {
    case "top-down":
      return "call tree from the root down";
    case "bottom-up":
      return "callers of the functions that allocate";
    case "sandwich":
      return "callees";
    case "difference":
      return growth ? "what has changed over the range" : "what has changed between two ranges";
  }
}
