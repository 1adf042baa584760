// Draws the timeline on two canvases, one above the other: the curves, which change with the data and the shown time,
// and over them what follows the pointer. So a frame of a drag draws a few rectangles and texts.
import { size } from "../model/format.ts";
import { shorten, visible } from "../model/names.ts";
import { spreadOf, type Repeats, type Spread } from "../model/overlay.ts";
import { ordered } from "../model/timeline-place.ts";
import {
  changeOver,
  columnsOf,
  maximum,
  ribbonColumns,
  toPixel,
  topOf,
  type Axis,
  type Columns,
  type Highest,
  type Ranges,
  type Ribbon,
  type Steps,
} from "../model/timeline.ts";
import type { Clock } from "../model/clock.ts";
import type { Span } from "../model/time.ts";
import {
  byteTicks,
  flagsShown,
  keepClear,
  placeFlags,
  placePills,
  rangeTexts,
  shortRate,
  timeTicks,
  type Label,
  type Measure,
} from "../model/timeline-labels.ts";

/** Where things are from top to bottom, in pixels. */
interface Rows {
  /** Of the canvas. */
  height: number;
  /** Curves are between these. */
  flagsBottom: number;
  plotBottom: number;
  rateTop: number;
  rateBottom: number;
  axisMiddle: number;
  stripBar: number;
}

/** What is not the curves' keeps its height. */
function rowsOf(height: number): Rows {
  return {
    height,
    flagsBottom: 15,
    plotBottom: height - 38,
    rateTop: height - 35,
    rateBottom: height - 21,
    axisMiddle: height - 12,
    stripBar: height - 4,
  };
}

/** Below this line, the pointer moves what is shown, if that is a part. */
export function stripTop(height: number): number {
  return height - 6;
}

const right = 16; // for half a label

/** Where labels of the axis of bytes are: no curve comes there. */
export function gutter(width: number): number {
  return width < 480 ? 66 : 72;
}

/** The pixels that the curves have, at least one. */
export function plotWidth(width: number): number {
  return Math.max(1, Math.floor(width) - gutter(width) - right);
}

export interface Palette {
  text: string;
  quiet: string;
  line: string;
  panel: string;
  accent: string;
  compare: string;
  live: string;
  resident: string;
  ribbon: string;
  font: string;
}

/** The colours that the styles give to an element: a canvas knows no variables. */
export function paletteOf(element: HTMLElement): Palette {
  const probe = document.createElement("i");
  probe.className = "probe";
  element.append(probe);
  const colour = (name: string) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const palette = {
    text: colour("text"),
    quiet: colour("quiet"),
    line: colour("line"),
    panel: colour("panel"),
    accent: colour("accent"),
    compare: colour("compare"),
    live: colour("live"),
    resident: colour("resident"),
    ribbon: colour("ribbon"),
    font: `12px ${getComputedStyle(element).fontFamily}`,
  };
  probe.remove();
  return palette;
}

/** All that the curves need. */
export interface Scene {
  /** Of the canvas, and the left end of the curves in it. */
  width: number;
  rows: Rows;
  left: number;
  axis: Axis;
  whole: Steps;
  detail: Steps | undefined;
  columns: Columns;
  /** The live bytes of the recording that is laid over, by column, or the median of its runs. */
  other?: Float64Array | undefined;
  /** What repeated runs of side A, and of side B, had: nothing for one run. */
  spreads: { a?: Spread; b?: Spread };
  /** The value at the top. */
  top: number;
  peak: { bytes: number; atNs: number };
  /** The peak, if it is known exactly. */
  exact: Highest | undefined;
  palette: Palette;
  clock: Clock;
  /** Of the axis of time; made when they are first drawn. */
  labels?: Label[];
}

export function sceneOf(
  { width, height }: { width: number; height: number },
  whole: Steps,
  detail: Steps | undefined,
  span: Span,
  peak: Scene["peak"],
  palette: Palette,
  clock: Clock,
  liveAlone = false,
  exact?: Highest,
  laid?: Repeats,
): Scene {
  const axis = { span, width: plotWidth(width) };
  const columns = columnsOf(whole, detail, axis);
  const most = (runs: readonly Steps[]) => runs.map((steps) => columnsOf(steps, undefined, axis).most);
  const others = most(laid?.a ?? []);
  const spreads: Scene["spreads"] = {};
  if (others.length > 1) spreads.a = spreadOf(others);
  if (laid && laid.b.length > 1) spreads.b = spreadOf(most(laid.b));
  const other = spreads.a?.median ?? others[0];
  if (liveAlone) for (const list of [columns.resident, columns.mapped]) list.fill(NaN);
  const [rows, left] = [rowsOf(height), gutter(width)];
  const top = Math.max(topOf(columns), ...others.map(maximum), spreads.b ? maximum(spreads.b.most) : 0);
  return { width, rows, left, axis, whole, detail, columns, other, spreads, top, peak, exact, palette, clock };
}

/** Makes a canvas as sharp as the screen, empty, and with the origin at the left end of the curves. */
function prepare(canvas: HTMLCanvasElement, { width, rows, left, palette }: Scene): CanvasRenderingContext2D | null {
  const ratio = devicePixelRatio;
  const [w, h] = [Math.round(width * ratio), Math.round(rows.height * ratio)];
  if (canvas.width !== w) canvas.width = w;
  if (canvas.height !== h) canvas.height = h;
  const c = canvas.getContext("2d");
  if (!c) return null;
  c.setTransform(ratio, 0, 0, ratio, 0, 0);
  c.clearRect(0, 0, width, rows.height);
  c.translate(left, 0);
  c.font = palette.font;
  c.direction = "ltr";
  c.textBaseline = "middle";
  return c;
}

/** Widths of texts, which are the same in every frame. */
const widths = new Map<string, number>();
let widthsFont = "";

function measure(c: CanvasRenderingContext2D): Measure {
  if (widthsFont !== c.font || widths.size > 5000) {
    widths.clear();
    widthsFont = c.font;
  }
  return (text) => {
    let width = widths.get(text);
    if (width === undefined) widths.set(text, (width = Math.ceil(c.measureText(text).width)));
    return width;
  };
}

function yOf({ top, rows: { flagsBottom, plotBottom } }: Scene, value: number): number {
  return plotBottom - (value / top) * (plotBottom - flagsBottom);
}

/** Draws the curves with their axis of bytes, and the flags. */
export function drawCurves(canvas: HTMLCanvasElement, scene: Scene): void {
  const c = prepare(canvas, scene);
  if (!c) return;
  const { axis, columns, top, palette } = scene;
  const { flagsBottom, plotBottom } = scene.rows;
  const y = (value: number) => yOf(scene, value);
  c.lineWidth = 1;
  c.strokeStyle = palette.line;
  c.fillStyle = palette.quiet;
  c.textAlign = "right";
  for (const { value, text } of byteTicks(top, plotBottom - flagsBottom, 24)) {
    const at = Math.round(y(value)) + 0.5;
    horizontal(c, axis.width, at);
    c.fillText(text, -6, Math.max(at, 8));
  }
  horizontal(c, axis.width, plotBottom + 0.5);
  drawRate(c, scene);

  c.save();
  c.beginPath();
  c.rect(0, 0, axis.width, plotBottom + 1);
  c.clip();
  c.fillStyle = palette.live;
  band(c, columns.fewest, undefined, y, 0.14);
  band(c, columns.most, columns.fewest, y, 0.34);
  if (maximum(columns.mapped) <= top) curve(c, columns.mapped, y, palette.quiet, 1, [1, 3]);
  curve(c, columns.resident, y, palette.resident, 1.5, [4, 3]);
  for (const [spread, fill] of [[scene.spreads.a, palette.compare], [scene.spreads.b, palette.live]] as const) {
    if (!spread) continue;
    c.fillStyle = fill;
    band(c, spread.most, spread.least, y, 0.3);
  }
  if (scene.other) curve(c, scene.other, y, palette.compare, 1.5, []);
  curve(c, columns.most, y, palette.live, 1.5, []);
  c.restore();
  drawFlags(c, scene);
}

function horizontal(c: CanvasRenderingContext2D, width: number, y: number): void {
  c.beginPath();
  c.moveTo(0, y);
  c.lineTo(width, y);
  c.stroke();
}

/** Fills what is between two curves, or below one. */
function band(
  c: CanvasRenderingContext2D,
  upper: Float64Array,
  lower: Float64Array | undefined,
  y: (value: number) => number,
  alpha: number,
): void {
  c.beginPath();
  for (let x = 0; x < upper.length; x++) {
    const above = upper[x] ?? NaN;
    const below = lower ? (lower[x] ?? NaN) : 0;
    if (above > below) c.rect(x, y(above), 1, y(below) - y(above));
  }
  c.globalAlpha = alpha;
  c.fill();
  c.globalAlpha = 1;
}

function curve(
  c: CanvasRenderingContext2D,
  values: Float64Array,
  y: (value: number) => number,
  colour: string,
  width: number,
  dash: number[],
): void {
  c.beginPath();
  let known = false;
  for (let x = 0; x < values.length; x++) {
    const value = values[x] ?? NaN;
    if (Number.isNaN(value)) known = false;
    else if (known) c.lineTo(x + 0.5, y(value));
    else {
      c.moveTo(x, y(value));
      c.lineTo(x + 0.5, y(value));
      known = true;
    }
  }
  c.setLineDash(dash);
  c.lineWidth = width;
  c.lineJoin = "round";
  c.strokeStyle = colour;
  c.stroke();
  c.setLineDash([]);
}

/** The strip of bars below the curves: how fast memory was allocated. */
function drawRate(c: CanvasRenderingContext2D, { axis, columns, palette, rows }: Scene): void {
  const { rateTop, rateBottom } = rows;
  const most = maximum(columns.rate);
  c.fillStyle = palette.quiet;
  c.textAlign = "right";
  c.fillText(most > 0 ? shortRate(most) : "", -6, (rateTop + rateBottom) / 2 + 1);
  for (const exact of [0, 1]) {
    c.beginPath();
    for (let x = 0; x < axis.width; x++) {
      const value = columns.rate[x] ?? NaN;
      if (columns.exact[x] !== exact) continue;
      // Dots where nothing is known yet.
      if (value === 0 && exact === 0 && x % 3 === 0) c.rect(x, rateBottom - 1, 1, 1);
      if (!(value > 0)) continue;
      const height = Math.max(0.75, (value / most) * (rateBottom - rateTop));
      c.rect(x, rateBottom - height, 1, height);
    }
    // What may be more is drawn paler.
    c.globalAlpha = exact === 1 ? 0.75 : 0.45;
    c.fill();
  }
  c.globalAlpha = 1;
}

/** The most characters of a flag's name that are written. */
const flagLimit = 28;

function drawFlags(c: CanvasRenderingContext2D, scene: Scene): void {
  const { axis, top, palette, peak } = scene;
  const { flagsBottom, plotBottom } = scene.rows;
  const marks = flagsShown(scene.whole.marks, axis);
  const regions = scene.whole.regions.filter(({ begin, end }) => end >= axis.span.begin && begin <= axis.span.end);
  c.fillStyle = palette.quiet;
  c.globalAlpha = 0.45;
  const begun = regions.map((region) => {
    const x = Math.max(0, toPixel(axis, region.begin));
    c.fillRect(x, flagsBottom - 3, Math.max(1, Math.min(axis.width, toPixel(axis, region.end)) - x), 2);
    return x;
  });
  c.globalAlpha = 1;
  c.strokeStyle = palette.quiet;
  c.lineWidth = 1;
  c.setLineDash([1, 3]);
  c.beginPath();
  for (const { x } of marks) {
    c.moveTo(x + 0.5, 2);
    c.lineTo(x + 0.5, plotBottom);
  }
  c.stroke();
  c.setLineDash([]);

  const peakX = toPixel(axis, peak.atNs);
  const peakShown = peakX >= 0 && peakX <= axis.width && peak.bytes > 0;
  const name = (text: string) => shorten(visible(text), flagLimit);
  const named = new Set<string>(); // regions come again and again: one label for each name
  const first = regions.flatMap((region, i) => {
    if (named.has(region.name)) return [];
    named.add(region.name);
    return [{ text: name(region.name), x: begun[i] ?? 0 }];
  });
  const peakY = yOf(scene, Math.min(peak.bytes, top));
  const peakText = `peak ${size(peak.bytes)}`;
  // Where higher curves, or a higher top, are far above the dot, its label is beside it.
  const low = peakShown && peakY > 2 * flagsBottom;
  const flags = [
    ...(peakShown && !low ? [{ text: peakText, x: peakX }] : []),
    ...marks.map(({ flag, x }) => ({ text: name(flag.name), x })),
    ...first,
  ];
  c.textAlign = "left";
  for (const { text, x, index } of placeFlags(flags, axis.width, measure(c))) {
    c.fillStyle = peakShown && !low && index === 0 ? palette.text : palette.quiet;
    c.fillText(text, x, 6);
  }
  if (!peakShown) return;
  c.fillStyle = palette.live;
  c.strokeStyle = palette.panel;
  c.lineWidth = 1.5;
  dot(c, peakX, peakY, 3.5);
  if (!low) return; // above the dot, where no curve comes
  const width = measure(c)(peakText);
  const x = peakX + 7 + width <= axis.width ? peakX + 7 : peakX - 7 - width;
  c.strokeStyle = palette.panel;
  c.lineWidth = 3;
  c.strokeText(peakText, x, peakY - 7);
  c.fillStyle = palette.text;
  c.fillText(peakText, x, peakY - 7);
}

function dot(c: CanvasRenderingContext2D, x: number, y: number, radius: number): void {
  c.beginPath();
  c.arc(x, y, radius, 0, 2 * Math.PI);
  c.fill();
  c.stroke();
}

/** What is drawn over the curves. */
export interface Overlay {
  ranges: Ranges;
  cursor: number | undefined;
  hover: number | undefined;
  ribbon: Ribbon | undefined;
  /** The whole run, if a part is shown. */
  run: Span | undefined;
}

export function drawOverlay(canvas: HTMLCanvasElement, scene: Scene, overlay: Overlay): void {
  const c = prepare(canvas, scene);
  if (!c) return;
  const { axis, palette } = scene;
  const of = measure(c);
  if (overlay.ribbon) drawRibbon(c, scene, overlay.ribbon);
  const pills = drawRanges(c, scene, overlay.ranges, of);
  if (overlay.hover !== undefined) drawMoment(c, scene, overlay.hover, palette.quiet);
  if (overlay.cursor !== undefined) drawMoment(c, scene, overlay.cursor, palette.text);

  // The axis of time gives way to the words for the ranges.
  scene.labels ??= timeTicks(axis, of).map(({ value, text }) => {
    const width = of(text);
    const x = Math.min(Math.max(toPixel(axis, value) - width / 2, -4), axis.width - width + right - 6);
    return { text, width, x };
  });
  c.textAlign = "left";
  c.fillStyle = palette.quiet;
  for (const { text, x } of keepClear(scene.labels, pills)) c.fillText(text, x, scene.rows.axisMiddle);
  if (overlay.run) drawStrip(c, scene, overlay.run);
}

/** How much of its colour a range gives to what is below. */
export const tint = 0.16;

/** Draws the ranges, and returns where their words are. */
function drawRanges(c: CanvasRenderingContext2D, scene: Scene, ranges: Ranges, of: Measure): Label[] {
  const { axis, palette } = scene;
  const { flagsBottom, plotBottom, rateBottom, axisMiddle } = scene.rows;
  const both = ranges.a !== undefined && ranges.b !== undefined;
  // The earlier one is A: the other one, which counts, is compared with it.
  const { a: later, b: earlier } = ordered(ranges);
  const list = [
    ...(earlier ? [{ name: both ? "A" : "", span: earlier, colour: palette.compare }] : []),
    ...(later ? [{ name: both ? "B" : "", span: later, colour: palette.accent }] : []),
  ];
  const pills = list.map(({ name, span, colour }) => {
    const [x0, x1] = [toPixel(axis, span.begin), toPixel(axis, span.end)];
    const [begin, end] = [Math.max(0, x0), Math.min(axis.width, x1)];
    if (begin < end) {
      c.fillStyle = colour;
      c.globalAlpha = tint;
      c.fillRect(begin, 0, end - begin, rateBottom);
      c.globalAlpha = 1;
    }
    c.fillStyle = colour;
    for (const x of [x0, x1]) {
      if (x < -0.5 || x > axis.width + 0.5) continue;
      c.fillRect(Math.round(x) - 0.5, 0, 1, rateBottom);
      c.fillRect(Math.round(x) - 1.5, (flagsBottom + plotBottom) / 2 - 8, 3, 16); // says that it can be moved
    }
    const delta = changeOver(scene.whole, scene.detail, span, scene.exact);
    return { middle: (begin + end) / 2, texts: rangeTexts(scene.clock.span(span), delta, name) };
  });
  const placed = placePills(pills, axis.width, of);
  c.textAlign = "left";
  placed.forEach(({ text, x }, i) => {
    c.fillStyle = list[i]?.colour ?? palette.accent;
    c.fillText(text, x, axisMiddle);
  });
  return placed;
}

function drawRibbon(c: CanvasRenderingContext2D, scene: Scene, ribbon: Ribbon): void {
  const { axis, top, palette } = scene;
  const columns = ribbonColumns(ribbon, axis);
  const y = (value: number) => yOf(scene, Math.min(value, top));
  c.fillStyle = palette.ribbon;
  band(c, columns, undefined, y, 0.5);
  curve(c, columns, y, palette.ribbon, 1.5, []);
}

/** A line at a moment, and dots where it meets the curves. */
function drawMoment(c: CanvasRenderingContext2D, scene: Scene, ns: number, colour: string) {
  const { axis, columns, palette } = scene;
  const { flagsBottom, rateBottom } = scene.rows;
  const at = toPixel(axis, ns);
  if (at < 0 || at > axis.width) return;
  const x = Math.min(Math.floor(at), axis.width - 1);
  c.fillStyle = colour;
  c.fillRect(x, flagsBottom, 1, rateBottom - flagsBottom);
  c.strokeStyle = palette.panel;
  c.lineWidth = 1;
  for (const [values, fill] of [[columns.resident, palette.resident], [columns.most, palette.live]] as const) {
    const value = values[x] ?? NaN;
    if (Number.isNaN(value)) continue;
    c.fillStyle = fill;
    dot(c, x + 0.5, yOf(scene, value), 3);
  }
}

/** Which part of the run is shown. */
function drawStrip(c: CanvasRenderingContext2D, { axis, palette, rows: { stripBar } }: Scene, run: Span): void {
  const [begin, end] = stripOf(axis, run);
  c.fillStyle = palette.line;
  c.fillRect(0, stripBar, axis.width, 3);
  c.fillStyle = palette.quiet;
  c.fillRect(begin, stripBar, end - begin, 3);
}

/** Where the shown part is on the strip for the whole run; at least so wide that it is seen. */
function stripOf({ span, width }: Axis, run: Span): [number, number] {
  const strip = { span: run, width };
  const least = 8;
  const begin = Math.min(toPixel(strip, span.begin), width - least);
  return [begin, Math.max(begin + least, toPixel(strip, span.end))];
}
