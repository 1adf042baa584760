// A heat map: two distributions at once, as a picture with a current cell, and as a table.
import { useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { shortCount } from "../../model/format.ts";
import {
  cellOf,
  cellText,
  counted,
  describe,
  labelled,
  rowTotal,
  stepTo,
  strengthOf,
  strongest,
  type Cell,
  type Heat,
  type HeatWords,
} from "../../model/sizes.ts";
import { framed, savePng } from "../picture.ts";
import { themeChanges } from "../theme.tsx";
import { useWidth } from "../width.ts";

export interface HeatMapProps {
  heat: Heat;
  words: HeatWords;
  /** What decides which cells are chosen. */
  chosenBy: unknown;
  chosen: (cell: Cell) => boolean;
  /** Filters by a cell, or no longer. */
  choose: (cell: Cell) => void;
}

const rowHeight = 16;
const axisHeight = 20;
const labelGap = 8;

/** Where the cells are in the picture. */
interface Grid {
  left: number;
  cell: number; // width
}

function gridOf(width: number, heat: Heat): Grid {
  const left = width < 480 ? 104 : 132;
  return { left, cell: Math.min(40, (width - left - 4) / Math.max(1, heat.across.length)) };
}

export function HeatMap(props: HeatMapProps) {
  const { heat, words } = props;
  const asTable = useSignal(false);
  const canvas = useRef<HTMLCanvasElement>(null);
  const save = () => {
    if (canvas.current) savePng(framed(canvas.current, [words.title, words.about]), `heat-map-${heat.kind}`);
  };
  return (
    <section class="heat">
      <h2>
        {words.title} <span class="quiet">{words.about}</span>
      </h2>
      {heat.total === 0 ? (
        <p class="quiet">There are none in the selection.</p>
      ) : (
        <>
          {asTable.value ? <HeatTable {...props} /> : <HeatPicture {...props} canvas={canvas} />}
          <p class="heat-foot">
            <span class="quiet heat-legend">
              {shortCount(heat.least)} <i aria-hidden="true" /> {shortCount(heat.most)} in a cell, of{" "}
              {counted(heat.kind, heat.total)}
            </span>
            <button
              type="button"
              class="plain"
              aria-pressed={asTable.value}
              onClick={() => (asTable.value = !asTable.value)}
            >
              as {asTable.value ? "picture" : "table"}
            </button>
            {!asTable.value && (
              <button type="button" class="plain" onClick={save}>
                Save as PNG
              </button>
            )}
          </p>
        </>
      )}
    </section>
  );
}

function HeatPicture(props: HeatMapProps & { canvas: RefObject<HTMLCanvasElement | null> }) {
  const { heat, words, chosen, chosenBy, choose, canvas } = props;
  const { box: place, width } = useWidth();
  const current = useSignal<Cell>(strongest(heat));
  const pointed = useSignal<Cell | undefined>(undefined);
  const focused = useSignal(false);
  const id = useId();
  const height = heat.down.length * rowHeight + axisHeight;
  const theme = themeChanges.value;

  useLayoutEffect(() => {
    current.value = strongest(heat);
    pointed.value = undefined;
  }, [heat]);
  useLayoutEffect(() => {
    if (canvas.current && place.current && width > 0) {
      draw(canvas.current, place.current, width, height, heat, words, chosen);
    }
  }, [heat, chosenBy, width, theme]);

  const { left, cell } = gridOf(width, heat);
  const at = (event: PointerEvent | MouseEvent): Cell | undefined => {
    const box = place.current?.getBoundingClientRect();
    if (!box) return undefined;
    const [x, y] = [event.clientX - box.left - left, event.clientY - box.top];
    const found = { down: Math.floor(y / rowHeight), across: Math.floor(x / cell) };
    return x >= 0 && found.down < heat.down.length && found.across < heat.across.length ? found : undefined;
  };
  const { down, across } = current.value;
  const shown = pointed.value ?? (focused.value ? current.value : undefined);
  const act = (to: Cell | undefined) => {
    if (to && cellOf(heat, to.down, to.across).count > 0) choose(to);
  };
  return (
    <>
      <p class="quiet heat-says" aria-hidden="true">
        {shown
          ? cellText(heat, words, shown.down, shown.across)
          : `${words.down} ↓ · ${words.across} → · click a cell`}
      </p>
      <div
        class="heat-picture"
        ref={place}
        style={{ height: `${height}px` }}
        tabIndex={0}
        role="grid"
        aria-label={`${words.title}: ${words.about}`}
        aria-describedby={`${id}about`}
        aria-rowcount={heat.down.length}
        aria-colcount={heat.across.length}
        aria-activedescendant={id}
        onFocus={() => (focused.value = true)}
        onBlur={() => (focused.value = false)}
        onPointerMove={(event) => (pointed.value = at(event))}
        onPointerLeave={() => (pointed.value = undefined)}
        onClick={(event) => {
          const to = at(event);
          if (to) current.value = to;
          act(to);
        }}
        onKeyDown={(event) => {
          if (event.ctrlKey || event.altKey || event.metaKey) return;
          if (event.key === "Enter" || event.key === " ") act(current.value);
          else {
            const to = stepTo(current.value, event.key, heat);
            if (!to) return;
            current.value = to;
            pointed.value = undefined;
          }
          event.preventDefault();
          event.stopPropagation();
        }}
      >
        <canvas ref={canvas} aria-hidden="true" />
        <div role="row" aria-rowindex={down + 1}>
          <div
            id={id}
            role="gridcell"
            class="heat-current"
            aria-colindex={across + 1}
            aria-selected={chosen(current.value)}
            aria-label={cellText(heat, words, down, across)}
            style={{
              left: `${left + across * cell}px`,
              top: `${down * rowHeight}px`,
              width: `${cell}px`,
              height: `${rowHeight}px`,
            }}
          />
        </div>
      </div>
      <p id={`${id}about`} class="unseen">
        {describe(heat, words)}
      </p>
    </>
  );
}

function draw(
  canvas: HTMLCanvasElement,
  element: HTMLElement,
  width: number,
  height: number,
  heat: Heat,
  words: HeatWords,
  chosen: (cell: Cell) => boolean,
): void {
  const ratio = devicePixelRatio;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const c = canvas.getContext("2d");
  if (!c) return;
  const style = getComputedStyle(element);
  const probe = element.appendChild(document.createElement("i"));
  probe.style.setProperty("forced-color-adjust", "none");
  const colour = (name: string) => {
    probe.style.color = `var(--${name})`; // a canvas knows no variables
    return getComputedStyle(probe).color;
  };
  const palette = { text: colour("text"), quiet: colour("quiet"), line: colour("line"), live: colour("live"),
    accent: colour("accent") };
  probe.remove();
  const { left, cell } = gridOf(width, heat);
  c.setTransform(ratio, 0, 0, ratio, 0, 0);
  c.font = `12px ${style.fontFamily}`;
  c.textBaseline = "middle";
  c.direction = "ltr";
  // Cells touch if they are too narrow for a gap.
  const gap = cell >= 6 ? 1 : 0;
  const right = left + cell * heat.across.length;
  heat.down.forEach((row, down) => {
    const top = down * rowHeight;
    c.globalAlpha = 1;
    c.fillStyle = palette.line;
    c.fillRect(left, top + rowHeight - 1, right - left, 0.5);
    c.fillStyle = row.never ? palette.text : palette.quiet;
    c.textAlign = "right";
    c.fillText(words.downName(row), left - labelGap, top + rowHeight / 2, left - labelGap);
    c.fillStyle = palette.live;
    heat.across.forEach((_, across) => {
      const n = cellOf(heat, down, across).count;
      if (n === 0) return;
      c.globalAlpha = strengthOf(heat, n);
      c.fillRect(left + across * cell, top, cell - gap, rowHeight - 1);
    });
  });
  c.globalAlpha = 1;
  c.strokeStyle = palette.accent;
  c.lineWidth = 2;
  heat.down.forEach((_, down) =>
    heat.across.forEach((_, across) => {
      if (cellOf(heat, down, across).count > 0 && chosen({ down, across })) {
        c.strokeRect(left + across * cell + 1, down * rowHeight + 1, Math.max(cell - 2, 1), rowHeight - 3);
      }
    }),
  );
  c.fillStyle = palette.quiet;
  c.textAlign = "left";
  const y = heat.down.length * rowHeight + axisHeight / 2 + 1;
  const widest = Math.max(...heat.across.map((one) => c.measureText(words.axisName(one)).width));
  for (const across of labelled(heat.across.length, cell, widest + 12)) {
    const one = heat.across[across];
    if (!one) continue;
    const text = words.axisName(one);
    const x = left + across * cell;
    c.fillRect(x, y - axisHeight / 2, 1, 3);
    if (x + c.measureText(text).width <= width) c.fillText(text, x, y);
  }
}

/** The same numbers, for those who want to read or copy them. */
function HeatTable({ heat, words, chosen, choose }: HeatMapProps) {
  return (
    <div class="scroll heat-table" tabIndex={0} role="region" aria-label={`${words.title} as a table`}>
      <table>
        <thead>
          <tr>
            <th scope="col">
              {words.down} ↓ {words.across} →
            </th>
            {heat.across.map((column, i) => (
              <th key={i} scope="col" class="number">
                {words.axisName(column)}
              </th>
            ))}
            <th scope="col" class="number">
              all
            </th>
          </tr>
        </thead>
        <tbody>
          {heat.down.map((row, down) => (
            <tr key={down}>
              <th scope="row">{words.downName(row)}</th>
              {heat.across.map((_, across) => {
                const { count } = cellOf(heat, down, across);
                const cell = { down, across };
                return (
                  <td key={across} class="number">
                    {count > 0 && (
                      <button
                        type="button"
                        class="plain"
                        aria-pressed={chosen(cell)}
                        title={cellText(heat, words, down, across)}
                        onClick={() => choose(cell)}
                      >
                        {shortCount(count)}
                      </button>
                    )}
                  </td>
                );
              })}
              <td class="number">{shortCount(rowTotal(heat, down))}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
