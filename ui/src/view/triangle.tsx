// The picture of generations: a triangle of cells on a canvas, whose rows and columns are named at its edges. It shows
// what it is given and reports the cell that the reader chooses.
import { signal, useSignal, type Signal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useId, useLayoutEffect, useMemo } from "preact/hooks";
import type { Clock } from "../model/clock.ts";
import {
  cellCount,
  inkOn,
  limitOf,
  momentOf,
  mostOf,
  moved,
  ramp,
  spanOf,
  strengthOf,
  strengths,
  valueOf,
  wordsOf,
  type Cell,
  type Kept,
  type Triangle,
} from "../model/generations.ts";
import { count, shortCount, size } from "../model/format.ts";
import { hintStyle } from "../model/hint.ts";
import { shorten, visible } from "../model/names.ts";
import { scaleOf } from "../model/table.ts";
import { themeChanges } from "./theme.tsx";
import { useWidth } from "./width.ts";

const headHeight = 22;
const font = '11px ui-monospace, "DejaVu Sans Mono", monospace';

/** Where things are, in pixels of the page. */
interface Layout {
  left: number; // where the first column begins
  cellWidth: number;
  rowHeight: number;
  width: number;
  height: number;
}

function layoutOf({ rows, moments }: Triangle, width: number, labels: number): Layout {
  const left = Math.min(Math.ceil(labels) + 12, Math.floor(0.4 * width));
  const cellWidth = Math.max(1, (width - left) / Math.max(1, moments.length));
  const rowHeight = rows.length <= 20 ? 24 : rows.length <= 40 ? 17 : 15;
  // Below all rows is their sum.
  return { left, cellWidth, rowHeight, width, height: headHeight + (rows.length + 1) * rowHeight + 2 };
}

export interface TriangleProps {
  triangle: Triangle;
  kept: Kept;
  clock: Clock;
  /** The cell that is current at first. */
  start: Cell | undefined;
  /** The reader chooses a cell. */
  choose: (cell: Cell) => void;
  /** Where the picture is drawn. */
  canvas: RefObject<HTMLCanvasElement | null>;
}

export function TrianglePicture({ triangle, kept, clock, start, choose, canvas }: TriangleProps) {
  const { box: place, width } = useWidth();
  const current = useSignal<Cell | undefined>(undefined);
  const hovered: Signal<{ cell: Cell; x: number } | undefined> = useMemo(() => signal(undefined), []);
  const id = useId();
  const theme = themeChanges.value;

  useEffect(() => {
    current.value = undefined;
    hovered.value = undefined;
  }, [triangle]);

  const names = useMemo(() => triangle.rows.map((_, i) => visible(spanOf(triangle, i, clock))), [triangle, clock]);
  const moments = useMemo(() => {
    return Array.from(triangle.moments, (_, i) => visible(momentOf(triangle, i, clock)));
  }, [triangle, clock]);
  const layout = useMemo(() => {
    const context = canvas.current?.getContext("2d");
    if (context) context.font = font;
    const wide = (text: string) => context?.measureText(shorten(text, 34)).width ?? 7 * Math.min(34, text.length);
    return layoutOf(triangle, width, Math.max(...names.map(wide), wide("all of these"), 60));
  }, [triangle, width, names]);

  useLayoutEffect(() => {
    if (canvas.current && layout.width > 0) draw(canvas.current, layout, triangle, kept, names, moments);
  }, [layout, triangle, kept, names, moments, theme]);

  const last = triangle.moments.length - 1;
  const earliest = triangle.rows[0]?.kept.bytes.findIndex((value) => !Number.isNaN(value)) ?? 0;
  const first: Cell = { row: 0, column: Math.max(0, earliest) };
  const at = current.value ?? start ?? first;
  /** The cell at a place of the window; the name of a row stands for its last cell. */
  const cellAt = (event: MouseEvent): Cell | undefined => {
    const box = place.current?.getBoundingClientRect();
    if (!box) return undefined;
    const [x, y] = [event.clientX - box.left, event.clientY - box.top - headHeight];
    const row = Math.floor(y / layout.rowHeight);
    const column = x < layout.left ? last : Math.floor((x - layout.left) / layout.cellWidth);
    const cell = { row, column };
    return y >= 0 && column <= last && !Number.isNaN(valueOf(triangle, cell, kept)) ? cell : undefined;
  };
  const move = (event: PointerEvent) => {
    const cell = cellAt(event);
    const box = place.current?.getBoundingClientRect();
    hovered.value = cell && box && { cell, x: event.clientX - box.left };
  };
  const press = (event: KeyboardEvent) => {
    if (event.altKey || event.metaKey) return;
    if (event.key === "Enter" || event.key === " ") choose(at);
    else {
      const next = moved(triangle, at, event.key, event.ctrlKey);
      if (!next) return;
      current.value = next;
      hovered.value = undefined;
      // A picture of many rows is higher than the window.
      queueMicrotask(() => document.getElementById(id)?.scrollIntoView?.({ block: "nearest" }));
    }
    event.preventDefault();
    event.stopPropagation();
  };
  const boxOf = ({ row, column }: Cell) => ({
    left: `${layout.left + column * layout.cellWidth}px`,
    top: `${headHeight + row * layout.rowHeight}px`,
    width: `${layout.cellWidth}px`,
    height: `${layout.rowHeight}px`,
  });
  const over = hovered.value;
  return (
    <>
      <div
        class={over ? "triangle choosing" : "triangle"}
        ref={place}
        tabIndex={0}
        role="grid"
        aria-label="how much of what each row allocated is live, by moment"
        aria-rowcount={triangle.rows.length}
        aria-colcount={triangle.moments.length}
        aria-activedescendant={id}
        style={{ height: `${layout.height}px` }}
        onKeyDown={press}
        onPointerMove={move}
        onPointerLeave={() => (hovered.value = undefined)}
        onClick={(event) => {
          const cell = cellAt(event);
          if (!cell) return;
          current.value = cell;
          choose(cell);
        }}
      >
        <canvas ref={canvas} aria-hidden="true" />
        <div role="row" aria-rowindex={at.row + 1}>
          <div
            id={id}
            role="gridcell"
            class="triangle-current"
            aria-colindex={at.column + 1}
            aria-selected="true"
            aria-label={wordsOf(triangle, at, clock)}
            style={boxOf(at)}
          />
        </div>
        {over && <div class="triangle-hovered" aria-hidden="true" style={boxOf(over.cell)} />}
        {over && <Hint words={wordsOf(triangle, over.cell, clock)} x={over.x} row={over.cell.row} layout={layout} />}
      </div>
      <p class="quiet triangle-said">
        <bdi>{visible(wordsOf(triangle, over?.cell ?? at, clock))}</bdi>
      </p>
    </>
  );
}

function Hint({ words, x, row, layout }: { words: string; x: number; row: number; layout: Layout }) {
  const top = headHeight + row * layout.rowHeight;
  const [where, what] = words.split(": ", 2);
  return (
    <div
      class="hint"
      aria-hidden="true"
      style={hintStyle({ ...layout, x, top, bottom: top + layout.rowHeight })}
    >
      <p class="quiet">
        <bdi>{visible(where ?? "")}</bdi>
      </p>
      <p>{what} · click for its flame graph</p>
    </div>
  );
}

function draw(
  canvas: HTMLCanvasElement,
  layout: Layout,
  triangle: Triangle,
  kept: Kept,
  names: readonly string[],
  moments: readonly string[],
): void {
  const { left, cellWidth, rowHeight, width, height } = layout;
  const scale = devicePixelRatio || 1;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const context = canvas.getContext("2d");
  if (!context) return;
  context.setTransform(scale, 0, 0, scale, 0, 0);
  const style = getComputedStyle(document.documentElement);
  const forced = matchMedia("(forced-colors: active)").matches;
  const [text, quiet, line] = ["--text", "--quiet", "--line"].map((name) => resolved(canvas, name, style));
  const fills = ramp(isDark(style));
  const most = mostOf(triangle, kept);
  const write = kept === "kept" ? scaleOf("bytes", most).text : cellCount;
  context.font = font;
  context.textBaseline = "middle";
  context.fillStyle = quiet!;
  heads(context, layout, moments);
  triangle.rows.forEach((_, row) => {
    const top = headHeight + row * rowHeight;
    context.textAlign = "left";
    context.fillStyle = quiet!;
    context.fillText(elided(context, names[row] ?? "", left - 8), 0, top + rowHeight / 2);
    context.textAlign = "center";
    for (let column = 0; column < moments.length; column++) {
      const value = valueOf(triangle, { row, column }, kept);
      if (Number.isNaN(value)) continue;
      const fill = fills[strengthOf(value, most)] ?? fills[0]!;
      const [x, gap] = [left + column * cellWidth, cellWidth > 4 ? 1 : 0];
      if (forced) {
        context.strokeStyle = line!;
        context.strokeRect(x + 0.5, top + 0.5, cellWidth - 1, rowHeight - 1);
      } else {
        context.fillStyle = fill;
        context.fillRect(x, top, cellWidth - gap, rowHeight - 1);
      }
      const said = write(value);
      if (context.measureText(said).width + 4 > cellWidth || rowHeight < 14) continue;
      context.fillStyle = forced ? text! : value === 0 ? quiet! : inkOn(fill);
      context.fillText(said, x + cellWidth / 2, top + rowHeight / 2);
    }
  });
  // The sum of all rows, which is what is live of the whole range.
  const top = headHeight + triangle.rows.length * rowHeight;
  context.fillStyle = line!;
  context.fillRect(0, top, width, 1);
  context.fillStyle = text!;
  context.textAlign = "left";
  context.fillText(elided(context, "all of these", left - 8), 0, top + rowHeight / 2 + 1);
  context.textAlign = "center";
  const sums = kept === "kept" ? triangle.together.bytes : triangle.together.blocks;
  const one = 1024 ** Math.max(0, Math.floor(Math.log2(Math.max(1, most)) / 10));
  const whole = (value: number) => (kept === "kept" ? count(Math.round(value / one)) : cellCount(value));
  moments.forEach((_, column) => {
    const value = sums[column] ?? NaN;
    const fits = (text: string) => context.measureText(text).width + 4 <= cellWidth;
    const said = [write(value), whole(value)].find(fits);
    if (said !== undefined) context.fillText(said, left + (column + 0.5) * cellWidth, top + rowHeight / 2 + 1);
  });
}

/** The moments: as many as have room, the last one always. */
function heads(context: CanvasRenderingContext2D, layout: Layout, moments: readonly string[]): void {
  const { left, cellWidth, width } = layout;
  const widest = Math.max(...moments.map((moment) => Math.min(110, context.measureText(moment).width)), 10);
  const every = Math.max(1, Math.ceil((widest + 8) / cellWidth));
  for (let column = moments.length - 1; column >= 0; column -= every) {
    const label = elided(context, moments[column] ?? "", Math.max(24, every * cellWidth - 6));
    const half = context.measureText(label).width / 2;
    const middle = Math.min(left + (column + 0.5) * cellWidth, width - half - 1);
    if (middle - half < left - 4) continue;
    context.textAlign = "center";
    context.fillText(label, middle, headHeight / 2);
  }
  context.textAlign = "left";
  context.fillText(elided(context, "allocated", left - 8), 0, headHeight / 2);
}

/** As much of a text as fits, and its end. */
function elided(context: CanvasRenderingContext2D, text: string, width: number): string {
  for (let limit = Math.min(text.length, 60); limit > 0; limit--) {
    const short = shorten(text, limit);
    if (context.measureText(short).width <= width) return short;
  }
  return "";
}

/** A colour of the page as the canvas takes it. */
function resolved(element: HTMLElement, name: string, style: CSSStyleDeclaration): string {
  const before = element.style.color;
  element.style.color = `var(${name})`;
  const colour = getComputedStyle(element).color || style.color;
  element.style.color = before;
  return colour;
}

function isDark({ colorScheme }: CSSStyleDeclaration): boolean {
  return colorScheme === "dark" || (colorScheme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
}

/** What the colours mean. */
export function TriangleLegend({ triangle, kept }: { triangle: Triangle; kept: Kept }) {
  void themeChanges.value; // it has the colours of the theme
  const most = mostOf(triangle, kept);
  const fills = ramp(isDark(getComputedStyle(document.documentElement)));
  if (most === 0) return null;
  const text = (strength: number) => {
    const limit = limitOf(strength, most);
    return kept === "kept" ? size(Math.round(limit)) : shortCount(Math.max(1, Math.round(limit)));
  };
  const unit = kept === "kept" ? scaleOf("bytes", most).unit : "blocks";
  const known = Array.from({ length: strengths }, (_, i) => i + 1).filter((s) => limitOf(s, most) >= 1);
  return (
    <p class="quiet triangle-legend">
      <span>in {unit} · up to</span>
      <span>
        <i style={{ background: fills[0] }} /> 0
      </span>
      {known.map((strength) => (
        <span key={strength}>
          <i style={{ background: fills[strength] }} /> {text(strength)}
        </span>
      ))}
    </p>
  );
}

