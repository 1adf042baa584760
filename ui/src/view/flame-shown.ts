// What of a flame graph is seen at the moment, and how that changes: what the pointer and keys do, zooming, drawing.
import { signal } from "@preact/signals";
import { colourNodes, palette, type ColourMode } from "../model/flame/colour.ts";
import { Frames, rootFrame, runFrame } from "../model/flame/frames.ts";
import type { Laid } from "../model/flame/job.ts";
import { Labels } from "../model/flame/label.ts";
import { boxAt, nextReaching, rowOf } from "../model/flame/layout.ts";
import { Pattern, search, type Found } from "../model/flame/search.ts";
import { transformsOf } from "../model/flame/transforms.ts";
import { nodeAt, pathTo, restOf } from "../model/flame/tree.ts";
import * as views from "../model/flame/view.ts";
import { nextMatch, step, type Step } from "../model/flame/walk.ts";
import { percent, plural } from "../model/format.ts";
import { shorten, visible } from "../model/names.ts";
import type { Transform } from "../model/transforms.ts";
import {
  boxPlace,
  Painter,
  rowAt,
  rowHeight,
  rowsIn,
  topOf,
  type Area,
  type Ground,
  type Picture,
} from "./flame-paint.ts";
import type { Entry } from "./menu.tsx";

/** A frame of the picture, as the page needs it. */
export interface Picked {
  /** The frames that lead to it from the root of the tree that was sent, and their names as `--below` takes them. */
  path: readonly number[];
  texts: readonly string[];
  frame: number;
  total: number;
  self: number;
}

/** What the page can have the picture do: keys and the palette start it. */
export interface FlameHandle {
  step(to: Step): void;
  zoomIn(): void;
  zoomBy(factor: number): void;
  back(): boolean;
  reset(): void;
  scroll(rows: number): void;
  match(forward: boolean): void;
  menu(): void;
  copyStack(): void;
  png(): Promise<Blob | undefined>;
  /** What is in sight, for a text: the view and the picture. */
  seen(): { laid: Laid; view: views.View };
}

export interface FlameProps {
  laid: Laid;
  /** The answer that the picture was made of, to tell when it is another. */
  answer: unknown;
  /** The reader still drags: another answer follows at once. */
  rough: boolean;
  frames: Frames;
  /** What the picture is of, for those who do not see it: "call tree, live at the peak". */
  title: string;
  /** The name of the root: the program. */
  root: string;
  /** How a value is written, short and in full. */
  format: (value: number) => string;
  exact: (value: number) => string;
  colour: ColourMode;
  /** The age of the strongest colour. */
  longest: number;
  /** What is searched; empty: nothing. */
  match: string;
  /** Frames are drawn above what they are called from. */
  upwards?: boolean;
  /** What a path from the root is: a call stack, one from its end, or a part of one from some function on. */
  paths: "down" | "up" | "part";
  /** The path that the tree was asked for. */
  below: readonly string[];
  picked: readonly string[];
  onPick: (picked: Picked | undefined) => void;
  onHover: (frame: number | undefined) => void;
  onTransform: (transform: Transform) => void;
  onRun: (run: number) => void;
  /** The subtree of a node is not complete, and there would be room for it. */
  onWant: (path: readonly number[], texts: readonly string[]) => void;
  /** More entries of a frame's menu. */
  entries: (picked: Picked) => Entry[];
  onCopy: (text: string) => void;
  onFound: (found: Found | undefined, current: number) => void;
  handle: (handle: FlameHandle | undefined) => void;
}

const animationMs = 150;
const mostBack = 50;
/** Browsers refuse changes of the address that come faster for long. */
const restMs = 100;

/** What is under the pointer: a box, or several that are drawn as one. */
export interface HintAt {
  box: number;
  count: number;
  sum: number;
  x: number;
  /** Where its row begins. */
  top: number;
  width: number;
  height: number;
}

/** What is seen at the moment, and how that changes. */
export class Shown implements FlameHandle {
  readonly #props: { current: FlameProps };
  readonly hint = signal<HintAt | undefined>(undefined);
  readonly menuAt = signal<{ x: number; y: number; entries: Entry[] } | undefined>(undefined);
  readonly said = signal("");
  /** Not the whole graph is in sight. */
  readonly zoomed = signal(false);
  readonly currentText = signal("");
  readonly currentPlace = signal<{ row: number; x: number; y: number; width: number } | undefined>(undefined);
  #element: HTMLElement | undefined;
  #canvas: HTMLCanvasElement | undefined;
  #painter: Painter | undefined;
  #area: Area = { width: 0, height: 0 };
  #picture: Picture | undefined;
  #view: views.View = views.whole;
  #mark: views.Mark | undefined; // of the view, for the next answer
  #back: views.Mark[] = [];
  #animation: { from: views.View; to: views.View; begin: number } | undefined;
  #asked = 0; // the request for the next frame
  #currentKey = 0; // 0: the root
  #chosen: readonly string[] = []; // the names that lead to it
  #reported = ""; // these, as the page knows them
  #drag: { x: number; y: number; view: views.View; moved: boolean; least: number } | undefined;
  readonly #fingers = new Map<number, views.Point>(); // that touch the picture
  #pinch: { view: views.View; from: [views.Point, views.Point] } | undefined;
  #dark = false;
  #ground: Ground | undefined;
  #labels = new Labels();
  #pattern: Pattern | undefined;
  #found: Found | undefined;
  #rest: Float64Array | undefined;
  #answer: unknown;
  #wanted = new Set<number>(); // keys of nodes whose subtrees were asked for, of this answer
  #wantTimer: ReturnType<typeof setTimeout> | undefined;
  #pickTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(props: { current: FlameProps }) {
    this.#props = props;
  }

  get #laid(): Laid {
    return this.#props.current.laid;
  }

  attach(element: HTMLElement, canvas: HTMLCanvasElement): () => void {
    const context = canvas.getContext("2d", { alpha: false });
    if (!context) return () => {};
    this.#element = element;
    this.#canvas = canvas;
    this.#painter = new Painter(context);
    this.look();
    const sized = new ResizeObserver(() => this.#resize());
    sized.observe(element);
    this.#resize();
    element.addEventListener("wheel", this.wheel, { passive: false });
    return () => {
      sized.disconnect();
      element.removeEventListener("wheel", this.wheel);
      cancelAnimationFrame(this.#asked);
      clearTimeout(this.#wantTimer);
      clearTimeout(this.#pickTimer);
    };
  }

  /** Reads the colours of the page anew. */
  look(): void {
    if (!this.#element) return;
    const style = getComputedStyle(this.#element);
    const of = (name: string) => resolved(this.#element!, `var(--${name})`);
    const scheme = style.colorScheme;
    this.#dark = scheme === "dark" || (scheme !== "light" && prefers("prefers-color-scheme: dark"));
    const forced = prefers("forced-colors: active");
    this.#ground = forced
      ? { page: "Canvas", text: "CanvasText", quiet: "GrayText", accent: "Highlight", forced }
      : { page: of("page"), text: of("text"), quiet: of("quiet"), accent: of("accent"), forced };
    this.setPicture();
  }

  #resize(): void {
    if (!this.#element || !this.#canvas) return;
    const { clientWidth: width, clientHeight: height } = this.#element;
    if (width === 0 || height === 0) return;
    const scale = devicePixelRatio || 1;
    this.#canvas.width = Math.round(width * scale);
    this.#canvas.height = Math.round(height * scale);
    this.#canvas.getContext("2d")?.setTransform(scale, 0, 0, scale, 0, 0);
    this.#area = { width, height };
    this.#paint(); // at once: a canvas is empty after its size has changed
  }

  /** Another answer, or other colours. What fills the window goes on to do so. */
  setPicture(): void {
    const { laid, answer, frames, colour, longest } = this.#props.current;
    if (!this.#ground) return;
    const before = this.#picture?.laid;
    if (before !== laid) {
      if (this.#mark) {
        this.#view = this.#clamp(views.viewOf(this.#mark, laid.layout));
        this.#animation = undefined;
      }
      this.#rest = undefined;
      this.hint.value = undefined;
    }
    if (this.#answer !== answer) this.#wanted.clear();
    this.#answer = answer;
    this.#picture = {
      laid,
      names: frames.names,
      colours: colourNodes(laid, frames, colour, longest),
      palette: palettes[this.#dark ? 1 : 0],
      ground: this.#ground,
      labels: this.#labels,
      valueOf: (node) => this.#valueOf(node),
      nameOf: (node) => this.#special(node),
      matches: this.#found?.nodes.length === laid.tree.parent.length ? this.#found.nodes : undefined,
      current: this.#boxOf(),
      hovered: -1,
      upwards: this.#props.current.upwards ?? false,
    };
    this.#draw();
    if (!this.#props.current.rough) this.#describe(); // who listens could not follow
  }

  setMatch(): void {
    const { match, frames, onFound } = this.#props.current;
    if (this.#pattern?.text !== match) this.#pattern = match === "" ? undefined : patternOf(match);
    this.#found = this.#pattern && search(this.#laid, this.#pattern.frames(frames));
    if (this.#picture) this.#picture.matches = this.#found?.nodes;
    onFound(this.#found, this.#picture?.current ?? 0);
    this.#draw();
  }

  /** The address says what is picked, by name: it is looked for where this component has not said so itself. */
  setPicked(): void {
    const { picked, frames, below } = this.#props.current;
    const { source, into, layout } = this.#laid;
    const said = picked.join("\0");
    if (said !== this.#reported) {
      this.#reported = said;
      this.#chosen = picked;
    } else if (this.#currentKey === 0 || layout.key.includes(this.#currentKey)) return this.#setCurrent(this.#boxOf());
    const names = this.#chosen;
    const inside = below.every((name, i) => names[i] === name) ? names.slice(below.length) : names;
    const node = nodeOf(source, inside, frames);
    this.#setCurrent(layout.box[node < 0 ? 0 : Math.max(0, into[node]!)]!);
  }

  /** The box of the current frame; the root's, if this answer does not have it. */
  #boxOf(): number {
    return this.#laid.layout.box[Math.max(0, this.#laid.layout.key.indexOf(this.#currentKey))]!;
  }

  #setCurrent(box: number): void {
    const { layout } = this.#laid;
    const node = layout.node[box] ?? 0;
    this.#currentKey = node === 0 ? 0 : layout.key[node]!;
    if (this.#picture) this.#picture.current = box;
    this.currentText.value = this.#sentence(node);
    this.#draw();
  }

  /** A name, a value and a share, for those who do not see the picture. */
  #sentence(node: number): string {
    const { laid, exact } = this.#props.current;
    const { tree } = laid;
    const value = tree.total[node]!;
    const change = this.#props.current.colour === "growth" && tree.second ? `, ${this.changeOf(node)}` : "";
    const name = visible(shorten(this.nameOf(node), 200));
    return `${name}, ${exact(value)}, ${percent(value, tree.total[0]!)}${change}`;
  }

  nameOf(node: number): string {
    return this.#special(node) ?? this.#props.current.frames.names[this.#laid.tree.frame[node]!] ?? "";
  }

  #special(node: number): string | undefined {
    const { tree, within } = this.#laid;
    if (node === 0 || tree.frame[node] === rootFrame) return visible(this.#props.current.root);
    return tree.frame[node] === runFrame ? plural(within[node]!, "library frame") : undefined;
  }

  /** A value and its share of the whole. */
  #valueOf(node: number): readonly string[] {
    const { tree } = this.#laid;
    const { format, colour } = this.#props.current;
    if (colour === "growth" && tree.second) return [signed(tree.total[node]! - tree.second[node]!, format)];
    return [format(tree.total[node]!), percent(tree.total[node]!, tree.total[0]!)];
  }

  changeOf(node: number): string {
    const { tree } = this.#laid;
    const { format } = this.#props.current;
    const [before, after] = [tree.second?.[node] ?? 0, tree.total[node]!];
    return `${signed(after - before, format)}: ${format(before)} → ${format(after)}`;
  }

  /** Says what the picture shows. */
  #describe(): void {
    const { title, laid, format } = this.#props.current;
    const { layout, tree } = laid;
    let box = views.anchorOf(layout, this.#view);
    // Of callers that are as wide, the outermost is the one that the reader has zoomed to.
    for (let up = box; up > 0; up = layout.box[tree.parent[layout.node[up]!]!]!) {
      if (layout.right[up]! - layout.left[up]! > (layout.right[box]! - layout.left[box]!) * 1.000001) break;
      box = up;
    }
    const anchor = layout.node[box]!;
    const frames_ = plural(tree.parent.length - 1, "frame");
    const levels = plural(layout.rowStart.length - 2, "level");
    const zoomed = this.#view.right - this.#view.left < 1 && anchor > 0 ? `, zoomed to ${this.nameOf(anchor)}` : "";
    this.said.value = `${title}, ${format(tree.total[0]!)}, ${frames_} in ${levels}${visible(shorten(zoomed, 200))}`;
  }

  // Drawing. Nothing is drawn unless something has changed, and nothing in a hidden tab.

  #draw(): void {
    this.#asked ||= requestAnimationFrame((now) => {
      this.#asked = 0;
      if (this.#animation) {
        const { from, to, begin } = this.#animation;
        const t = Math.min(1, Math.max(0, (now - begin) / animationMs));
        this.#view = t < 1 ? views.between(from, to, t) : to;
        if (t < 1) this.#draw();
        else this.#animation = undefined;
      }
      this.#paint();
    });
  }

  #paint(): void {
    if (!this.#picture || !this.#painter || this.#area.width === 0) return;
    this.#view = this.#clamp(this.#view);
    this.zoomed.value = this.#view.right - this.#view.left < 0.9999;
    this.#painter.paint(this.#picture, this.#view, this.#area);
    const { laid, current, upwards } = this.#picture;
    this.#mark = views.markOf(this.#view, laid.layout, laid.tree.parent);
    const at = boxPlace(laid, this.#view, this.#area, current, upwards);
    const row = rowOf(laid.layout, current);
    const before = this.currentPlace.value;
    const x = at && Math.max(0, at.x);
    const width = at && Math.min(this.#area.width, at.x + at.width) - Math.max(0, at.x);
    if (!at) this.currentPlace.value = undefined;
    else if (!before || before.x !== x || before.y !== at.y || before.width !== width || before.row !== row) {
      this.currentPlace.value = { row, x: x ?? 0, y: at.y, width: width ?? 0 };
    }
    if (!this.#animation && !this.#drag && !this.#pinch) this.#lookForMore();
  }

  /** Asks for what is missing, once the view rests. */
  #lookForMore(): void {
    clearTimeout(this.#wantTimer);
    this.#wantTimer = setTimeout(() => {
      const { laid, onWant, below } = this.#props.current;
      const { tree, layout } = laid;
      if (!tree.folded.some((n) => n > 0)) return;
      this.#rest ??= restOf(tree, tree.total);
      const rest = (node: number) => Math.max(0, this.#rest![node]! - tree.self[node]!);
      const rows = rowsIn(laid, this.#view, this.#area);
      const asked = (node: number) => this.#wanted.has(layout.key[node]!);
      const node = views.lacking(layout, tree, rest, asked, this.#view, this.#area.width, rows);
      if (node <= 0) return;
      this.#wanted.add(layout.key[node]!);
      const { path, texts } = this.#pickedAt(node);
      if (path.length > 0) onWant(path, [...below, ...texts]);
    }, 80);
  }

  #clamp(view: views.View): views.View {
    return views.clamp(view, (this.#laid.layout.rowStart.length - 1) * rowHeight, this.#area.height);
  }

  /** Goes to another view; with `noted`, Esc leads back. */
  #go(to: views.View, noted: boolean, animate = true): void {
    if (noted && this.#mark) {
      this.#back.push(this.#mark);
      if (this.#back.length > mostBack) this.#back.shift();
    }
    const next = this.#clamp(to);
    if (!animate || prefers("prefers-reduced-motion: reduce")) {
      this.#animation = undefined;
      this.#view = next;
    } else this.#animation = { from: this.#view, to: next, begin: performance.now() };
    this.#draw();
    if (noted) setTimeout(() => this.#describe(), animationMs + 50);
  }

  get #target(): views.View {
    return this.#animation?.to ?? this.#view;
  }

  // What keys and the palette start.

  step(to: Step): void {
    const { tree, layout } = this.#laid;
    const from = this.#picture?.current ?? 0;
    let box = step(tree, layout, from, to);
    // Neighbours that are not drawn are passed by.
    const { left, right } = this.#target;
    const least = (0.5 * (right - left)) / Math.max(1, this.#area.width);
    const wide = (b: number) => layout.right[b]! - layout.left[b]! >= least;
    const row = rowOf(layout, from);
    const end = layout.rowStart[row + 1]!;
    if (to === "right") while (box < end && !wide(box)) box = nextReaching(layout, box + 1, end, least);
    if (to === "left") while (box > layout.rowStart[row]! && !wide(box)) box--;
    if (box >= end && to === "right") box = from;
    this.#focus();
    this.#choose(box);
    this.#reveal(box);
  }

  #focus(): void {
    this.#element?.focus({ preventScroll: true });
  }

  /** Brings a box into sight. */
  #reveal(box: number): void {
    const { tree, layout } = this.#laid;
    let view = this.#target;
    const [l, r] = [layout.left[box]!, layout.right[box]!];
    const span = view.right - view.left;
    if (r - l < (8 * span) / Math.max(1, this.#area.width)) {
      // Too narrow to be seen: the nearest caller that is twenty times as wide fills the window.
      let at = box;
      while (at > 0 && layout.right[at]! - layout.left[at]! < 20 * (r - l)) {
        at = layout.box[tree.parent[layout.node[at]!]!]!;
      }
      view = { ...view, left: layout.left[at]!, right: layout.right[at]! };
      // One of thousands below the same caller: with its neighbours.
      if (view.right - view.left > 40 * (r - l)) view = { ...view, left: l - 10 * (r - l), right: r + 10 * (r - l) };
    } else if (r <= view.left || l >= view.right) {
      if (r - l >= span) view = { ...view, left: l, right: r };
      else view = { ...view, left: (l + r - span) / 2, right: (l + r + span) / 2 };
    }
    const top = rowOf(layout, box) * rowHeight;
    if (top < view.top) view = { ...view, top };
    else if (top + 2 * rowHeight > view.top + this.#area.height) {
      view = { ...view, top: top + 2 * rowHeight - this.#area.height };
    }
    if (view !== this.#target) this.#go(view, false);
  }

  zoomIn(): void {
    const box = this.#picture?.current ?? 0;
    const node = this.#laid.layout.node[box]!;
    if (this.#laid.within[node]! > 0) return this.#props.current.onRun(this.#laid.run[node]!);
    this.#zoomTo(box);
  }

  #zoomTo(box: number): void {
    this.#go(views.zoomTo(this.#laid.layout, box, rowHeight), true);
  }

  zoomBy(factor: number): void {
    const at = this.currentPlace.peek();
    const place = at ? Math.min(1, Math.max(0, (at.x + at.width / 2) / Math.max(1, this.#area.width))) : 0.5;
    this.#go(views.zoomAt(this.#target, factor, place), true);
  }

  back(): boolean {
    const mark = this.#back.pop();
    if (mark) this.#go(views.viewOf(mark, this.#laid.layout), false);
    else if (this.#target.right - this.#target.left < 1) this.#go(views.whole, false);
    else return false;
    setTimeout(() => this.#describe(), animationMs + 50);
    return true;
  }

  reset(): void {
    this.#go(views.whole, true);
  }

  scroll(rows: number): void {
    this.#go(views.pan(this.#target, 0, rows * rowHeight), false);
  }

  match(forward: boolean): void {
    const { onFound } = this.#props.current;
    const box = this.#found ? nextMatch(this.#found.boxes, this.#picture?.current ?? 0, forward) : -1;
    if (box < 0) return;
    this.#focus();
    this.#choose(box);
    this.#reveal(box);
    onFound(this.#found, box);
  }

  menu(): void {
    const at = this.currentPlace.peek();
    this.#openMenu(at ? at.x + 12 : 40, at ? at.y + rowHeight : 40, this.#picture?.current ?? 0);
  }

  copyStack(): void {
    const { frames, onCopy, paths, upwards } = this.#props.current;
    const { layout } = this.#laid;
    const { path } = this.#pickedAt(layout.node[this.#picture?.current ?? 0]!);
    const lines = path.map((frame) => {
      const more = [frames.details[frame], frames.modules[frame]].filter(Boolean).join(" ");
      return more === "" ? (frames.names[frame] ?? "") : `${frames.names[frame] ?? ""} (${more})`;
    });
    if (paths === "down" || (paths === "part" && !upwards)) lines.reverse(); // innermost first
    onCopy(lines.map(visible).join("\n"));
  }

  async png(): Promise<Blob | undefined> {
    if (!this.#picture) return undefined;
    const scale = 2;
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [this.#area.width * scale, this.#area.height * scale];
    const context = canvas.getContext("2d", { alpha: false });
    if (!context) return undefined;
    context.scale(scale, scale);
    new Painter(context).paint({ ...this.#picture, hovered: -1 }, this.#view, this.#area);
    return new Promise((resolve) => canvas.toBlob((blob) => resolve(blob ?? undefined), "image/png"));
  }

  seen(): { laid: Laid; view: views.View } {
    return { laid: this.#laid, view: this.#target };
  }

  // The pointer.

  /** The box at a place; of neighbours that are drawn as one, the first, with how many there are. -1: none. */
  #at(x: number, y: number): { box: number; count: number; sum: number } {
    const none = { box: -1, count: 0, sum: 0 };
    const { layout } = this.#laid;
    const row = rowAt(y, this.#view, this.#area, this.#picture?.upwards ?? false);
    if (row < 0 || row + 1 >= layout.rowStart.length) return none;
    const span = this.#view.right - this.#view.left;
    const pixel = span / Math.max(1, this.#area.width);
    const at = this.#view.left + x * pixel;
    const box = boxAt(layout, row, at);
    const end = layout.rowStart[row + 1]!;
    if (box >= end || layout.left[box]! > at + pixel) return none;
    const width = layout.right[box]! - layout.left[box]!;
    if (width >= pixel / 2) return { box, count: 1, sum: 0 };
    const first = box - leftOf(layout, box, pixel / 2);
    const to = nextReaching(layout, box + 1, end, pixel / 2);
    return { box: first, count: to - first, sum: layout.sums[to]! - layout.sums[first]! };
  }

  #point(event: MouseEvent): { x: number; y: number } {
    const r = this.#element?.getBoundingClientRect();
    return { x: event.clientX - (r?.left ?? 0), y: event.clientY - (r?.top ?? 0) };
  }

  readonly down = (event: PointerEvent) => {
    if (event.button !== 0) return;
    this.#focus();
    const { x, y } = this.#point(event);
    this.#animation = undefined;
    this.#element?.setPointerCapture(event.pointerId);
    const touch = event.pointerType === "touch";
    if (touch) this.#fingers.set(event.pointerId, { x, y });
    const [a, b] = [...this.#fingers.values()];
    if (a && b) {
      if (this.#mark && !this.#drag?.moved && !this.#pinch) this.#back.push(this.#mark);
      this.#drag = undefined;
      this.#pinch = { view: this.#view, from: [a, b] };
      this.hint.value = undefined;
      return;
    }
    this.#drag = { x, y, view: this.#view, moved: false, least: touch ? 8 : 4 };
  };

  readonly move = (event: PointerEvent) => {
    const { x, y } = this.#point(event);
    if (this.#fingers.has(event.pointerId)) this.#fingers.set(event.pointerId, { x, y });
    if (this.#pinch) {
      const [a, b] = [...this.#fingers.values()];
      if (!a || !b) return;
      const { view, from } = this.#pinch;
      const width = Math.max(1, this.#area.width);
      const upwards = this.#props.current.upwards ?? false;
      this.#view = this.#clamp(views.pinched(view, width, from, [a, b], upwards));
      this.#draw();
      return;
    }
    const drag = this.#drag;
    if (drag) {
      if (!drag.moved && Math.hypot(x - drag.x, y - drag.y) < drag.least) return;
      if (!drag.moved && this.#mark) this.#back.push(this.#mark);
      drag.moved = true;
      const down = this.#props.current.upwards ? y - drag.y : drag.y - y;
      this.#view = this.#clamp(views.pan(drag.view, (drag.x - x) / Math.max(1, this.#area.width), down));
      this.#element?.classList.add("panning");
      this.#hover(-1);
      this.hint.value = undefined;
      this.#draw();
      return;
    }
    const { box, count, sum } = this.#at(x, y);
    this.#hover(count === 1 ? box : -1);
    const upwards = this.#props.current.upwards ?? false;
    const top = topOf(rowAt(y, this.#view, this.#area, upwards), this.#view, this.#area, upwards);
    this.hint.value = box < 0 ? undefined : { box, count, sum, x, top, ...this.#area };
  };

  readonly up = (event: PointerEvent) => {
    this.#fingers.delete(event.pointerId);
    if (this.#pinch) {
      // A finger that stays does nothing more.
      if (this.#fingers.size === 0) this.#pinch = undefined;
      this.#draw();
      setTimeout(() => this.#describe(), animationMs);
      return;
    }
    const drag = this.#drag;
    this.#drag = undefined;
    this.#element?.classList.remove("panning");
    if (!drag || event.type === "pointercancel") return;
    if (drag.moved) return this.#draw();
    const { box, count } = this.#at(drag.x, drag.y);
    if (box < 0) return;
    const node = this.#laid.layout.node[box]!;
    if (count === 1 && this.#laid.within[node]! > 0) this.#props.current.onRun(this.#laid.run[node]!);
    this.#choose(box);
  };

  readonly leave = () => {
    this.#hover(-1);
    this.hint.value = undefined;
  };

  readonly double = (event: MouseEvent) => {
    const { x, y } = this.#point(event);
    const { box, count } = this.#at(x, y);
    if (box < 0) return;
    if (count === 1) return this.#zoomTo(box);
    const { layout } = this.#laid;
    this.#go({ ...this.#view, left: layout.left[box]!, right: layout.right[box + count - 1]! }, true);
  };

  readonly context = (event: MouseEvent) => {
    event.preventDefault();
    const pressed = "pointerType" in event && event.pointerType === "touch"; // for a while
    if (event.button !== 2 && !pressed) return this.menu(); // by key
    this.#drag = undefined;
    const { x, y } = this.#point(event);
    const { box, count } = this.#at(x, y);
    if (box < 0 || count > 1) return;
    this.#choose(box);
    this.#openMenu(x, y, box);
  };

  readonly wheel = (event: WheelEvent) => {
    event.preventDefault();
    const unit = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? this.#area.height : 1;
    const [dx, dy] = [event.deltaX * unit, event.deltaY * unit];
    const view = this.#target;
    const width = Math.max(1, this.#area.width);
    // Two fingers on a touchpad come as a wheel with Ctrl, in small steps.
    const factor = Math.exp(Math.max(-240, Math.min(240, dy)) / (event.ctrlKey ? 100 : 400));
    let next = views.zoomAt(view, factor, this.#point(event).x / width);
    if (event.shiftKey && dx === 0) next = views.pan(view, 0, this.#props.current.upwards ? -dy : dy);
    else if (Math.abs(dx) > Math.abs(dy)) next = views.pan(view, dx / width, 0);
    this.#go(next, false, false);
    this.hint.value = undefined;
  };

  #hover(box: number): void {
    if (!this.#picture || this.#picture.hovered === box) return;
    this.#picture.hovered = box;
    const frame = box < 0 ? undefined : this.#laid.tree.frame[this.#laid.layout.node[box]!];
    this.#props.current.onHover(frame !== undefined && Frames.real(frame) ? frame : undefined);
    this.#draw();
  }

  /** Makes a box the current one, and tells the page, once the reader stays there. */
  #choose(box: number): void {
    this.#setCurrent(box);
    const node = this.#laid.layout.node[box]!;
    const picked = node === 0 ? undefined : this.#pickedAt(node);
    const { below, paths } = this.#props.current;
    // Only a call stack from its beginning says where the node is; else it is picked as a function.
    this.#chosen = picked ? shortPath(paths === "down" ? [...below, ...picked.texts] : picked.texts.slice(-1)) : [];
    clearTimeout(this.#pickTimer);
    this.#pickTimer = setTimeout(() => {
      this.#reported = this.#chosen.join("\0");
      this.#props.current.onPick(picked && { ...picked, texts: this.#chosen });
    }, restMs);
  }

  /** What a node of the picture stands for in the tree that was sent: of several nodes, the largest. */
  #pickedAt(node: number): Picked {
    const { frames } = this.#props.current;
    const { source, into, tree } = this.#laid;
    let best = 0;
    for (let i = 1; i < into.length; i++) {
      if (into[i] === node && (best === 0 || source.total[i]! > source.total[best]!)) best = i;
    }
    const path = pathTo(source, best);
    const texts = path.map((frame) => frames.functions[frame] || frames.texts[frame] || "");
    return { path, texts, frame: tree.frame[node]!, total: tree.total[node]!, self: tree.self[node]! };
  }

  #openMenu(x: number, y: number, box: number): void {
    const { frames, onTransform, onRun, entries, paths, below } = this.#props.current;
    const { layout, run, within } = this.#laid;
    const node = layout.node[box]!;
    const picked = this.#pickedAt(node);
    const list: Entry[] = [{ title: "Zoom in", keys: "Enter", run: () => this.#zoomTo(box) }];
    if (this.#back.length > 0) list.push({ title: "Zoom out", keys: "Esc", run: () => void this.back() });
    const at = run[node]!;
    if (at !== 0) {
      const title = within[node]! > 0 ? "Open these library frames" : "Fold these library frames";
      list.push({ title, run: () => onRun(at) });
    }
    if (within[node] === 0) {
      for (const transform of transformsOf(frames, picked.path, below, paths)) {
        list.push({ title: transform.title, hint: transform.hint, run: () => onTransform(transform) });
      }
    }
    if (node > 0) list.push({ title: "Copy the call stack", keys: "Y", run: () => this.copyStack() });
    this.hint.value = undefined;
    this.menuAt.value = { x, y, entries: [...list, ...entries(picked)] };
  }
}

const palettes = [palette(false), palette(true)] as const;

function prefers(what: string): boolean {
  return matchMedia(`(${what})`).matches;
}

/** The colour that a style gives here, as #rrggbb, for the canvas, which knows no variables. */
function resolved(element: HTMLElement, colour: string): string {
  const probe = document.createElement("i");
  probe.style.color = colour;
  element.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

/** A change with its sign: +12.3 MiB. */
function signed(change: number, format: (value: number) => string): string {
  return change > 0 ? `+${format(change)}` : change < 0 ? `−${format(-change)}` : "unchanged";
}

function patternOf(text: string): Pattern | undefined {
  try {
    return new Pattern(text);
  } catch {
    return undefined; // the field says that it is not a regular expression
  }
}

/** The node that names lead to; of a single name, which is a function's, the largest node wherever it is. -1: none. */
function nodeOf(tree: Laid["source"], names: readonly string[], frames: Frames): number {
  const path = names.map((name) => frames.called(name));
  const node = nodeAt(tree, path);
  const [only, ...more] = path;
  if (node >= 0 || !only || more.length > 0) return node;
  let best = -1;
  for (let i = 1; i < tree.parent.length; i++) {
    if (only.includes(tree.frame[i]!) && (best < 0 || tree.total[i]! > tree.total[best]!)) best = i;
  }
  return best;
}

/** A path as it may stand in an address; of one that would be too long, the function. */
function shortPath(texts: readonly string[]): readonly string[] {
  return texts.reduce((sum, { length }) => sum + length, 0) <= 8000 ? texts : texts.slice(-1);
}

/** How many boxes to the left of a box are drawn together with it, since all are narrow. */
function leftOf({ reach, left, right }: Laid["layout"], box: number, least: number): number {
  let at = box;
  while (reach[0]![at]! < least) at--; // ends at the first box of a row
  return box - at - (at < box && right[at]! - left[at]! >= least ? 1 : 0);
}
