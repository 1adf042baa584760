// What is written on the timeline, and where: axes, flags, and the words for a selection. Texts never overlap.
import { digits, size } from "./format.ts";
import { byteLabel, byteSteps, secondSteps } from "./scale.ts";
import { clamp, toPixel, type Axis } from "./timeline.ts";

/** The width of a text in pixels. */
export type Measure = (text: string) => number;

/** A text from x to x + width. */
export interface Label {
  text: string;
  x: number;
  width: number;
}

/** The least space between two texts. */
const gap = 8;

/** A value on an axis, and what is written there. */
export interface Tick {
  value: number;
  text: string;
}

/**
 * The values that are marked on an axis of bytes, from the lowest above 0, about `space` pixels apart: at least two,
 * which may be half as far apart, since one alone says nothing about the others.
 */
export function byteTicks(top: number, height: number, space: number): Tick[] {
  const least = (top * space) / height;
  const wide = byteSteps.find((s) => s >= least) ?? top;
  const step = 2 * wide > top && wide > 1 ? wide / 2 : wide;
  const ticks: Tick[] = [];
  for (let value = step; value <= top; value += step) ticks.push({ value, text: byteLabel(value) });
  return ticks;
}

/** The moments that are marked on the axis of time. Labels are as wide as they must be to differ from each other. */
export function timeTicks(axis: Axis, measure: Measure): Tick[] {
  const { begin, end } = axis.span;
  const perPixel = (end - begin) / axis.width;
  for (const seconds of secondSteps) {
    const step = Math.round(seconds * 1e9);
    if (step < 1 || step / perPixel < 3 * gap) continue;
    const room = step / perPixel - gap;
    const ticks: Tick[] = [];
    const first = Math.ceil(begin / step);
    for (let i = first; i * step <= end; i++) ticks.push({ value: i * step, text: tickLabel(i * step, step) });
    if (ticks.every(({ text }) => measure(text) <= room)) return ticks;
  }
  return [];
}

/** The label of a moment that is a multiple of a step: 15 s, 5 min, 12:04.5, 4.0001 s. */
function tickLabel(ns: number, stepNs: number): string {
  if (ns === 0) return "0";
  if (ns >= 60e9 && stepNs < 60e9) return clock(ns, stepNs);
  if (ns < 60e9) return inUnit(ns, ns, stepNs);
  const minutes = Math.round(ns / 60e9);
  const hours = Math.floor(minutes / 60);
  if (hours === 0) return `${minutes} min`;
  return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
}

/**
 * A moment about as precisely as a pixel is wide: 12:04, 1:02:03.5, 4.20 s, 870 µs. The largest moment decides about
 * the unit.
 */
export function momentLabel(ns: number, pixelNs: number, largest = ns): string {
  const resolution = Math.max(1, 10 ** Math.round(Math.log10(pixelNs)));
  return largest >= 60e9 ? clock(ns, resolution) : inUnit(ns, largest, resolution);
}

/** Minutes and seconds, from an hour on also hours. */
function clock(ns: number, resolutionNs: number): string {
  const places = decimals(resolutionNs / 1e9);
  const unit = 10 ** places;
  const all = Math.round((ns / 1e9) * unit); // rounded once, so that no 60 seconds are written
  const two = (n: number) => n.toString().padStart(2, "0");
  const seconds = Math.floor(all / unit);
  const fraction = places > 0 ? `.${(all % unit).toString().padStart(places, "0")}` : "";
  const minutes = Math.floor(seconds / 60);
  const tail = `${two(seconds % 60)}${fraction}`;
  return minutes < 60 ? `${minutes}:${tail}` : `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${tail}`;
}

const units = [
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "µs"],
  [1, "ns"],
] as const;

function inUnit(ns: number, largest: number, resolutionNs: number): string {
  const [unit, name] = units.find(([u]) => largest >= u) ?? units[3];
  return `${(ns / unit).toFixed(decimals(resolutionNs / unit))} ${name}`;
}

/** How many decimals a value needs that is a multiple of a resolution: none for 1, one for 0.5 and for 0.2. */
function decimals(resolution: number): number {
  return clamp(Math.ceil(-Math.log10(resolution) - 0.01), 0, 9);
}

/** A change: +414 MiB, −3.20 KiB, ±0 B. */
export function change(bytes: number): string {
  if (bytes === 0) return "±0 B";
  return `${bytes < 0 ? "−" : "+"}${size(Math.abs(bytes))}`;
}

/** Bytes per second: 1.20 GiB/s. */
export function rate(bytes: number): string {
  return `${bytes > 0 && bytes < 1 ? digits(bytes) + " B" : size(Math.round(bytes))}/s`;
}

/** The same in less room: 1.2 GiB/s, 62 MiB/s. */
export function shortRate(bytes: number): string {
  return rate(bytes).replace(/^(\d)\.(\d)\d /, "$1.$2 ").replace(/^(\d\d)\.\d /, "$1 ");
}

/** What is written at a selected range, in full and in short. `name` tells two ranges apart. */
export function rangeTexts(span: string, delta: number, name: string): [string, string] {
  const prefix = name === "" ? "" : `${name} `;
  return [`${prefix}${span} · ${change(delta)}`, `${prefix}${change(delta)}`];
}

/**
 * Places texts that belong to spans of the picture, each as near to its span's middle as it may be. If they do not fit
 * in full, they are shortened. With two texts, the order is that of their spans.
 */
export function placePills(pills: readonly { middle: number; texts: readonly string[] }[], width: number, of: Measure) {
  const shortest = Math.max(0, ...pills.map(({ texts }) => texts.length)) - 1;
  for (let level = 0; ; level++) {
    const chosen = pills.map(({ middle, texts }) => {
      const text = texts[Math.min(level, texts.length - 1)] ?? "";
      return { middle, text, width: of(text) };
    });
    const room = chosen.reduce((sum, pill) => sum + pill.width + gap, -gap);
    if (room <= width || level >= shortest) return spread(chosen, width);
  }
}

function spread(pills: { middle: number; text: string; width: number }[], width: number): Label[] {
  const placed = pills.map((pill) => {
    return { text: pill.text, width: pill.width, x: clamp(pill.middle - pill.width / 2, 0, width - pill.width) };
  });
  const order = [...placed.keys()].sort((i, j) => (pills[i]?.middle ?? 0) - (pills[j]?.middle ?? 0));
  // Push to the right what overlaps, then back what has left the picture.
  let least = 0;
  for (const i of order) {
    const label = placed[i];
    if (!label) continue;
    label.x = Math.max(label.x, least);
    least = label.x + label.width + gap;
  }
  let most = width;
  for (const i of order.reverse()) {
    const label = placed[i];
    if (!label) continue;
    label.x = Math.min(label.x, most - label.width);
    most = label.x - gap;
  }
  return placed;
}

/** The labels of an axis that collide with none of the others. */
export function keepClear(labels: readonly Label[], others: readonly Label[]): Label[] {
  return labels.filter(({ x, width }) => others.every((o) => x + width + gap <= o.x || o.x + o.width + gap <= x));
}

/** A flag's text, for which there is room beside its line. */
export interface PlacedFlag extends Label {
  index: number;
}

/**
 * Places the texts of flags beside their lines, to the right if there is room, else to the left, and rather where they
 * cross no other line. Those that come first in the list are placed first; those for which no room is left are not
 * written.
 */
export function placeFlags(flags: readonly { text: string; x: number }[], width: number, of: Measure): PlacedFlag[] {
  const placed: PlacedFlag[] = [];
  const beside = 5;
  flags.forEach(({ text, x }, index) => {
    if (x < 0 || x > width || text === "") return;
    const size = of(text);
    const free = [x + beside, x - beside - size]
      .map((left) => ({ text, x: left, width: size, index }))
      .filter((label) => label.x >= 0 && label.x + size <= width && keepClear([label], placed).length > 0);
    const crosses = (label: Label) => flags.some((f) => f.x > label.x - 2 && f.x < label.x + size + 2);
    const best = free.find((label) => !crosses(label)) ?? free[0];
    if (best) placed.push(best);
  });
  return placed;
}

/** The part of a list of flags that is shown, with their places: at most one for each pixel. */
export function flagsShown<T extends { atNs: number }>(flags: readonly T[], axis: Axis): { flag: T; x: number }[] {
  const shown = new Map<number, { flag: T; x: number }>();
  for (const flag of flags) {
    if (flag.atNs < axis.span.begin || flag.atNs > axis.span.end) continue;
    const x = Math.min(axis.width - 1, Math.floor(toPixel(axis, flag.atNs)));
    if (!shown.has(x)) shown.set(x, { flag, x });
  }
  return [...shown.values()];
}
