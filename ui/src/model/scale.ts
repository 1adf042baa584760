// Scales of axes: which values are marked, and what is written there.
import { duration, size } from "./format.ts";

/** Steps between marks of an axis of bytes: 1, 2, 4 ... of each binary unit. */
export const byteSteps: number[] = Array.from({ length: 60 }, (_, i) => 2 ** i);

/** Steps between marks of an axis of seconds: round numbers of the unit in which they are written. */
export const secondSteps: number[] = [
  ...[-9, -8, -7, -6, -5, -4, -3, -2, -1].flatMap((e) => [1, 2, 5].map((n) => Number(`${n}e${e}`))),
  ...[1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800],
  ...[1, 2, 3, 6, 12, 24, 48, 120, 240].map((hours) => hours * 3600),
];

/** The label of a mark on an axis of bytes: 512 MiB, 1.5 GiB, without digits that say nothing. */
export function byteLabel(bytes: number): string {
  return trimZeros(size(bytes));
}

/** The label of a mark on an axis of seconds: 500 ms, 15 s, 5 min, 1 h 30 min. */
export function secondLabel(seconds: number): string {
  if (seconds === 0) return "0";
  const text = trimZeros(duration(Math.round(seconds * 1e9)));
  return text.replace(/ 0+ (s|min)$/, "");
}

function trimZeros(text: string): string {
  return text.replace(/\.0+(?= )|(\.\d*?)0+(?= )/, "$1");
}
