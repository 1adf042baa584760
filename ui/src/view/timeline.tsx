// The timeline: live and resident bytes over the run, with the values under the cursor above it.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import type { Levels, Part, Peak } from "../model/answers.ts";
import { duration, size } from "../model/format.ts";
import { byteLabel, byteSteps, secondLabel, secondSteps } from "../model/scale.ts";
import { Refusal } from "./states.tsx";
import { themeChanges } from "./theme.tsx";

const height = 148;

/** Without a part, an empty picture of the same size. */
export function Timeline({ part, peak }: { part: Part<Levels> | undefined; peak: Peak | undefined }) {
  const levels = part && "value" in part ? part.value : undefined;
  const picture = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const at = useSignal<number | null>(null); // the step under the cursor
  const byKeys = useSignal(false); // then the values are read out as they change
  const theme = themeChanges.value;

  useEffect(() => {
    const element = picture.current;
    if (!element || !levels || levels.seconds.length === 0) return;
    const drawn = draw(element, levels, (step) => (at.value = step));
    plot.current = drawn;
    const sized = new ResizeObserver(() => drawn.setSize({ width: element.clientWidth, height }));
    sized.observe(element);
    return () => {
      sized.disconnect();
      drawn.destroy();
      plot.current = undefined;
      at.value = null;
    };
  }, [levels, theme]);

  const move = (event: KeyboardEvent) => {
    if (!levels || !plot.current) return;
    const last = levels.seconds.length - 1;
    const page = Math.max(1, Math.round(last / 20));
    const steps: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, PageUp: -page, PageDown: page };
    const jumps: Record<string, number> = { Home: 0, End: last };
    const by = steps[event.key];
    const to = by === undefined ? jumps[event.key] : (at.value ?? 0) + by;
    if (to === undefined) return;
    event.preventDefault();
    const step = Math.min(last, Math.max(0, to));
    plot.current.setCursor({ left: plot.current.valToPos(levels.seconds[step] ?? 0, "x"), top: 0 });
  };

  const step = at.value;
  const peakText = peak?.atNs === undefined ? "" : `peak ${size(peak.bytes)} after ${duration(peak.atNs)}`;
  const value = (list: (number | null)[] | undefined) => {
    const bytes = step === null ? null : (list?.[step] ?? null);
    return bytes === null ? "" : size(bytes);
  };
  return (
    <div class="timeline">
      <div class="readout" aria-live={byKeys.value ? "polite" : "off"}>
        {levels && (
          <span class="swatch live">
            <span>live</span> <b>{value(levels.live)}</b>
          </span>
        )}
        {levels?.resident && (
          <span class="swatch resident">
            <span>resident</span> <b>{value(levels.resident)}</b>
          </span>
        )}
        <span class="at quiet">
          {step !== null
            ? `after ${duration(Math.round((levels?.seconds[step] ?? 0) * 1e9))}`
            : peak?.atNs !== undefined && (
                <>
                  peak {size(peak.bytes)} <span class="wide">after {duration(peak.atNs)}</span>
                </>
              )}
        </span>
      </div>
      <div
        class="picture"
        ref={picture}
        tabIndex={levels ? 0 : undefined}
        role={levels ? "img" : undefined}
        aria-label={levels ? `live and resident bytes over time; ${peakText}` : undefined}
        onKeyDown={move}
        onFocus={() => (byKeys.value = true)}
        onBlur={() => (byKeys.value = false)}
      >
        {part && "fault" in part && <Refusal fault={part.fault} />}
      </div>
    </div>
  );
}

function draw(element: HTMLElement, levels: Levels, onStep: (step: number | null) => void): uPlot {
  const colour = (name: string) => resolve(element, `var(--${name})`);
  const [live, resident, quiet, line] = [colour("live"), colour("resident"), colour("quiet"), colour("line")];
  const axis = {
    stroke: quiet,
    font: `11px ${getComputedStyle(element).fontFamily}`,
    grid: { stroke: line, width: 1 },
    ticks: { show: false },
  };
  const series: uPlot.Series[] = [
    {},
    { label: "live", stroke: live, width: 1.5, fill: fade(live), points: { show: false } },
  ];
  const data: (number | null)[][] = [levels.seconds, levels.live];
  if (levels.resident) {
    const look = { stroke: resident, width: 1.5, dash: [4, 3], points: { show: false } };
    series.push({ label: "resident", ...look, spanGaps: true });
    data.push(levels.resident);
  }
  return new uPlot(
    {
      width: element.clientWidth,
      height,
      padding: [8, 14, 0, 0],
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 } },
      scales: { x: { time: false }, y: { range: (_, __, max) => [0, Math.max(1, max * 1.06)] } },
      axes: [
        { ...axis, incrs: secondSteps, values: (_, marks) => marks.map(secondLabel), size: 24, gap: 4, space: 80 },
        { ...axis, incrs: byteSteps, values: (_, marks) => marks.map(byteLabel), size: 64, gap: 6, space: 28 },
      ],
      series,
      hooks: { setCursor: [(plot) => onStep(plot.cursor.idx ?? null)] },
    },
    data as uPlot.AlignedData,
    element,
  );
}

/** The colour that a style gives here, for the canvas, which knows no variables. */
function resolve(element: HTMLElement, colour: string): string {
  const probe = document.createElement("i");
  probe.style.color = colour;
  element.append(probe);
  const resolved = getComputedStyle(probe).color;
  probe.remove();
  return resolved;
}

/** The same colour, nearly transparent, for the area below a curve. */
function fade(rgb: string): string {
  return rgb.replace(/^rgb\((.*)\)$/, "rgba($1, 0.16)");
}
