// Draws the cells of the heap on a canvas, in bands that are named at the left.
import { size } from "../model/format.ts";
import { bandName, lacksMemory, type Heap, type HeapColours, type HeapLayout, type HeapMoment } from "../model/heap.ts";
import { shorten } from "../model/names.ts";

const font = '11px ui-monospace, "DejaVu Sans Mono", monospace';

/** How visible cells are that have no selected block. */
const dimmed = 0.2;

export interface Drawn {
  heap: Heap;
  layout: HeapLayout;
  moment: HeapMoment;
  colours: HeapColours;
  /** What the blocks that filters select have of each cell; undefined: no cell is dim. */
  selected: Uint8Array | undefined;
}

export function draw(canvas: HTMLCanvasElement, drawn: Drawn): void {
  const { heap, layout, moment, colours } = drawn;
  const { left, tops, width, height } = layout;
  const context = canvas.getContext("2d");
  if (!context) return;
  const scale = devicePixelRatio || 1;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const style = getComputedStyle(canvas);
  // Where the system decides on colours, a cell that has blocks is filled, and one without has a line.
  const forced = matchMedia("(forced-colors: active)").matches;
  drawCells(context, scale, drawn, forced ? pixelOf(context, style.color) : undefined);
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.font = font;
  context.textBaseline = "top";
  context.fillStyle = style.color;
  heap.bands.forEach((band, i) => {
    const top = tops[i] ?? 0;
    context.fillText(fitted(context, bandName(band), left - 10), 0, top + 1);
    const cell = band.cellBytes > 4096 ? `, ${size(band.cellBytes)} a cell` : "";
    context.fillText(fitted(context, `${size(band.bytes)}${cell}`, left - 10), 0, top + 15);
  });
  if (moment.absent.length === 0) return;
  const lines = hatch(context, layout.edge, forced ? getComputedStyle(document.body).backgroundColor : colours.empty);
  if (!lines) return;
  context.fillStyle = lines;
  eachCell(heap, layout, (n, x, y) => {
    if (lacksMemory(moment, n)) context.fillRect(x, y, layout.edge, layout.edge);
  });
}

function eachCell({ bands, used }: Heap, layout: HeapLayout, each: (n: number, x: number, y: number) => void): void {
  const { left, pitch, columns, tops } = layout;
  bands.forEach((band, i) => {
    const top = tops[i] ?? 0;
    for (let k = 0; k < band.cells; k++) {
      const n = band.first + k;
      if (used[n]) each(n, left + (k % columns) * pitch, top + Math.floor(k / columns) * pitch);
    }
  });
}

/**
 * Sets the pixels of cells one by one: there are up to 12,000 cells, and that many rectangles would take the browser
 * longer than a picture of a film is shown.
 */
function drawCells(
  context: CanvasRenderingContext2D,
  scale: number,
  { heap, layout, moment, colours, selected }: Drawn,
  forced: number | undefined,
): void {
  const { left, edge } = layout;
  const from = Math.round(left * scale);
  const { width, height } = context.canvas;
  if (width <= from || height === 0) return;
  const image = context.createImageData(width - from, height);
  const pixels = new Uint32Array(image.data.buffer);
  eachCell(heap, layout, (n, x, y) => {
    const fill = moment.fill[n] ?? 0;
    const colour = forced ?? colours.pixel(fill, moment.age[n] ?? 0, moment.tint[n] ?? 0, moment.resident[n]);
    const alpha = selected && fill > 0 && selected[n] === 0 ? dimmed : 1;
    const line = forced !== undefined && fill === 0;
    const [x0, x1] = [Math.round(x * scale) - from, Math.round((x + edge) * scale) - from];
    const [y0, y1] = [Math.round((line ? y + edge - 1 : y) * scale), Math.round((y + edge) * scale)];
    // Red comes first in memory, and so lowest in a number on the processors that there are browsers for.
    const pixel = (Math.round(255 * alpha) << 24) | colour;
    for (let row = y0; row < y1; row++) pixels.fill(pixel, row * image.width + x0, row * image.width + x1);
  });
  context.putImageData(image, from, 0);
}

/** A colour of a style, as those of cells. */
function pixelOf(context: CanvasRenderingContext2D, colour: string): number {
  context.fillStyle = colour;
  context.fillRect(0, 0, 1, 1);
  const [red = 0, green = 0, blue = 0] = context.getImageData(0, 0, 1, 1).data;
  context.clearRect(0, 0, 1, 1);
  return red | (green << 8) | (blue << 16);
}

/** Lines over cells of so many pixels, of which live bytes are not in memory. */
function hatch(context: CanvasRenderingContext2D, edge: number, colour: string): CanvasPattern | null {
  const tile = document.createElement("canvas");
  const side = Math.max(3, Math.min(6, Math.round(edge / 2)));
  tile.width = tile.height = side;
  const draws = tile.getContext("2d");
  if (!draws) return null;
  draws.fillStyle = colour;
  const line = Math.max(1, Math.floor(side / 3));
  for (let y = 0; y < side; y++) {
    for (let x = 0; x < side; x++) if ((x + y) % side < line) draws.fillRect(x, y, 1, 1);
  }
  return context.createPattern(tile, "repeat");
}

function fitted(context: CanvasRenderingContext2D, text: string, width: number): string {
  for (let limit = Math.min(text.length, 40); limit > 0; limit--) {
    const short = shorten(text, limit);
    if (context.measureText(short).width <= width) return short;
  }
  return "";
}
