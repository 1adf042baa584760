// The timeline at the top of every page: how memory developed over the run, and the place to choose a time.
import { useSignal, type Signal } from "@preact/signals";
import { useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Progress } from "../api.ts";
import type { Part, Peak } from "../model/answers.ts";
import type { Clock } from "../model/clock.ts";
import { exactSize, percent, size } from "../model/format.ts";
import { shorten, visible } from "../model/names.ts";
import { timeText, type Span } from "../model/time.ts";
import {
  allocatedOver,
  changeOver,
  highest,
  liveAt,
  spanOf,
  stepAt,
  stepsAt,
  toTime,
  type Ranges,
  type Ribbon,
  type Steps,
} from "../model/timeline.ts";
import { middleOf, type Overlay, type Repeats } from "../model/overlay.ts";
import { dragged, grip, pointerFor, reach, slop, type Grip } from "../model/timeline-drag.ts";
import { change, rate } from "../model/timeline-labels.ts";
import {
  around,
  keyed,
  pinched,
  selectRise,
  shown,
  snapper,
  within,
  zoomed,
  type Facts,
  type State,
} from "../model/timeline-moves.ts";
import { ordered } from "../model/timeline-place.ts";
import { Name } from "./name.tsx";
import { Refusal } from "./states.tsx";
import { themeChanges } from "./theme.tsx";
import { factorOf } from "./wheel.ts";
import {
  drawCurves,
  drawOverlay,
  gutter,
  paletteOf,
  plotWidth,
  sceneOf,
  stripTop,
  type Palette,
  type Scene,
} from "./timeline-draw.ts";

export interface TimelineProps {
  /** The whole run; without it, an empty picture of the same size. */
  whole: Part<Steps> | undefined;
  /** More steps of what is shown, if that is a part. Until they are there, the steps of the whole are stretched. */
  detail?: Steps | undefined;
  /** The highest live and resident bytes, if more is known than the steps say. */
  peak?: Peak | undefined;
  residentPeak?: Peak | undefined;
  /** The function under the pointer, elsewhere on the page. */
  ribbon?: Ribbon | undefined;
  /** Another recording, which is laid over this one. */
  other?: Other | undefined;
  /** How far the steps of the whole run are, once that takes long. */
  progress?: Progress | undefined;
  state: State;
  /** How moments are written. */
  clock: Clock;
  /** Filters are in force, which the curves do not follow. */
  filtered: boolean;
  /** Live bytes are shown alone, so that they fill the picture. */
  liveAlone: boolean;
  onLiveAlone(alone: boolean): void;
  /** Called in every frame of a drag; with undefined if it ends without a choice. */
  onBrush(ranges: Ranges | undefined): void;
  /** Called when ranges are chosen: at the end of a drag, or by the keyboard. */
  onSelect(ranges: Ranges): void;
  onCursor(ns: number | undefined): void;
  onView(view: Span | undefined): void;
  /** How many pixels the curves have: as many steps are worth asking for. */
  onWidth?(pixels: number): void;
}

/** Another recording, at the times of the one that is shown. */
export interface Other {
  /** All runs of side A, and of side B, if there are several. */
  runs: Repeats;
  name: string;
  how: Overlay;
  possible: readonly Overlay[];
  choose(how: Overlay): void;
}

export function Timeline(props: TimelineProps) {
  const { whole: part } = props;
  const element = useRef<HTMLDivElement>(null);
  const room = useSignal({ width: 0, height: 0 });
  const { width } = room.value;
  const asked = useRef(false);
  useLayoutEffect(() => {
    const box = element.current;
    if (!box) return;
    const measure = () => {
      const { clientWidth, clientHeight } = box;
      const { width, height } = room.peek();
      if (clientWidth !== width || clientHeight !== height) room.value = { width: clientWidth, height: clientHeight };
    };
    const sized = new ResizeObserver(measure);
    sized.observe(box);
    measure();
    return () => sized.disconnect();
  }, []);
  useEffect(() => {
    // While the window changes, a question for each of its widths would be too many.
    const timer = setTimeout(() => width > 0 && props.onWidth?.(plotWidth(width)), asked.current ? 200 : 0);
    asked.current = width > 0;
    return () => clearTimeout(timer);
  }, [width]);
  const hover = useSignal<number | undefined>(undefined);
  const whole = part && "value" in part && part.value.timesNs.length > 1 ? part.value : undefined;
  return (
    <div class="timeline">
      <Legend {...props} whole={whole} hover={hover} />
      <div class="plot" ref={element}>
        {whole ? (
          <Picture {...props} whole={whole} hover={hover} size={room.value} />
        ) : (
          <div class="nothing">
            {part && "fault" in part && <Refusal fault={part.fault} />}
            {part && "value" in part && <p class="quiet">Nothing was recorded.</p>}
            {props.progress && (
              <p class="quiet">
                {props.progress.doing}
                {props.progress.share !== null && ` · ${percent(props.progress.share, 1)}`}
              </p>
            )}
          </div>
        )}
      </div>
    </div>
  );
}

/** The parts' props: the steps are there. */
type With<W> = Omit<TimelineProps, "whole"> & { whole: W; hover: Signal<number | undefined> };

/** How far the live bytes may move within a step, as a share, before the legend says so. */
const mostEven = 0.05;

/**
 * The names of the curves, with their values at the pointer, at the chosen moment, at both ends of the selected range,
 * or at the peak.
 */
function Legend(props: With<Steps | undefined>) {
  const { whole, detail, peak, ribbon, state, clock, hover, onView } = props;
  if (!whole) return <div class="readout" />;
  const top = peakOf(whole, peak);
  const moment = hover.value ?? state.cursor;
  const range = moment === undefined ? state.ranges.a : undefined;
  const at = moment ?? range?.end ?? top.atNs;
  const steps = stepsAt(whole, detail, at);
  const i = stepAt(steps, at);
  const atPeak = moment === undefined && !range;
  const live = atPeak ? top.bytes : liveAt(whole, detail, at, peak);
  const from = range && beginOf(whole, detail, range.begin, peak);
  const rateSpan = range ?? { begin: steps.timesNs[i - 1] ?? 0, end: steps.timesNs[i] ?? 0 };
  const [fewest, most] = [steps.fewest[i] ?? NaN, steps.most[i] ?? NaN];
  const moves = moment !== undefined && most - fewest > mostEven * most;
  const hint = `requested bytes of live blocks${moves ? `: around this moment, ${size(fewest)} to ${size(most)}` : ""}`;
  const pixelNs = pixelOf(whole, state);
  return (
    <div class="readout">
      <Entry kind="live" label="live" hint={hint} from={from?.live} bytes={live} />
      {props.other && <OtherEntry other={props.other} at={at} />}
      {ribbon && hasBlocks(ribbon) && (
        <Entry
          kind="ribbon"
          label={<Name text={ribbon.name} limit={40} />}
          from={range && ribbonAt(ribbon, range.begin)}
          bytes={ribbonAt(ribbon, at)}
        />
      )}
      {ribbon && !hasBlocks(ribbon) && (
        <span class="swatch ribbon">
          <Name text={ribbon.name} limit={40} /> <b>no live blocks, ever</b>
        </span>
      )}
      {steps.resident && (
        <button
          type="button"
          class="plain swatch resident"
          aria-pressed={!props.liveAlone}
          title={props.liveAlone ? residentHidden : residentShown}
          onClick={() => props.onLiveAlone(!props.liveAlone)}
        >
          <span>resident</span> <Bytes from={from?.resident} bytes={steps.resident[i] ?? NaN} />
        </button>
      )}
      {steps.mapped && !props.liveAlone && (
        <Entry kind="mapped" label="mapped" hint={mappedHint} from={from?.mapped} bytes={steps.mapped[i] ?? NaN} />
      )}
      <span class="swatch rate">
        <span>allocated</span> <b>{rateText(from && from.steps !== steps ? whole : steps, rateSpan)}</b>
      </span>
      <span class="at quiet">
        {props.filtered && (
          <span class="wide" title="the timeline shows all that the process has, whatever the filters on the left say">
            whole process, not filtered
          </span>
        )}
        {(range ? [] : namesAt(whole, at, 4 * pixelNs)).map((name) => (
          <span key={name} class="wide">
            <Name text={name} limit={32} />
          </span>
        ))}
        {state.view && (
          <button type="button" class="plain" onClick={() => onView(undefined)}>
            whole run
          </button>
        )}
        {range ? (
          <span title={`${timeText(range.begin)} – ${timeText(range.end)}`}>
            {state.ranges.b ? "B: " : ""}
            {clock.span(range)}
          </span>
        ) : (
          <span title={timeText(at)}>
            {atPeak ? "peak " : ""}after {clock.moment(at)}
          </span>
        )}
      </span>
    </div>
  );
}

/** The other recording: its live bytes at the same place, and how it is laid over. */
function OtherEntry({ other, at }: { other: Other; at: number }) {
  const { runs: { a, b }, how, possible } = other;
  const values = a.flatMap((steps) => {
    const [first = 0, last = 0] = [steps.timesNs[0], steps.timesNs.at(-1)];
    return at < first || at > last ? [] : [steps.live[stepAt(steps, at)] ?? NaN];
  });
  const words = [`side A: ${a.length > 1 ? `the median of ${a.length} runs` : other.name}`];
  if (a.length > 1 || b.length > 1) words.push("a band has what the runs of a side had at least and at most");
  return (
    <span class="swatch other">
      <span title={words.join("; ")}>
        A <span class="wide">{a.length > 1 ? `median of ${a.length} runs` : other.name}</span>
      </span>{" "}
      <Bytes bytes={middleOf(values.sort((x, y) => x - y))} />{" "}
      <select
        aria-label="how A is laid over B"
        value={how}
        onChange={(event) => {
          const chosen = possible.find((one) => one === event.currentTarget.value);
          if (chosen) other.choose(chosen);
        }}
      >
        {possible.map((one) => (
          <option key={one} value={one}>
            by {one}
          </option>
        ))}
      </select>
    </span>
  );
}

const residentShown = "in memory, as the kernel says: click to hide it, so that live bytes fill the picture";
const residentHidden = "in memory, as the kernel says: hidden, so that live bytes fill the picture; click to show it";
const mappedHint = "address space of the process, used or not; not drawn where it is far above what is used";

interface Value {
  /** What it was at the beginning of the range, if one is selected. */
  from?: number | undefined;
  bytes: number;
}

function Entry(props: { kind: string; label: preact.ComponentChildren; hint?: string } & Value) {
  const { kind, label, hint, from, bytes } = props;
  return (
    <span class={`swatch ${kind}`}>
      <span title={hint}>{label}</span> <Bytes from={from} bytes={bytes} />
    </span>
  );
}

function Bytes({ from, bytes }: Value) {
  const known = [from ?? NaN, bytes].filter((value) => !Number.isNaN(value));
  return (
    <b title={known.map(exactSize).join(" → ")}>
      {known.length > 1 && <span class="wide">{size(from ?? NaN)} → </span>}
      {known.length > 0 && size(known.at(-1) ?? NaN)}
    </b>
  );
}

/** The values at the beginning of a range. */
function beginOf(whole: Steps, detail: Steps | undefined, ns: number, peak: Peak | undefined) {
  const steps = stepsAt(whole, detail, ns);
  const i = stepAt(steps, ns);
  return { steps, live: liveAt(whole, detail, ns, peak), resident: steps.resident?.[i], mapped: steps.mapped?.[i] };
}

/** The marks near a moment, and the shortest region around it: at most three names. */
function namesAt(whole: Steps, ns: number, near: number): string[] {
  const marks = whole.marks.filter(({ atNs }) => Math.abs(atNs - ns) <= near).map(({ name }) => name);
  const around = whole.regions.filter(({ begin, end }) => begin <= ns && ns <= end);
  around.sort((a, b) => a.end - a.begin - (b.end - b.begin));
  return [...new Set([...marks.slice(0, 2), ...around.slice(0, 1).map(({ name }) => name)])];
}

/** How fast memory was allocated over a span: as far as that is known. */
function rateText(steps: Steps, span: Span): string {
  const { bytes, seconds, exact } = allocatedOver(steps, span);
  if (seconds <= 0) return "";
  if (exact) return rate(bytes / seconds);
  return bytes > 0 ? `≥ ${rate(bytes / seconds)}` : "not known yet";
}

/** How much time a pixel has, about. */
function pixelOf(whole: Steps, state: State): number {
  const { begin, end } = shown(state, spanOf(whole));
  return (end - begin) / 1000;
}

interface PeakKnown {
  bytes: number;
  atNs: number;
}

function peakOf(whole: Steps, peak: Peak | undefined): PeakKnown {
  if (peak?.atNs !== undefined) return { bytes: peak.bytes, atNs: peak.atNs };
  const i = highest(whole.most) ?? 0;
  return { bytes: whole.most[i] ?? 0, atNs: whole.timesNs[i] ?? 0 };
}

/** Whether a function ever had live blocks. What it has mapped is not among them: a line at 0 B would hide that. */
function hasBlocks(ribbon: Ribbon): boolean {
  return ribbon.most.some((bytes) => bytes > 0);
}

function ribbonAt(ribbon: Ribbon, ns: number): number {
  const i = ribbon.timesNs.findIndex((t) => t >= ns);
  return ribbon.most[i] ?? NaN;
}

/** What a pointer does between pressing and releasing. */
interface Held {
  grip: Grip | { kind: "strip"; view: Span } | { kind: "pinch"; view: Span; from: [number, number] };
  pointer: number;
  startX: number;
  x: number;
  /** The pointer has moved so far that this is no click. */
  moved: boolean;
  ranges: Ranges;
}

function Picture(props: With<Steps> & { size: { width: number; height: number } }) {
  const { whole, detail, hover } = props;
  const ribbon = props.ribbon && hasBlocks(props.ribbon) ? props.ribbon : undefined;
  const { width, height } = props.size;
  const element = useRef<HTMLDivElement>(null);
  const curves = useRef<HTMLCanvasElement>(null);
  const overlay = useRef<HTMLCanvasElement>(null);
  const brushed = useSignal<Ranges | undefined>(undefined); // during a drag
  const said = useSignal(""); // what is read out
  const held = useRef<Held | undefined>(undefined);
  const unsaid = useRef(false); // the keyboard has changed ranges, and still does
  const frame = useRef(0);
  const fingers = useRef(new Map<number, number>()); // where those are that touch the picture
  const help = useId();
  const theme = themeChanges.value;
  // Several events may come before the page has taken over what the first one changed.
  const state = useRef(props.state);
  state.current = { ...props.state, ranges: brushed.value ?? props.state.ranges };

  const run = useMemo(() => spanOf(whole), [whole]);
  const { view } = props.state;
  const peak = peakOf(whole, props.peak);
  const facts: Facts = {
    whole,
    detail,
    width: plotWidth(width),
    peakNs: props.peak?.atNs,
    residentPeakNs: props.residentPeak?.atNs,
  };

  const [palette, setPalette] = useState<Palette | undefined>(undefined);
  useLayoutEffect(() => setPalette(element.current ? paletteOf(element.current) : undefined), [theme]);
  const { clock } = props;
  const scene = useMemo((): Scene | undefined => {
    if (width <= 0 || !palette) return undefined;
    const { size, liveAlone, other } = props;
    return sceneOf(size, whole, detail, view ?? run, peak, palette, clock, liveAlone, props.peak, other?.runs);
  }, [
    ...[props.size, palette, whole, detail, view?.begin, view?.end],
    ...[peak.bytes, peak.atNs, props.peak?.atNs, props.liveAlone, clock.run.end, props.other?.runs],
  ]);

  useLayoutEffect(() => {
    if (scene && curves.current) drawCurves(curves.current, scene);
  }, [scene]);
  const ranges = brushed.value ?? props.state.ranges;
  useLayoutEffect(() => {
    if (!scene || !overlay.current) return;
    const { cursor } = props.state;
    drawOverlay(overlay.current, scene, { ranges, cursor, hover: hover.value, ribbon, run: view && run });
  }, [scene, ranges, props.state.cursor, hover.value, ribbon]);

  /** Changes what the page knows, and tells it. */
  const apply = (next: State, done = true) => {
    const before = state.current;
    state.current = next;
    if (next.view !== before.view) props.onView(next.view);
    if (next.cursor !== before.cursor) props.onCursor(next.cursor);
    if (next.ranges === before.ranges) return;
    brushed.value = done ? undefined : next.ranges;
    (done ? props.onSelect : props.onBrush)(next.ranges);
  };
  const axis = () => scene?.axis ?? { span: run, width: 1 };

  // The wheel zooms at the pointer; sideways, it moves what is shown. The page must not scroll with it.
  useEffect(() => {
    const box = element.current;
    const listen = (event: WheelEvent) => {
      event.preventDefault();
      const now = shown(state.current, run);
      const length = now.end - now.begin;
      const sideways = event.shiftKey && event.deltaX === 0 ? event.deltaY : event.deltaX;
      if (Math.abs(sideways) > Math.abs(event.deltaY) || event.shiftKey) {
        const by = (sideways / facts.width) * length;
        apply({ ...state.current, view: within({ begin: now.begin + by, end: now.end + by }, run) });
        return;
      }
      const at = toTime({ span: now, width: facts.width }, placeOf(event).x);
      apply({ ...state.current, view: zoomed(now, run, at, factorOf(event, 0.002)) });
    };
    box?.addEventListener("wheel", listen, { passive: false });
    return () => box?.removeEventListener("wheel", listen);
  });
  // What goes on when the picture goes away ends without a choice.
  const leave = useRef(() => {});
  leave.current = () => {
    cancelAnimationFrame(frame.current);
    if (brushed.value) props.onBrush(undefined);
  };
  useEffect(() => () => leave.current(), []);

  const placeOf = (event: MouseEvent) => {
    const box = element.current?.getBoundingClientRect();
    return { x: event.clientX - (box?.left ?? 0) - gutter(width), y: event.clientY - (box?.top ?? 0) };
  };

  /** Does what the pointer's last place asks for. */
  const follow = () => {
    frame.current = 0;
    const h = held.current;
    if (!h?.moved) return;
    if (h.grip.kind === "strip") {
      const by = ((h.x - h.startX) / facts.width) * (run.end - run.begin);
      apply({ ...state.current, view: within({ begin: h.grip.view.begin + by, end: h.grip.view.end + by }, run) });
      return;
    }
    if (h.grip.kind === "pinch") {
      const [a, b] = [...fingers.current.values()];
      if (a === undefined || b === undefined) return;
      apply({ ...state.current, view: pinched(h.grip.view, run, facts.width, h.grip.from, [a, b]) });
      return;
    }
    brushed.value = dragged(h.grip, h.ranges, axis(), h.x, facts);
    props.onBrush(brushed.value);
  };

  /** A range is moved by its words below the curves, or with Alt. */
  const movesAt = (event: PointerEvent, y: number) => event.altKey || y >= (scene?.rows.rateBottom ?? Infinity);

  const down = (event: PointerEvent) => {
    if (event.button !== 0 || !scene) return;
    const { x, y } = placeOf(event);
    const { ranges, view } = state.current;
    if (event.pointerType === "touch") fingers.current.set(event.pointerId, x);
    const [a, b] = [...fingers.current.values()];
    if (held.current && a !== undefined && b !== undefined && fingers.current.size === 2) {
      giveUp();
      const pinch = { kind: "pinch" as const, view: shown(state.current, run), from: [a, b] as [number, number] };
      held.current = { grip: pinch, pointer: event.pointerId, startX: x, x, moved: true, ranges };
    }
    if (held.current) return;
    const near = event.pointerType === "touch" ? reach.touch : reach.mouse;
    const how = { second: event.shiftKey, moves: movesAt(event, y) };
    held.current = {
      grip: view && y >= stripTop(height) ? { kind: "strip", view } : grip(ranges, axis(), x, near, how),
      pointer: event.pointerId,
      startX: x,
      x,
      moved: false,
      ranges,
    };
    element.current?.setPointerCapture(event.pointerId);
  };

  const move = (event: PointerEvent) => {
    const { x, y } = placeOf(event);
    const h = held.current;
    if (!h) {
      const inside = x >= 0 && x <= facts.width;
      hover.value = inside ? toTime(axis(), x) : undefined;
      const onStrip = view && y >= stripTop(height);
      if (element.current) {
        const { ranges } = state.current;
        const pointer = () => pointerFor(ranges, axis(), x, reach.mouse, movesAt(event, y));
        element.current.style.cursor = onStrip ? "grab" : pointer();
      }
      return;
    }
    if (fingers.current.has(event.pointerId)) fingers.current.set(event.pointerId, x);
    if (h.pointer !== event.pointerId && h.grip.kind !== "pinch") return;
    h.x = x;
    const least = event.pointerType === "touch" ? slop.touch : slop.mouse;
    if (!h.moved && Math.abs(x - h.startX) < least) return;
    h.moved = true;
    hover.value = undefined;
    if (frame.current === 0) frame.current = requestAnimationFrame(follow);
  };

  const up = (event: PointerEvent) => {
    const h = held.current;
    if (!h || (h.pointer !== event.pointerId && h.grip.kind !== "pinch")) {
      fingers.current.delete(event.pointerId);
      return;
    }
    follow();
    fingers.current.delete(event.pointerId);
    const ranges = brushed.value;
    letGo();
    if (ranges) props.onSelect(ranges);
    else if (h.grip.kind === "strip") {
      const at = toTime({ span: run, width: facts.width }, h.x);
      if (!h.moved) apply({ ...state.current, view: around(h.grip.view, run, at) });
    } else if (!h.moved) click(h.x);
  };

  const letGo = () => {
    cancelAnimationFrame(frame.current);
    frame.current = 0;
    held.current = undefined;
    brushed.value = undefined;
  };

  /** A drag that ends without a choice. */
  const giveUp = () => {
    const h = held.current;
    if (!h) return;
    letGo();
    if (h.moved && h.grip.kind !== "strip" && h.grip.kind !== "pinch") props.onBrush(undefined);
  };

  const cancel = (event: PointerEvent) => {
    fingers.current.delete(event.pointerId);
    giveUp();
  };

  /** A click clears what is selected; else it chooses a moment. */
  const click = (x: number) => {
    const { ranges } = state.current;
    if (ranges.a) apply({ ...state.current, ranges: {}, cursor: undefined });
    else apply({ ...state.current, cursor: Math.round(snapper(facts)(toTime(axis(), x))) });
  };

  const double = (event: MouseEvent) => {
    const at = toTime(axis(), placeOf(event).x);
    const next = selectRise(state.current, facts, at);
    if (next !== state.current) apply({ ...next, cursor: undefined });
  };

  const press = (event: KeyboardEvent) => {
    if (event.altKey || event.metaKey) return;
    if (event.key === "Escape" && held.current) {
      event.preventDefault();
      giveUp();
      return;
    }
    if (event.ctrlKey && !event.shiftKey) return;
    const next = keyed(state.current, facts, event);
    if (!next) return;
    event.preventDefault();
    event.stopPropagation();
    const changes = next.ranges !== state.current.ranges;
    const extending = event.shiftKey && changes;
    apply(next, !extending);
    if (extending) unsaid.current = true;
    else if (changes) said.value = rangesInWords(whole, detail, next, clock, props.peak);
  };

  /** While shift is held, ranges still change. */
  const settle = () => {
    if (!unsaid.current) return;
    unsaid.current = false;
    brushed.value = undefined;
    props.onSelect(state.current.ranges);
    said.value = rangesInWords(whole, detail, state.current, clock, props.peak);
  };

  const at = props.state.cursor ?? peak.atNs;
  return (
    <div
      class="picture"
      ref={element}
      tabIndex={0}
      role="slider"
      aria-label="timeline"
      aria-valuemin={run.begin / 1e9}
      aria-valuemax={run.end / 1e9}
      aria-valuenow={at / 1e9}
      aria-valuetext={momentInWords(whole, detail, props.state, clock, peak)}
      aria-describedby={help}
      onPointerDown={down}
      onPointerMove={move}
      onPointerUp={up}
      onPointerCancel={cancel}
      onPointerLeave={() => (hover.value = undefined)}
      onDblClick={double}
      onKeyDown={press}
      onKeyUp={(event) => event.key === "Shift" && settle()}
      onBlur={settle}
    >
      <canvas ref={curves} aria-hidden="true" />
      <canvas ref={overlay} aria-hidden="true" />
      <span id={help} class="unseen">
        Live and resident bytes over time; peak {size(peak.bytes)}. Arrows move the chosen moment, with Shift they
        select a range, with Ctrl and Shift a second one to compare with. Enter selects the rise around the moment,
        Escape goes one step back.
      </span>
      <span class="unseen" role="status">
        {said.value}
      </span>
    </div>
  );
}

/** The chosen moment with its values, to be read out. */
function momentInWords(
  whole: Steps,
  detail: Steps | undefined,
  state: State,
  clock: Clock,
  peak: PeakKnown,
): string {
  const at = state.cursor ?? peak.atNs;
  const steps = stepsAt(whole, detail, at);
  const i = stepAt(steps, at);
  const pixelNs = pixelOf(whole, state);
  const words = [`after ${clock.moment(at)}: live ${size(liveAt(whole, detail, at, peak))}`];
  const resident = steps.resident?.[i] ?? NaN;
  if (!Number.isNaN(resident)) words.push(`resident ${size(resident)}`);
  for (const { name, atNs } of whole.marks) {
    if (Math.abs(atNs - at) <= pixelNs && words.length < 5) words.push(`mark ${shorten(visible(name))}`);
  }
  return words.join(", ");
}

/** The selected ranges, to be read out. */
function rangesInWords(
  whole: Steps,
  detail: Steps | undefined,
  { ranges }: State,
  clock: Clock,
  peak: Peak | undefined,
): string {
  const words = (span: Span) => {
    const ends = clock.span(span).replace(" – ", " to ");
    return `${ends}, live ${change(changeOver(whole, detail, span, peak))}`;
  };
  if (!ranges.a) return "nothing selected";
  const { a: later, b: earlier } = ordered(ranges);
  if (!later || !earlier) return `selected ${words(ranges.a)}`;
  return `selected A: ${words(earlier)}; B: ${words(later)}`;
}
