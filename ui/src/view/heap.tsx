// The picture of the heap: cells on a canvas, in bands that are named at the left. It shows the moment that it is given
// and reports the cell that the reader chooses.
import { signal, useSignal, type Signal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useId, useLayoutEffect, useMemo } from "preact/hooks";
import { duration, size } from "../model/format.ts";
import {
  ageOf,
  areaWith,
  bandName,
  cellAt,
  cellBox,
  cellWords,
  heapLayout,
  heapIn,
  HeapColours,
  movedCell,
  wordsOf,
  type Area,
  type CellWords,
  type Heap,
  type HeapLayout,
  type Tint,
} from "../model/heap.ts";
import { hintStyle } from "../model/hint.ts";
import { shorten, visible } from "../model/names.ts";
import { themeChanges } from "./theme.tsx";
import { useWheel } from "./wheel.ts";
import { useWidth } from "./width.ts";

const font = '11px ui-monospace, "DejaVu Sans Mono", monospace';

export interface HeapPictureProps {
  heap: Heap;
  /** By what cells are coloured. */
  tint: Tint;
  /** The number of the moment. */
  now: Signal<number>;
  /** The part of the heap that is shown. */
  area: Signal<Area>;
  /** The reader wants to see so many times as much, with a cell at its place. False: nothing happens. */
  zoom: (cell: number, times: number) => boolean;
  /** The cell that was chosen. */
  chosen: number | undefined;
  /** The reader chooses a cell. */
  choose: (cell: number) => void;
  /** What a click does, in words. */
  does: string;
  canvas: RefObject<HTMLCanvasElement | null>;
}

/** How large the cells may be of which only some are shown. */
const largestZoomed = 120;

export function HeapPicture({ heap, tint, now, area, zoom, chosen, choose, does, canvas }: HeapPictureProps) {
  const { box: place, width } = useWidth();
  const current = useSignal<number | undefined>(undefined);
  const hovered: Signal<{ cell: number; x: number; y: number } | undefined> = useMemo(() => signal(undefined), []);
  const id = useId();
  const theme = themeChanges.value;
  const moment = heap.moments[now.value]!;

  useEffect(() => {
    current.value = undefined;
    hovered.value = undefined;
  }, [heap]);

  const { part, layout } = useMemo(() => {
    const left = width < 600 ? 100 : 150;
    const whole = heapLayout(heap, width, Math.max(240, 0.55 * window.innerHeight), left);
    const part = heapIn(heap, area.value);
    if (part === heap) return { part, layout: whole };
    const room = Math.max(whole.height, 240);
    // What is below the picture keeps its place.
    return { part, layout: { ...heapLayout(part, width, room, left, largestZoomed), height: room } };
  }, [heap, width, area.value]);
  const colours = useMemo(() => new HeapColours(heap, tint, isDark()), [heap, tint, theme]);
  useLayoutEffect(() => {
    if (canvas.current && layout.width > 0) draw(canvas.current, part, layout, now.value, colours);
  }, [part, layout, now.value, colours]);

  const { first, cells } = area.value;
  const known = current.value ?? chosen ?? -1;
  const at = known >= first && known < first + cells ? known : Math.max(heap.used.indexOf(1, first), 0);
  const over = (event: MouseEvent) => {
    const box = place.current?.getBoundingClientRect();
    if (!box) return undefined;
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const cell = cellAt(part, layout, x, y);
    return cell === undefined ? undefined : { cell, x, y };
  };
  const press = (event: KeyboardEvent) => {
    if (event.altKey || event.metaKey || event.ctrlKey) return;
    if (event.key === "Enter" || event.key === " ") choose(at);
    else if (event.key === "+" || event.key === "=") zoom(at, 0.5);
    else if (event.key === "-") zoom(at, 2);
    else {
      const next = movedCell(part, layout, at, event.key);
      if (next === undefined) return;
      current.value = next;
      area.value = areaWith(area.value, next);
      hovered.value = undefined;
      queueMicrotask(() => document.getElementById(id)?.scrollIntoView?.({ block: "nearest" }));
    }
    event.preventDefault();
    event.stopPropagation();
  };
  const boxOf = (cell: number) => {
    const { x, y } = cellBox(part, layout, cell);
    return { left: `${x}px`, top: `${y}px`, width: `${layout.edge}px`, height: `${layout.edge}px` };
  };
  useWheel(place, (event, times) => {
    const cell = over(event)?.cell ?? at;
    hovered.value = undefined;
    return zoom(cell, times);
  });
  const shown = chosen !== undefined && chosen >= first && chosen < first + cells;
  const under = hovered.value;
  const words = cellWords(heap, moment, under?.cell ?? at);
  return (
    <>
      <div
        class={under ? "heap-picture choosing" : "heap-picture"}
        ref={place}
        tabIndex={0}
        role="grid"
        aria-label="how full the pages of the heap are"
        aria-rowcount={heap.bands.length}
        aria-colcount={heap.cells}
        aria-activedescendant={id}
        style={{ height: `${layout.height}px` }}
        onKeyDown={press}
        onPointerMove={(event) => (hovered.value = over(event))}
        onPointerLeave={() => (hovered.value = undefined)}
        onClick={(event) => {
          const found = over(event);
          if (!found) return;
          current.value = found.cell;
          choose(found.cell);
        }}
      >
        <canvas ref={canvas} aria-hidden="true" />
        <div role="row" aria-rowindex={1 + heap.bands.findIndex(({ first, cells }) => at < first + cells)}>
          <div
            id={id}
            role="gridcell"
            class="heap-current"
            aria-colindex={at + 1}
            aria-selected="true"
            aria-label={wordsOf(heap, moment, at)}
            style={boxOf(at)}
          />
        </div>
        {shown && <div class="heap-chosen" aria-hidden="true" style={boxOf(chosen)} />}
        {under && <div class="heap-hovered" aria-hidden="true" style={boxOf(under.cell)} />}
        {under && <Hint words={words} does={does} x={under.x} y={under.y} layout={layout} />}
      </div>
      <p class="quiet heap-said">
        <bdi>{wordsOf(heap, moment, under?.cell ?? at)}</bdi>
      </p>
    </>
  );
}

function Hint(props: { words: CellWords; does: string; x: number; y: number; layout: HeapLayout }) {
  const { words, does, x, y, layout } = props;
  const { where, full, whose } = words;
  return (
    <div class="hint" aria-hidden="true" style={hintStyle({ ...layout, x, top: y, bottom: y + layout.pitch })}>
      <p class="quiet">
        <bdi>{where}</bdi>
      </p>
      <p>
        <bdi>{[full, whose].filter(Boolean).join(", ")}</bdi>
        {full !== "" && ` · ${does}`}
      </p>
    </div>
  );
}

function draw(canvas: HTMLCanvasElement, heap: Heap, layout: HeapLayout, now: number, colours: HeapColours): void {
  const { left, pitch, edge, columns, tops, width, height } = layout;
  const moment = heap.moments[now];
  const context = canvas.getContext("2d");
  if (!context || !moment) return;
  const scale = devicePixelRatio || 1;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  context.setTransform(scale, 0, 0, scale, 0, 0);
  const style = getComputedStyle(canvas);
  const forced = matchMedia("(forced-colors: active)").matches;
  context.font = font;
  context.textBaseline = "top";
  heap.bands.forEach((band, i) => {
    const top = tops[i] ?? 0;
    context.fillStyle = style.color;
    context.fillText(fitted(context, bandName(band), left - 10), 0, top + 1);
    const cell = band.cellBytes > 4096 ? `, ${size(band.cellBytes)} a cell` : "";
    context.fillText(fitted(context, `${size(band.bytes)}${cell}`, left - 10), 0, top + 15);
    for (let k = 0; k < band.cells; k++) {
      const n = band.first + k;
      if (!heap.used[n]) continue;
      const fill = moment.fill[n] ?? 0;
      // Where the system decides on colours, a cell that has blocks is filled.
      context.fillStyle = !forced
        ? colours.of(fill, moment.age[n] ?? 0, moment.tint[n] ?? 0, moment.resident[n])
        : style.color;
      const [x, y] = [left + (k % columns) * pitch, top + Math.floor(k / columns) * pitch];
      if (forced && fill === 0) context.fillRect(x, y + edge - 1, edge, 1);
      else context.fillRect(x, y, edge, edge);
    }
  });
}

function fitted(context: CanvasRenderingContext2D, text: string, width: number): string {
  for (let limit = Math.min(text.length, 40); limit > 0; limit--) {
    const short = shorten(text, limit);
    if (context.measureText(short).width <= width) return short;
  }
  return "";
}

export function isDark(): boolean {
  const { colorScheme } = getComputedStyle(document.documentElement);
  return colorScheme === "dark" || (colorScheme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
}

const fillWords = ["nearly empty", "", "half full", "", "full"];

/** What the colours mean. */
export function HeapLegend({ heap, tint }: { heap: Heap; tint: Tint }) {
  void themeChanges.value; // it has the colours of the theme
  const colours = new HeapColours(heap, tint, isDark());
  const steps = [0, 0.25, 0.5, 0.75, 1];
  const ages = steps.map((at) => Math.round(255 * at));
  const entries: (readonly [string, string])[] =
    tint === "occupancy"
      ? steps.map((at) => [colours.of(Math.round(1 + 254 * at), 0, 0), fillWords[4 * at] ?? ""])
      : tint === "age"
        ? ages.map((age) => [colours.of(255, age, 0), `${duration(ageOf(heap, age))}${age === 255 ? " old" : ""}`])
        : [...heap.names, "others"].map((name, i) => [colours.of(255, 0, i), shorten(visible(name), 40)]);
  const known = heap.moments.some(({ resident }) => resident.length > 0);
  const empty: (readonly [string, string])[] = known
    ? [[colours.held, "empty, but in memory"], [colours.empty, "not in memory"]]
    : [[colours.empty, "empty, but once used"]];
  return (
    <p class="quiet heap-legend">
      {[...entries, ...empty].map(([colour, text], i) => (
        <span key={i}>
          <i style={{ background: colour }} /> <bdi>{text}</bdi>
        </span>
      ))}
    </p>
  );
}
