// The blocks of a cell of the heap, at the moment that is shown: as a list beside the picture, and as bars to scale.
import { useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useMemo } from "preact/hooks";
import type { App } from "../app.ts";
import { threadText, type BlockRow, type LiveBlocks } from "../model/blocks.ts";
import { duration, exactSize, plural, size } from "../model/format.ts";
import {
  addressesText,
  ageNumber,
  HeapColours,
  partsOf,
  placeOfCell,
  stackOnly,
  type Addresses,
  type Heap,
  type HeapMoment,
  type Tint,
} from "../model/heap.ts";
import type { Follower } from "../model/follower.ts";
import type { Place } from "../model/place.ts";
import { FrameList } from "./frames.tsx";
import { goOf } from "./go-of.ts";
import { GoLink } from "./go.tsx";
import { isDark } from "./heap.tsx";
import { Link } from "./link.tsx";
import { Name } from "./name.tsx";
import { Answered } from "./part.tsx";
import { themeChanges } from "./theme.tsx";
import { useWheel } from "./wheel.ts";
import { useWidth } from "./width.ts";

/** So many blocks are listed; the page Blocks lists the others. */
const mostListed = 100;

interface Props {
  app: App;
  heap: Heap;
  moment: HeapMoment;
  cell: number;
  addresses: Addresses;
  part: Follower<LiveBlocks>;
}

/** Side by side with the picture: what lies in a cell. */
export function CellBlocks({ app, heap, moment, cell, addresses, part, toScale }: Props & { toScale: () => void }) {
  const place = app.place.value;
  const flame = placeOfCell(heap, place, moment, cell);
  const bytes = Number(addresses.to - addresses.from) + 1;
  const title = `${size(bytes)} at 0x${addresses.from.toString(16)}`;
  return (
    <aside class="heap-beside" aria-label={`blocks of ${title}`}>
      <header>
        <h2>{title}</h2>
        <button type="button" class="plain" onClick={() => app.change({ address: undefined })}>
          close
        </button>
      </header>
      <p class="actions">
        <button type="button" class="plain" onClick={toScale}>
          to scale
        </button>
        {flame && (
          <Link app={app} to={flame} title="what has most bytes there: all that it has live then">
            flame graph
          </Link>
        )}
        <GoLink go={goOf(app, blocksPage(place, addresses))}>on the page Blocks</GoLink>
      </p>
      <Answered part={part} skeleton={<p class="quiet">…</p>}>
        {(answer) => <List app={app} answer={answer} />}
      </Answered>
    </aside>
  );
}

/** The page Blocks with the same blocks. */
function blocksPage({ at }: Place, addresses: Addresses): Partial<Place> {
  const where = { address: addressesText(addresses), at: at ?? "peak", from: undefined, to: undefined };
  return { page: "blocks", order: "address", ...where };
}

function List({ app, answer }: { app: App; answer: LiveBlocks }) {
  const { list, atNs, bytes, blocks, missing } = answer;
  const rows = Array.from({ length: Math.min(list.length, mostListed) }, (_, i) => list.at(i)!);
  return (
    <>
      {missing && (
        <p class="wrong">
          <bdi>{missing}</bdi>
        </p>
      )}
      <p title={exactSize(bytes)}>
        {blocks === 0 ? "No block" : `${plural(blocks, "block")} of ${size(bytes)}`} at {app.clock.moment(atNs)}
      </p>
      <ol class="heap-blocks">
        {rows.map((row) => (
          <Row key={row.number} app={app} row={row} atNs={atNs} />
        ))}
      </ol>
      {blocks > rows.length && <p class="quiet">and {plural(blocks - rows.length, "more block")}</p>}
    </>
  );
}

function Row({ app, row, atNs }: { app: App; row: BlockRow; atNs: number }) {
  const open = useSignal(false);
  const place = app.place.value;
  const focus = stackOnly(row.stack.stack);
  const tid = String(row.thread.tid);
  return (
    <li>
      <button type="button" class="fold" aria-expanded={open.value} onClick={() => (open.value = !open.value)}>
        <code>{row.address}</code> <b title={exactSize(row.size)}>{size(row.size)}</b>{" "}
        <span class="quiet">{duration(atNs - row.bornNs)} old</span>
        <br />
        <Name text={row.stack.name} limit={60} />
      </button>
      {open.value && (
        <>
          <p class="quiet">
            by thread <Name text={threadText(row.thread)} limit={40} />
          </p>
          <FrameList app={app} stack={row.stack.stack} label="call stack" />
          <p class="actions">
            <GoLink go={goOf(app, { page: "blocks", block: String(row.number), address: row.address })}>
              what became of it
            </GoLink>
            {focus.length > 0 && (
              <GoLink go={goOf(app, { focus: [...new Set([...place.focus, ...focus])] })} title="--focus">
                only this call stack
              </GoLink>
            )}
            <GoLink go={goOf(app, { thread: [tid] })} title="--thread">
              only this thread
            </GoLink>
          </p>
        </>
      )}
    </li>
  );
}

const [barRows, rowHeight, barHeight, leastBytes] = [16, 22, 18, 256];

interface BarsProps extends Props {
  tint: Tint;
  canvas: RefObject<HTMLCanvasElement | null>;
  /** The reader zooms out of the cell. */
  leave: () => void;
}

/** The blocks of a cell as bars, in rows of equally many bytes. */
export function BlockBars(props: BarsProps) {
  const { app, heap, addresses, part, tint, canvas, leave } = props;
  const { box, width } = useWidth();
  const total = Number(addresses.to - addresses.from) + 1;
  const view = useSignal({ begin: 0, length: total });
  const current = useSignal(0);
  const theme = themeChanges.value;
  const colours = useMemo(() => new HeapColours(heap, tint, isDark()), [heap, tint, theme]);
  const answer = part.shown.value?.value;
  const rows = useMemo(() => answer?.list.all() ?? [], [answer]);
  useEffect(() => {
    view.value = { begin: 0, length: total };
    current.value = 0;
  }, [addresses.from, addresses.to]);
  const { begin, length } = view.value;
  const gutter = width < 420 ? 0 : 120;
  const perRow = length / barRows;
  const scale = Math.max(1, width - gutter) / perRow;
  const startOf = (row: BlockRow) => Number(BigInt(row.address) - addresses.from);
  const partsIn = (row: BlockRow) => {
    const at = startOf(row) - begin;
    return partsOf(at, at + Math.max(row.size, 1), perRow, barRows);
  };
  useLayoutEffect(() => {
    if (!canvas.current || width === 0) return;
    const draws = canvas.current.getContext("2d");
    if (!draws) return;
    const ratio = devicePixelRatio || 1;
    canvas.current.width = Math.round(width * ratio);
    canvas.current.height = Math.round(barRows * rowHeight * ratio);
    draws.setTransform(ratio, 0, 0, ratio, 0, 0);
    const { color } = getComputedStyle(canvas.current);
    draws.font = '11px ui-monospace, "DejaVu Sans Mono", monospace';
    draws.textBaseline = "middle";
    for (let i = 0; i < barRows; i++) {
      draws.fillStyle = color;
      const label = `0x${(addresses.from + BigInt(Math.floor(begin + i * perRow))).toString(16)}`;
      if (gutter > 0) draws.fillText(label, 0, i * rowHeight + barHeight / 2);
      draws.fillStyle = colours.empty;
      draws.fillRect(gutter, i * rowHeight, width - gutter, barHeight);
    }
    const forced = matchMedia("(forced-colors: active)").matches;
    for (const row of rows) {
      draws.fillStyle = forced ? color : colourOf(heap, colours, row, answer?.atNs ?? 0);
      for (const { row: i, from, to } of partsIn(row)) {
        draws.fillRect(gutter + from * scale, i * rowHeight, Math.max(1, (to - from) * scale - 1), barHeight);
      }
    }
  }, [rows, colours, width, begin, length, addresses.from]);
  const blockAt = (event: MouseEvent): number => {
    const at = box.current?.getBoundingClientRect();
    if (!at) return -1;
    const [x, y] = [event.clientX - at.left - gutter, event.clientY - at.top];
    const byte = begin + Math.floor(y / rowHeight) * perRow + x / scale;
    if (x < 0) return -1;
    return rows.findIndex((row) => startOf(row) <= byte && byte < startOf(row) + Math.max(row.size, 1));
  };
  /** Zooms around a byte of the cell. */
  const zoom = (byte: number, times: number) => {
    if (times > 1 && length >= total) return leave();
    const next = Math.min(total, Math.max(Math.min(leastBytes, total), length * times));
    const share = Math.min(1, Math.max(0, (byte - begin) / length));
    const first = Math.max(0, Math.min(total - next, byte - share * next));
    view.value = { begin: Math.floor(first / 16) * 16, length: next };
  };
  const chosen = rows[current.value];
  const centre = chosen ? startOf(chosen) : begin + length / 2;
  const show = (i: number) => {
    const row = rows[i];
    if (!row) return;
    current.value = i;
    const at = startOf(row);
    if (at >= begin && at < begin + length) return;
    view.value = { begin: Math.floor(Math.max(0, Math.min(total - length, at - length / 2)) / 16) * 16, length };
  };
  const open = (i: number) => {
    const row = rows[i];
    if (row) app.change({ page: "blocks", block: String(row.number), address: row.address });
  };
  useWheel(box, (event, times) => {
    const at = box.current!.getBoundingClientRect();
    const [x, y] = [Math.max(0, event.clientX - at.left - gutter), event.clientY - at.top];
    zoom(begin + Math.floor(y / rowHeight) * perRow + x / scale, times);
    return true;
  });
  const press = (event: KeyboardEvent) => {
    if (event.altKey || event.metaKey || event.ctrlKey) return;
    if (event.key === "+" || event.key === "=") zoom(centre, 0.5);
    else if (event.key === "-") zoom(centre, 2);
    else if (event.key === "Escape") leave();
    else if (event.key === "Enter") open(current.value);
    else if (event.key === "ArrowRight" || event.key === "ArrowDown") show(current.value + 1);
    else if (event.key === "ArrowLeft" || event.key === "ArrowUp") show(current.value - 1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const words = chosen
    ? `block #${chosen.number} at ${chosen.address}: ${size(chosen.size)}, ` +
      `${duration((answer?.atNs ?? 0) - chosen.bornNs)} old, allocated in `
    : "no block lies there at this moment";
  const first = chosen && partsIn(chosen)[0];
  return (
    <>
      <div
        class="heap-picture heap-bars"
        ref={box}
        tabIndex={0}
        role="img"
        aria-label={`blocks to scale, ${size(length)} of them: ${words}${chosen?.stack.name ?? ""}`}
        style={{ height: `${barRows * rowHeight}px` }}
        onKeyDown={press}
        onPointerMove={(event) => {
          const i = blockAt(event);
          if (i >= 0) current.value = i;
        }}
        onClick={(event) => open(blockAt(event))}
      >
        <canvas ref={canvas} aria-hidden="true" />
        {first && (
          <div
            class="heap-hovered"
            aria-hidden="true"
            style={{
              left: `${gutter + first.from * scale}px`,
              top: `${first.row * rowHeight}px`,
              width: `${Math.max(1, (first.to - first.from) * scale - 1)}px`,
              height: `${barHeight}px`,
            }}
          />
        )}
      </div>
      <p class="quiet heap-said">
        {words}
        {chosen && <Name text={chosen.stack.name} limit={80} />}
      </p>
    </>
  );
}

function colourOf(heap: Heap, colours: HeapColours, row: BlockRow, atNs: number): string {
  const names = heap.names;
  const thread = String(row.thread.tid);
  const i =
    heap.by === "thread"
      ? names.findIndex((name) => /(\d+)\)?$/.exec(name)?.[1] === thread)
      : names.indexOf(row.stack.headline?.name ?? "");
  return colours.of(255, ageNumber(heap, atNs - row.bornNs), i < 0 ? names.length : i);
}
