// Draws a flame graph on a canvas. What is drawn, and where, the model says; here are only pixels.
import type { Palette } from "../model/flame/colour.ts";
import type { Laid } from "../model/flame/job.ts";
import { figuresIn, type Labels } from "../model/flame/label.ts";
import { rowOf, visitRow } from "../model/flame/layout.ts";
import type { View } from "../model/flame/view.ts";

export const rowHeight = 20;

/** Colours of the page around the picture. */
export interface Ground {
  page: string;
  text: string;
  quiet: string;
  accent: string;
  /** The system decides all colours: frames have an edge instead of a fill. */
  forced: boolean;
}

export interface Picture {
  laid: Laid;
  /** By frame: its name; and by node: the colour. */
  names: readonly string[];
  colours: Uint8Array;
  palette: Palette;
  ground: Ground;
  labels: Labels;
  /** What is written behind a name, if there is room. */
  valueOf: (node: number) => readonly string[];
  /** The name of a node that is no frame: the root, and library frames that were folded. */
  nameOf: (node: number) => string | undefined;
  /** By node: whether it matches what is searched; undefined: nothing is. */
  matches: Uint8Array | undefined;
  current: number; // box
  hovered: number; // box; -1: none
  /** Frames are above what called them, or what they called. */
  upwards: boolean;
}

/** A part of a canvas. */
export interface Area {
  width: number;
  height: number;
}

/** The rows that are seen, and where a row begins. */
export function rowsIn(laid: Laid, view: View, { height }: Area): [number, number] {
  const rows = laid.layout.rowStart.length - 1;
  const first = Math.max(0, Math.floor(view.top / rowHeight));
  return [first, Math.min(rows, Math.ceil((view.top + height) / rowHeight))];
}

export function topOf(row: number, view: View, { height }: Area, upwards: boolean): number {
  const down = row * rowHeight - view.top;
  return upwards ? height - down - rowHeight : down;
}

/** The row at a place. */
export function rowAt(y: number, view: View, { height }: Area, upwards: boolean): number {
  return Math.floor(((upwards ? height - y : y) + view.top) / rowHeight);
}

const font = '12px ui-monospace, "DejaVu Sans Mono", monospace';
const padding = 5;

/** Frames narrower than this are drawn as pixels, since there may be ten thousand of them in sight. */
const narrow = 3;

/**
 * The narrow frames of all rows, one line of pixels for each row: these are drawn at once, stretched to the rows'
 * height.
 */
class Strips {
  readonly #canvas = document.createElement("canvas");
  readonly #context: CanvasRenderingContext2D | null;
  readonly #image: ImageData;
  readonly #pixels: Uint32Array;
  readonly #colours = new WeakMap<readonly string[], Uint32Array>();
  used = 0;

  constructor(
    readonly width: number,
    readonly rows: number,
    readonly scale: number,
  ) {
    this.#canvas.width = width;
    this.#canvas.height = rows;
    this.#context = this.#canvas.getContext("2d");
    this.#image = new ImageData(width, rows);
    this.#pixels = new Uint32Array(this.#image.data.buffer);
  }

  clear(): void {
    this.#pixels.fill(0, 0, this.used * this.width);
    this.used = 0;
  }

  /** Fills a part of a row with a colour, or for -1 with hatching. */
  fill(row: number, from: number, to: number, colour: number, fills: readonly string[], palette: Palette): void {
    if (row >= this.used) this.used = row + 1;
    const begin = Math.max(0, Math.round(from * this.scale));
    const end = Math.min(this.width, Math.max(begin + 1, Math.round(to * this.scale)));
    const start = row * this.width;
    if (colour >= 0) {
      this.#pixels.fill(this.#of(fills)[colour]!, start + begin, start + end);
      return;
    }
    const hatch = this.#of(palette.hatch);
    for (let x = begin; x < end; x++) this.#pixels[start + x] = hatch[(x + row) % 3 === 0 ? 1 : 0]!;
  }

  /** Colours as the pixels have them. */
  #of(colours: readonly string[]): Uint32Array {
    let list = this.#colours.get(colours);
    if (!list) {
      const bytes = colours.flatMap((c) => [...[1, 3, 5].map((i) => parseInt(c.slice(i, i + 2), 16)), 255]);
      this.#colours.set(colours, (list = new Uint32Array(Uint8Array.from(bytes).buffer)));
    }
    return list;
  }

  /** The rows as a picture; upwards, the first one is at the bottom. */
  picture(upwards: boolean): HTMLCanvasElement {
    if (upwards) {
      for (let [a, b] = [0, this.used - 1]; a < b; a++, b--) {
        const line = this.#pixels.slice(a * this.width, (a + 1) * this.width);
        this.#pixels.copyWithin(a * this.width, b * this.width, (b + 1) * this.width);
        this.#pixels.set(line, b * this.width);
      }
    }
    this.#context?.putImageData(this.#image, 0, 0, 0, 0, this.width, this.used);
    return this.#canvas;
  }
}

export class Painter {
  readonly #context: CanvasRenderingContext2D;
  #charWidth = 0;
  #found: readonly string[] | undefined;
  #memory: Strips | undefined;
  #hatches = new Map<string, CanvasPattern | null>();

  constructor(context: CanvasRenderingContext2D) {
    this.#context = context;
  }

  paint(picture: Picture, view: View, area: Area): void {
    const context = this.#context;
    const { laid, palette, ground, matches, upwards } = picture;
    const { layout } = laid;
    context.fillStyle = ground.page;
    context.fillRect(0, 0, area.width, area.height);
    context.font = font;
    context.textBaseline = "middle";
    this.#charWidth ||= context.measureText("0".repeat(50)).width / 50;
        const { fills, faded } = palette;
    const hatch = ground.forced ? ground.quiet : this.#hatch(palette.hatch);
    const window = { left: view.left, right: view.right, pixels: area.width };
    const texts: [node: number, count: number, x: number, y: number, width: number][] = [];
    const [first, last] = rowsIn(laid, view, area);
    const strips = ground.forced ? undefined : this.#strips(area.width, last - first);
    const height = rowHeight - 1;
    const wide: number[] = []; // node, x, y and width of frames that are drawn one by one
    for (let row = first; row < last; row++) {
      const y = topOf(row, view, area, upwards);
      visitRow(layout, row, window, (from, to, left, right) => {
        const x = left < -1 ? -1 : left;
        const end = right > area.width + 1 ? area.width + 1 : right;
        const width = end - x;
        const node = to > from + 1 || width < 0.5 ? -1 : layout.node[from]!;
        if (width < narrow && strips) {
          const colour = node < 0 ? -1 : picture.colours[node]!;
          const isMatch = node >= 0 && matches?.[node] === 1;
          if (isMatch) strips.fill(row - first, x, end, 0, this.#foundOf(palette), palette);
          else strips.fill(row - first, x, end, colour, matches ? palette.faded : palette.fills, palette);
          return;
        }
        const drawn = width > 3 && node >= 0 ? width - 1 : Math.max(1, width);
        wide.push(node, x, y, drawn);
        const begin = Math.max(0, x);
        if (drawn >= 28) texts.push([node, to - from, begin, y, Math.min(area.width, x + drawn) - begin]);
      });
    }
    if (strips) this.#drawStrips(strips, topOf(upwards ? last - 1 : first, view, area, upwards), area, ground, upwards);
    let fill: string | CanvasPattern | undefined;
    for (let i = 0; i < wide.length; i += 4) {
      const [node, x, y, width] = [wide[i]!, wide[i + 1]!, wide[i + 2]!, wide[i + 3]!];
      const isMatch = matches !== undefined && matches[node] === 1;
      if (ground.forced && node >= 0) {
        context.strokeStyle = isMatch ? ground.accent : ground.text;
        context.strokeRect(x + 0.5, y + 0.5, width - 1, height - 1);
        continue;
      }
      const next = node < 0 ? hatch : isMatch ? palette.found : (matches ? faded : fills)[picture.colours[node]!]!;
      if (next !== fill) context.fillStyle = fill = next;
      context.fillRect(x, y, width, height);
      if (isMatch) {
        context.fillStyle = fill = palette.match;
        context.fillRect(x, y + height - 2, width, 2);
      }
    }
    context.fillStyle = ground.forced ? ground.text : palette.text;
    for (const [node, count, x, y, width] of texts) this.#write(picture, node, count, x, y, width);
    this.#outline(picture, view, area, picture.hovered, ground.text, 1);
    this.#outline(picture, view, area, picture.current, ground.accent, 2);
    this.#scrolled(laid, view, area, ground, upwards);
  }

  #write(picture: Picture, node: number, count: number, x: number, y: number, width: number): void {
    const room = Math.floor((width - 2 * padding) / this.#charWidth);
    if (room < 3) return;
    let text: string;
    if (node < 0) text = room >= 14 ? `${count} small frames` : room >= 4 ? `${count}` : "";
    else {
      const { laid, names, labels } = picture;
      const frame = laid.tree.frame[node]!;
      const own = picture.nameOf(node);
      const name = own ?? names[frame] ?? "";
      const beside = figuresIn(room, name.length, room > 12 ? picture.valueOf(node) : []);
      const left = beside === "" ? room : room - 2 - beside.length;
      if (own === undefined) text = labels.at(frame, names, left);
      else text = own.length <= left ? own : `${own.slice(0, left - 1)}…`;
      if (beside !== "") text = `${text}  ${beside}`;
    }
    // What has other widths than the letters of the font is squeezed, rather than written over its neighbour.
    const most = /^[\x20-\x7e…·]*$/.test(text) ? undefined : width - 2 * padding;
    if (most === undefined) this.#context.fillText(text, x + padding, y + rowHeight / 2);
    else this.#context.fillText(text, x + padding, y + rowHeight / 2, most);
  }

  #outline(picture: Picture, view: View, area: Area, box: number, colour: string, width: number): void {
    const place = boxPlace(picture.laid, view, area, box, picture.upwards);
    if (!place) return;
    const context = this.#context;
    context.strokeStyle = colour;
    context.lineWidth = width;
    const inset = width / 2;
    const x = Math.max(place.x, -2);
    const end = Math.min(place.x + place.width, area.width + 2);
    context.strokeRect(x + inset, place.y + inset, Math.max(1, end - x - width - 1), rowHeight - 1 - width);
  }

  /** How far down the picture is scrolled, if it is higher than its place. */
  #scrolled(laid: Laid, view: View, area: Area, ground: Ground, upwards: boolean): void {
    const all = (laid.layout.rowStart.length - 1) * rowHeight;
    if (all <= area.height) return;
    const length = Math.max(16, (area.height * area.height) / all);
    const at = (view.top / (all - area.height)) * (area.height - length);
    this.#context.fillStyle = ground.quiet;
    this.#context.fillRect(area.width - 4, upwards ? area.height - length - at : at, 3, length);
  }

  /** The colour of matches as a list, the same every time. */
  #foundOf(palette: Palette): readonly string[] {
    if (this.#found?.[0] !== palette.found) this.#found = [palette.found];
    return this.#found;
  }

  /** Memory for the narrow frames of some rows. */
  #strips(width: number, rows: number): Strips {
    const scale = this.#context.getTransform().a;
    const pixels = Math.max(1, Math.ceil(width * scale));
    if (this.#memory?.width !== pixels || this.#memory.rows < rows) this.#memory = new Strips(pixels, rows, scale);
    this.#memory.clear();
    return this.#memory;
  }

  #drawStrips(strips: Strips, top: number, area: Area, ground: Ground, upwards: boolean): void {
    const context = this.#context;
    const picture = strips.picture(upwards);
    context.imageSmoothingEnabled = false;
    const height = strips.used * rowHeight;
    context.drawImage(picture, 0, 0, strips.width, strips.used, 0, top, strips.width / strips.scale, height);
    context.fillStyle = ground.page;
    for (let i = 1; i <= strips.used; i++) context.fillRect(0, top + i * rowHeight - 1, area.width, 1);
  }

  #hatch(colours: readonly [string, string]): CanvasPattern | string {
    const key = colours.join();
    let pattern = this.#hatches.get(key);
    if (pattern === undefined) {
      const tile = document.createElement("canvas");
      tile.width = tile.height = 6;
      const context = tile.getContext("2d");
      if (context) {
        context.fillStyle = colours[0];
        context.fillRect(0, 0, 6, 6);
        context.strokeStyle = colours[1];
        context.lineWidth = 1;
        context.beginPath();
        for (const x of [-6, 0, 6]) {
          context.moveTo(x, 6);
          context.lineTo(x + 6, 0);
        }
        context.stroke();
      }
      pattern = this.#context.createPattern(tile, "repeat");
      this.#hatches.set(key, pattern);
    }
    return pattern ?? colours[0];
  }
}

/** Where a box is on the canvas; undefined if it is not in sight. */
export function boxPlace(laid: Laid, view: View, area: Area, box: number, upwards: boolean) {
  if (box < 0 || box >= laid.layout.node.length) return undefined;
  const { layout } = laid;
  const scale = area.width / (view.right - view.left);
  const row = rowOf(layout, box);
  const x = (layout.left[box]! - view.left) * scale;
  const width = (layout.right[box]! - layout.left[box]!) * scale;
  const y = topOf(row, view, area, upwards);
  if (x > area.width || x + width < 0 || y > area.height || y + rowHeight < 0) return undefined;
  return { x, y, width: Math.max(1, width) };
}
