// What a place has picked, for the right side to explain.
import type { Place } from "./place.ts";

/** What is picked. */
export type Picked =
  | { kind: "function"; name: string }
  | { kind: "stack"; path: readonly string[]; up: boolean } // as `below` has it: from where the tree begins
  | { kind: "line"; file: string; line: number };

/** What a place has picked; undefined: nothing. */
export function pickedOf(place: Place): Picked | undefined {
  const [first, ...more] = place.picked;
  if (first === undefined) {
    const line = Number(place.line);
    if (place.page !== "source" || place.file === undefined || !Number.isInteger(line) || line <= 0) return undefined;
    return { kind: "line", file: place.file, line };
  }
  return more.length === 0 ? { kind: "function", name: first } : { kind: "stack", path: place.picked, up: place.up };
}
