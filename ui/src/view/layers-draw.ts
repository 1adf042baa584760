// Draws layers and curves over time on a canvas.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { shortCount } from "../model/format.ts";
import { timeTicks, byteTicks } from "../model/timeline-labels.ts";
import { toPixel, type Axis } from "../model/timeline.ts";
import { timeText, type Span } from "../model/time.ts";
import type { Palette } from "./timeline-draw.ts";

/** The colours of layers: told apart by hue and by lightness, in both themes. The rest is grey. */
const light = ["#2f6fb5", "#e08a3c", "#3d8f5f", "#b65fa8", "#c9a227", "#3fa3ad", "#c4564f", "#7b68c4", "#8b7147",
  "#7fa33a"];
const dark = ["#6ba3e8", "#eda65e", "#6fc291", "#d78fcb", "#e3c659", "#74cad2", "#e98880", "#ac9ceb", "#c2a678",
  "#aacd6d"];

export function layerColour(i: number, inDark: boolean): string {
  const list = inDark ? dark : light;
  return list[i % list.length] ?? "";
}

export function restColour(inDark: boolean): string {
  return inDark ? "#6d7885" : "#a9b1ba";
}

const systemDark = matchMedia("(prefers-color-scheme: dark)");

function isDark(): boolean {
  const chosen = document.documentElement.dataset["theme"];
  return chosen === "dark" || (chosen !== "light" && systemDark.matches);
}

/** Whether the page is dark, as that changes. (theme.tsx is part of the app's first file, and stays there.) */
export function useDark(): boolean {
  const dark = useSignal(isDark());
  useEffect(() => {
    const look = () => (dark.value = isDark());
    const chosen = new MutationObserver(look);
    chosen.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    systemDark.addEventListener("change", look);
    return () => {
      chosen.disconnect();
      systemDark.removeEventListener("change", look);
    };
  }, []);
  return dark.value;
}

/** Left of the curves are the labels of the values. */
export const chartGutter = 72;
const rightEdge = 8;

export function chartAxis(width: number, span: Span): Axis {
  return { span, width: Math.max(1, Math.floor(width) - chartGutter - rightEdge) };
}

export interface Curve {
  values: Float64Array;
  colour: string;
  /** A bar for each step, the area between this curve and the one before, or a line. */
  kind: "bars" | "area" | "line";
  dash?: readonly number[];
}

export interface Chart {
  width: number;
  height: number;
  axis: Axis;
  timesNs: Float64Array;
  curves: readonly Curve[];
  /** The value at the top. */
  top: number;
  bytes: boolean;
  /** The moments are written below. */
  times: boolean;
  /** The curve that the pointer is on; -1: none. */
  chosen: number;
  /** The moment at the pointer, and the one that is chosen. */
  hover: number | undefined;
  cursor: number | undefined;
}

const timesHeight = 18;

export function plotHeight({ height, times }: Pick<Chart, "height" | "times">): number {
  return height - (times ? timesHeight : 2);
}

export function drawChart(canvas: HTMLCanvasElement, chart: Chart, palette: Palette): void {
  const { width, height, axis, timesNs, curves, top, chosen } = chart;
  const ratio = devicePixelRatio;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const c = canvas.getContext("2d");
  if (!c) return;
  c.setTransform(ratio, 0, 0, ratio, 0, 0);
  c.clearRect(0, 0, width, height);
  c.translate(chartGutter, 0);
  c.font = palette.font;
  c.direction = "ltr";
  c.textBaseline = "middle";
  const bottom = plotHeight(chart);
  const y = (value: number) => bottom - (value / top) * (bottom - 4);
  const x = (ns: number) => Math.max(-1, Math.min(axis.width + 1, toPixel(axis, ns)));

  c.lineWidth = 1;
  c.strokeStyle = palette.line;
  c.fillStyle = palette.quiet;
  c.textAlign = "right";
  for (const { value, text } of chart.bytes ? byteTicks(top, bottom, 26) : countTicks(top)) {
    const at = Math.round(y(value)) + 0.5;
    line(c, 0, at, axis.width, at);
    c.fillText(text, -6, Math.max(7, at));
  }
  line(c, 0, bottom + 0.5, axis.width, bottom + 0.5);

  c.save();
  c.beginPath();
  c.rect(0, 0, axis.width, bottom + 1);
  c.clip();
  let below: Float64Array | undefined;
  curves.forEach(({ values, colour, kind, dash }, i) => {
    c.globalAlpha = chosen >= 0 && chosen !== i ? 0.35 : 1;
    if (kind === "area") {
      c.beginPath();
      values.forEach((value, k) => c.lineTo(x(timesNs[k] ?? 0), y(value)));
      for (let k = values.length - 1; k >= 0; k--) c.lineTo(x(timesNs[k] ?? 0), y(below?.[k] ?? 0));
      c.closePath();
      c.fillStyle = colour;
      c.fill();
      below = values;
    } else if (kind === "bars") {
      c.beginPath();
      for (let k = 1; k < values.length; k++) {
        const [from, to] = [x(timesNs[k - 1] ?? 0), x(timesNs[k] ?? 0)];
        const value = values[k] ?? 0;
        if (value > 0) c.rect(from, Math.min(y(value), bottom - 1), Math.max(1, to - from), bottom - y(value) + 1);
      }
      c.fillStyle = colour;
      c.fill();
    } else {
      c.beginPath();
      values.forEach((value, k) => c.lineTo(x(timesNs[k] ?? 0), y(value)));
      c.strokeStyle = colour;
      c.lineWidth = 1.5;
      c.setLineDash([...(dash ?? [])]);
      c.stroke();
      c.setLineDash([]);
    }
  });
  c.globalAlpha = 1;
  // A line of the page's colour parts the layers.
  c.strokeStyle = palette.panel;
  c.lineWidth = 0.75;
  for (const { values, kind } of curves) {
    if (kind !== "area") continue;
    c.beginPath();
    values.forEach((value, k) => c.lineTo(x(timesNs[k] ?? 0), y(value)));
    c.stroke();
  }
  for (const [moment, colour] of [[chart.cursor, palette.accent], [chart.hover, palette.text]] as const) {
    if (moment === undefined) continue;
    c.strokeStyle = colour;
    c.lineWidth = 1;
    const at = Math.round(x(moment)) + 0.5;
    line(c, at, 0, at, bottom);
  }
  c.restore();
  if (!chart.times) return;
  c.fillStyle = palette.quiet;
  c.textAlign = "center";
  const measure = (text: string) => c.measureText(text).width;
  for (const { value, text } of timeTicks(axis, measure)) {
    const half = measure(text) / 2;
    const at = toPixel(axis, value);
    if (at - half >= -chartGutter && at + half <= axis.width + rightEdge) c.fillText(text, at, bottom + 10);
  }
}

function line(c: CanvasRenderingContext2D, x1: number, y1: number, x2: number, y2: number): void {
  c.beginPath();
  c.moveTo(x1, y1);
  c.lineTo(x2, y2);
  c.stroke();
}

/** The top and its half, as counts. */
function countTicks(top: number): { value: number; text: string }[] {
  const exponent = 10 ** Math.floor(Math.log10(Math.max(1, top)));
  const step = [1, 2, 5, 10].map((n) => n * exponent).find((n) => n * 2 > top) ?? exponent;
  return [step, step / 2].filter((v) => v >= 1 && v <= top).map((value) => ({ value, text: shortCount(value) }));
}

/** What is read out of a moment. */
export function momentWords(ns: number): string {
  return `${timeText(ns)} after the start`;
}
