// The picture of the heap: cells on a canvas, in bands that are named at the left. It shows the moment that it is given
// and reports the cell that the reader chooses.
import type { Signal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useId, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { duration } from "../model/format.ts";
import {
  ageOf,
  areaWith,
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
import { draw } from "./heap-draw.ts";
import { themeChanges } from "./theme.tsx";
import { useWheel } from "./wheel.ts";
import { useWidth } from "./width.ts";

export interface HeapPictureProps {
  heap: Heap;
  /** By what cells are coloured. */
  tint: Tint;
  /** The number of the moment. */
  now: Signal<number>;
  /** What the blocks that the filters select have of each cell then; undefined: all, or it is not known. */
  selected: Uint8Array | undefined;
  /** The part of the heap that is shown. */
  area: Signal<Area>;
  /** The reader wants to see so many times as much, with a cell at its place. False: nothing happens. */
  zoom: (cell: number, times: number) => boolean;
  /** Where the pointer is. */
  pointed: Signal<Pointed | undefined>;
  /** The cell that the keyboard is at; undefined: none. */
  current: Signal<number | undefined>;
  /** The cell that was chosen. */
  chosen: number | undefined;
  /** The reader chooses a cell. */
  choose: (cell: number) => void;
  /** What a click does, in words. */
  does: string;
  canvas: RefObject<HTMLCanvasElement | null>;
}

/** A cell under the pointer. */
export interface Pointed {
  cell: number;
  x: number;
  y: number;
}

/** How large the cells may be of which only some are shown. */
const largestZoomed = 120;

export function HeapPicture(props: HeapPictureProps) {
  const { heap, tint, now, selected, area, zoom, pointed, current, chosen, choose, does, canvas } = props;
  const { box: place, width } = useWidth();
  const id = useId();
  const theme = themeChanges.value;
  const moment = heap.moments[now.value]!;

  const room = useRef(0);
  const { part, layout } = useMemo(() => {
    const left = width < 600 ? 100 : 150;
    const whole = heapLayout(heap, width, Math.max(240, 0.55 * window.innerHeight), left);
    const part = heapIn(heap, area.value);
    if (part === heap) {
      room.current = Math.max(whole.height, 240);
      return { part, layout: whole };
    }
    // What is below the picture keeps its place, and cells keep theirs when another answer has more of them.
    const height = room.current || Math.max(whole.height, 240);
    return { part, layout: { ...heapLayout(part, width, height, left, largestZoomed), height } };
  }, [heap, width, area.value]);
  const colours = useMemo(() => new HeapColours(heap, tint, isDark()), [heap, tint, theme]);
  // Not before the page has found the cell that was there in another answer.
  useEffect(() => {
    const { x, y } = pointed.peek() ?? {};
    if (x === undefined || y === undefined) return;
    const cell = cellAt(part, layout, x, y);
    pointed.value = cell === undefined ? undefined : { cell, x, y };
  }, [part, layout]);
  useLayoutEffect(() => {
    const moment = part.moments[now.value];
    if (!canvas.current || layout.width === 0 || !moment) return;
    draw(canvas.current, { heap: part, layout, moment, colours, selected });
  }, [part, layout, now.value, colours, selected]);

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
      pointed.value = undefined;
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
    pointed.value = undefined;
    return zoom(cell, times);
  });
  const shown = chosen !== undefined && chosen >= first && chosen < first + cells;
  const under = pointed.value;
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
        onPointerMove={(event) => (pointed.value = over(event))}
        onPointerLeave={() => (pointed.value = undefined)}
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
  const hatched = `repeating-linear-gradient(135deg, ${colours.empty} 0 2px, ${colours.of(255, 255, 0)} 2px 5px)`;
  const empty: (readonly [string, string])[] = known
    ? [
        [colours.held, "empty, but in memory"],
        [colours.empty, "empty, not in memory"],
        [hatched, "live, not in memory"],
      ]
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
