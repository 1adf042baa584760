// What the line above a comparison says and does.
import type { Run } from "./answers.ts";
import type { Clock } from "./clock.ts";
import { nameOfRun } from "./compare.ts";
import { isRange, type Times } from "./metrics.ts";
import type { Place } from "./place.ts";

/** The place with both sides exchanged. */
export function swapped(place: Place): Partial<Place> {
  const { from, to, from2, to2, recording } = place;
  const times = { from: from2, to: to2, from2: from, to2: to };
  if (place.with.length === 0 && place.also.length === 0) return times;
  const [first, ...others] = place.with;
  return {
    ...times,
    recording: first ?? recording,
    also: others,
    with: [...(recording === undefined || first === undefined ? [] : [recording]), ...place.also],
  };
}

/** A side in words: the recordings, and their range of time. */
export function sideInWords(runs: readonly Run[], ids: readonly string[], times: Times, clock: Clock): string {
  const names = ids.map((id) => nameOfRun(runs, id));
  const [first = ""] = names;
  const which = names.length > 2 ? `${names.length} runs: ${first}, …` : names.join(" and ");
  const range = isRange(times) ? clock.range(times.from, times.to) : "";
  return [which, range].filter(Boolean).join(", ");
}
