// Timeline: live bytes as layers of what allocated them, and below, over the same time: how fast memory was allocated,
// what the kernel says of the process, and what is left of the system's memory.
import { useSignal, type Signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { About, Timeline } from "../../api.ts";
import type { App, Selected } from "../../app.ts";
import { filtersOf } from "../../model/filters.ts";
import { count, digits, exactSize, percent, shortCount, size } from "../../model/format.ts";
import type { Group } from "../../model/group.ts";
import {
  axisSpan,
  describe,
  edgesOf,
  highestStep,
  largest,
  layerAt,
  layerCountOf,
  layerCounts,
  layersBy,
  layersByOf,
  layersOf,
  layersParameters,
  momentOf,
  notLive,
  onlyLayer,
  perSecond,
  restName,
  stepNear,
  type Layers,
} from "../../model/layers.ts";
import { visible } from "../../model/names.ts";
import { scaleOf } from "../../model/table.ts";
import { parseTime, timeText, type Span } from "../../model/time.ts";
import { toTime, type Axis } from "../../model/timeline.ts";
import type { Question } from "../../net/ask.ts";
import { copyText } from "../copy.ts";
import {
  chartAxis,
  chartGutter,
  drawChart,
  layerColour,
  plotHeight,
  restColour,
  type Chart,
  useDark,
  type Curve,
} from "../layers-draw.ts";
import { Name } from "../name.tsx";
import { Answered, useActions, useMainPart } from "../part.tsx";
import { hasSomeEvents, NoEvents } from "../parts/no-events.tsx";
import { PlaceLink } from "../link.tsx";
import { Grid, GridCursor, type GridCell, type GridColumn, type GridData, type GridEvents } from "../table.tsx";
import { paletteOf } from "../timeline-draw.ts";
import { hover as hoverRow, menuEntries, MenuHere, Nothing, pick, rowsSkeleton, RowsPage, saveRows, useMenu,
  useNotice } from "./rows.tsx";
import { useWidth } from "../width.ts";

/** Where events before some time were folded, it is about the time since, unless the reader asks for another. */
function questionOf({ place }: Selected, about: About): Question<"timeline", Layers> {
  const since = about.folded && place.from === undefined ? { ...place, from: timeText(about.from_ns) } : place;
  const parameters = layersParameters(since, about.events);
  return { name: "timeline", parameters, read: (answer) => layersOf(answer as Timeline) };
}

export function TimelinePage({ app }: { app: App }) {
  const part = useMainPart(app, "layers", (selected) => {
    const about = app.about.shown.value?.value;
    return selected.rough || !about || !hasSomeEvents(app) ? undefined : questionOf(selected, about);
  });
  if (hasSomeEvents(app) === false) return <NoEvents app={app} what="of what live bytes consisted" />;
  return (
    <Answered part={part} skeleton={rowsSkeleton}>
      {(layers) => <Page app={app} layers={layers} />}
    </Answered>
  );
}

/** What the charts of the page have in common: the moment at the pointer, and the layer. */
interface Pointed {
  step: Signal<number | undefined>;
  layer: Signal<number>;
}

function Page({ app, layers }: { app: App; layers: Layers }) {
  const place = app.place.value;
  const pointed: Pointed = { step: useSignal<number | undefined>(undefined), layer: useSignal(-1) };
  const { say, notice } = useNotice();
  const { show: showMenu, menu } = useMenu();
  const cursor = useMemo(() => new GridCursor(), []);
  const asTable = place.order === "table";
  const data = useMemo(() => tableOf(layers), [layers]);
  const saveCsv = () => saveRows("timeline", data, say);
  useActions(app, { "rows.csv": saveCsv });
  const moment = place.at === undefined ? undefined : parseTime(place.at, runOf(app));
  const at = pointed.step.value ?? (moment === undefined ? highestStep(layers) : stepNear(layers.timesNs, moment));
  const empty = layers.live.every((bytes) => bytes === 0) && layers.allocations.every((n) => n === 0);

  const alone = (i: number) => {
    const group = layers.layers[i]?.group;
    const only = group && onlyLayer(place, group);
    if (group) pick(app, { group });
    if (only) app.change(only);
    else say("it has no name by which it could be found");
  };
  const menuOf = (i: number, point: { x: number; y: number }) => {
    const group = layers.layers[i]?.group;
    if (!group) return;
    const copies = [{ title: "Copy the name", run: () => void copyText(group.name, "name") }];
    showMenu(group.name, point, menuEntries(app, { group }, copies));
  };
  const events: GridEvents = {
    pick: (i) => app.change({ at: momentOf(layers, i) }, "replace"),
    enter: (i) => app.change({ at: momentOf(layers, i) }),
  };
  useEffect(() => () => void (app.hovered.value = undefined), []);
  const { begin, end } = axisSpan(place, layers, runOf(app));
  return (
    <RowsPage
      notice={notice}
      missing={layers.missing}
      tools={
        <>
          <label class="choose">
            layers by{" "}
            <select value={layersByOf(place)} onChange={(event) => app.change({ by: event.currentTarget.value })}>
              {layersBy.map((by) => (
                <option key={by}>{by}</option>
              ))}
            </select>
          </label>
          <label class="choose">
            at most{" "}
            <select
              value={layerCountOf(place)}
              onChange={(event) => app.change({ top: event.currentTarget.value }, "replace")}
            >
              {layerCounts.map((n) => (
                <option key={n}>{n}</option>
              ))}
            </select>
          </label>
          <button type="button" onClick={() => app.change({ order: asTable ? undefined : "table" })}>
            {asTable ? "As picture" : "As table"}
          </button>
          <button type="button" onClick={saveCsv}>
            Save as CSV
          </button>
          <span class="quiet count" title={exactSize(layers.live[at] ?? 0)}>
            {size(layers.live[at] ?? 0)} live after {app.clock.moment(layers.timesNs[at] ?? 0)}
          </span>
        </>
      }
    >
      {empty ? (
        <Nothing app={app} />
      ) : asTable ? (
        <Grid data={data} events={events} cursor={cursor} />
      ) : (
        <div class="layers">
          <Stack
            app={app}
            layers={layers}
            span={{ begin, end }}
            cursor={moment}
            pointed={pointed}
            alone={alone}
            menu={menuOf}
          />
          <Legend app={app} layers={layers} at={at} pointed={pointed} alone={alone} menu={menuOf} />
          <Others app={app} layers={layers} span={{ begin, end }} cursor={moment} at={at} pointed={pointed} />
        </div>
      )}
      <MenuHere menu={menu} />
    </RowsPage>
  );
}

function runOf(app: App) {
  const report = app.report.shown.value?.value;
  return { ...app.clock.run, peak: report?.peak.time_ns, marks: new Map<string, number>() };
}

/** A canvas that draws a chart whenever anything of it changes. */
function Drawn({ chart }: { chart: Chart }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const inDark = useDark();
  useLayoutEffect(() => {
    const { current } = canvas;
    if (current?.parentElement && chart.width > 0) drawChart(current, chart, paletteOf(current.parentElement));
  }, [chart, inDark]);
  return <canvas ref={canvas} aria-hidden="true" />;
}

interface ChartProps {
  app: App;
  layers: Layers;
  span: Span;
  /** The chosen moment. */
  cursor: number | undefined;
  pointed: Pointed;
}

/** The step at a point of a chart. */
function stepAtPoint(event: MouseEvent, axis: Axis, { timesNs }: Layers): number {
  const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
  return stepNear(timesNs, toTime(axis, event.clientX - box.left - chartGutter));
}

const stackHeight = 280;

/** The layers, one above the other. */
function Stack(
  props: ChartProps & { alone: (i: number) => void; menu: (i: number, at: { x: number; y: number }) => void },
) {
  const { app, layers, span, cursor, pointed, alone, menu } = props;
  const { box, width } = useWidth();
  const place = app.place.value;
  const inDark = useDark();
  const edges = useMemo(() => edgesOf(layers.layers), [layers]);
  const top = useMemo(() => Math.max(1, largest(layers.live)), [layers]) * 1.04;
  const axis = chartAxis(width, span);
  const step = pointed.step.value;
  const layer = pointed.layer.value;
  const chart = useMemo((): Chart => {
    const last = edges.length - 1;
    const curves = edges.map((values, i): Curve => {
      return { values, colour: i === last ? restColour(inDark) : layerColour(i, inDark), kind: "area" };
    });
    const hover = step === undefined ? undefined : layers.timesNs[step];
    const shape = { width, height: stackHeight, axis, top, bytes: true, times: true };
    return { ...shape, timesNs: layers.timesNs, curves, chosen: layer, hover, cursor };
  }, [layers, width, span.begin, span.end, step, layer, cursor, inDark]);
  const at = (event: MouseEvent) => {
    const i = stepAtPoint(event, axis, layers);
    const y = event.clientY - (event.currentTarget as HTMLElement).getBoundingClientRect().top;
    const bottom = plotHeight(chart);
    return { step: i, layer: layerAt(edges, i, ((bottom - y) / (bottom - 4)) * top) };
  };
  const seen = step ?? highestStep(layers);
  const words = (i: number) => {
    const one = layers.layers[layer];
    const of = one ? `${one.name} ${size(one.live[i] ?? 0)} of ` : "";
    return `${timeText(layers.timesNs[i] ?? 0)} after the start: ${of}${size(layers.live[i] ?? 0)} live`;
  };
  const press = (event: KeyboardEvent) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const far = event.shiftKey ? 10 : 1;
    const to = (i: number) => (pointed.step.value = Math.max(0, Math.min(layers.timesNs.length - 1, i)));
    const n = layers.layers.length;
    if (event.key === "ArrowLeft") to(seen - far);
    else if (event.key === "ArrowRight") to(seen + far);
    else if (event.key === "Home") to(0);
    else if (event.key === "End") to(layers.timesNs.length - 1);
    else if (event.key === "ArrowUp") pointed.layer.value = Math.min(n - 1, layer + 1);
    else if (event.key === "ArrowDown") pointed.layer.value = Math.max(-1, layer - 1);
    else if (event.key === "Enter" && layer >= 0) alone(layer);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div
      class="layers-picture"
      ref={box}
      role="slider"
      tabIndex={0}
      aria-label={`live bytes by ${layersByOf(place)}`}
      aria-description={describe(layers, layersByOf(place), size)}
      aria-valuemin={0}
      aria-valuemax={layers.timesNs.length - 1}
      aria-valuenow={seen}
      aria-valuetext={visible(words(seen))}
      onKeyDown={press}
      onPointerMove={(event) => {
        const found = at(event);
        pointed.step.value = found.step;
        pointed.layer.value = found.layer;
        hoverRow(app, layers.layers[found.layer]?.group);
      }}
      onPointerLeave={() => {
        pointed.step.value = undefined;
        pointed.layer.value = -1;
        hoverRow(app, undefined);
      }}
      onClick={(event) => {
        const found = at(event);
        if (layers.layers[found.layer]?.group) alone(found.layer);
      }}
      onContextMenu={(event) => {
        event.preventDefault();
        menu(at(event).layer, { x: event.clientX, y: event.clientY });
      }}
      title={layer >= 0 ? visible(words(seen)) : undefined}
    >
      <Drawn chart={chart} />
    </div>
  );
}

/** The names of the layers, with what each has at the moment. */
function Legend(props: {
  app: App;
  layers: Layers;
  at: number;
  pointed: Pointed;
  alone: (i: number) => void;
  menu: (i: number, at: { x: number; y: number }) => void;
}) {
  const { app, layers, at, pointed, alone, menu } = props;
  const inDark = useDark();
  const place = app.place.value;
  const all = layers.live[at] ?? 0;
  const last = layers.layers.length - 1;
  const most = useMemo(() => layers.layers.map(({ live }) => largest(live)), [layers]);
  const flame = (group: Group) => {
    const only = onlyLayer(place, group);
    return only && { ...place, ...only, page: "flame" as const };
  };
  return (
    <section class="most layers-legend">
      <table>
        <caption>Layers, the lowest first</caption>
        <thead>
          <tr>
            <th>{layersByOf(place)}</th>
            <th class="number" title="live bytes at this moment">
              live after {app.clock.moment(layers.timesNs[at] ?? 0)}
            </th>
            <th class="number">share</th>
            <th class="number" title="the most at the end of any step">
              at most
            </th>
            <th />
          </tr>
        </thead>
        <tbody>
          {layers.layers.map(({ group, name, live }, i) => {
            const bytes = live[at] ?? 0;
            const to = group && flame(group);
            const full = group ? visible(group.text).slice(0, 500) : "";
            return (
              <tr
                key={i}
                class={pointed.layer.value === i ? "picked" : ""}
                onPointerEnter={() => {
                  pointed.layer.value = i;
                  hoverRow(app, group);
                }}
                onPointerLeave={() => {
                  pointed.layer.value = -1;
                  hoverRow(app, undefined);
                }}
                onContextMenu={(event) => {
                  event.preventDefault();
                  menu(i, { x: event.clientX, y: event.clientY });
                }}
              >
                <td>
                  <span
                    class="key"
                    aria-hidden="true"
                    style={{ background: i === last ? restColour(inDark) : layerColour(i, inDark) }}
                  />
                  {group ? (
                    <button
                      type="button"
                      class="plain function"
                      title={to ? `this alone: ${full}` : full}
                      onClick={() => alone(i)}
                    >
                      <Name text={name} limit={80} />
                    </button>
                  ) : (
                    <bdi>{name}</bdi>
                  )}{" "}
                  {group && group.note !== "" && (
                    <span class="quiet">
                      <bdi>{visible(group.note).slice(0, 160)}</bdi>
                    </span>
                  )}
                </td>
                <td class="number">
                  <span title={exactSize(bytes)}>{size(bytes)}</span>
                </td>
                <td class="number">{percent(bytes, all)}</td>
                <td class="number">
                  <span title={exactSize(most[i] ?? 0)}>{size(most[i] ?? 0)}</span>
                </td>
                <td>
                  {to && (
                    <PlaceLink to={to} go={(place) => app.go(place)}>
                      flame graph
                    </PlaceLink>
                  )}
                </td>
              </tr>
            );
          })}
          <tr class="sum">
            <td>
              <bdi>all</bdi>
            </td>
            <td class="number">
              <span title={exactSize(all)}>{size(all)}</span>
            </td>
            <td class="number">{percent(all, all)}</td>
            <td class="number">
              <span title={exactSize(layers.live[highestStep(layers)] ?? 0)}>
                {size(layers.live[highestStep(layers)] ?? 0)}
              </span>
            </td>
            <td />
          </tr>
        </tbody>
      </table>
    </section>
  );
}

/** A curve of one of the other charts, with its name. */
interface Measured {
  label: string;
  hint: string;
  values: Float64Array;
  colour: string;
  kind: Curve["kind"];
  dash?: readonly number[];
  text: (value: number) => string;
  exact: (value: number) => string;
}

const notLiveHint =
  "code, stacks, static data, mappings and what the allocator keeps; below 0 where live blocks were not touched yet";
const bytesRate = {
  text: (v: number) => `${size(v)}/s`,
  exact: (v: number) => `${exactSize(Math.round(v))} per second`,
};
const countRate = {
  text: (v: number) => `${shortCount(Math.round(v))}/s`,
  exact: (v: number) => `${digits(v)} per second`,
};
const bytesText = { text: size, exact: exactSize };
const countText = { text: (v: number) => shortCount(v), exact: (v: number) => count(v) };

/** What else is known, over the same time. */
function Others(props: ChartProps & { at: number }) {
  const { app, layers, at } = props;
  const place = app.place.value;
  const { from: _, to: __, ...filters } = filtersOf(place);
  const filtered = Object.keys(filters).length > 0;
  const charts = useMemo(() => {
    const { timesNs, sampled } = layers;
    const list: { title: string; bytes: boolean; of: Measured[] }[] = [];
    const add = (title: string, bytes: boolean, ...of: Measured[]) => {
      const known = of.filter(({ values }) => values.length > 0);
      if (known.length > 0) list.push({ title, bytes, of: known });
    };
    add("Allocated per second", true,
      { label: "allocated", hint: "bytes requested in each step, by second", values: perSecond(layers.bytes, timesNs),
        colour: "live", kind: "bars", ...bytesRate });
    add("Calls per second", false,
      { label: "allocations", hint: "in each step, by second", values: perSecond(layers.allocations, timesNs),
        colour: "live", kind: "bars", ...countRate },
      { label: "deallocations", hint: "in each step, by second", values: perSecond(layers.deallocations, timesNs),
        colour: "ribbon", kind: "line", ...countRate });
    add("Resident", true,
      { label: "resident", hint: "in memory, as the kernel says: the most in each step", values: sampled.resident_bytes,
        colour: "resident", kind: "line", ...bytesText },
      { label: filtered ? "live, of what counts" : "live", hint: "requested bytes of live blocks", values: layers.live,
        colour: "live", kind: "line", ...bytesText },
      { label: "swapped", hint: "of the process, on disk", values: sampled.swapped_bytes, colour: "compare",
        kind: "line", dash: [4, 3], ...bytesText });
    if (!filtered) {
      add("Not live", true,
        { label: "resident and not live", hint: notLiveHint, values: notLive(layers), colour: "resident", kind: "bars",
          ...bytesText });
    }
    add("Mapped", true,
      { label: "mapped", hint: "address space of the process, used or not", values: sampled.mapped_bytes,
        colour: "quiet", kind: "line", ...bytesText });
    add("Page faults in each step", false,
      { label: "minor", hint: "a page came into the process without the disk", values: sampled.minor_faults,
        colour: "live", kind: "bars", ...countText },
      { label: "major", hint: "a page was read from disk", values: sampled.major_faults, colour: "ribbon",
        kind: "bars", ...countText });
    add("Memory of the system", true,
      { label: "available", hint: "to programs, without swapping: the least in each step",
        values: sampled.system_available_bytes, colour: "live", kind: "line", ...bytesText },
      { label: "cached files", hint: "the most in each step", values: sampled.system_cached_bytes, colour: "ribbon",
        kind: "line", dash: [4, 3], ...bytesText });
    return list;
  }, [layers, filtered]);
  return (
    <>
      {charts.map((one) => (
        <figure key={one.title}>
          <figcaption>
            <h2>{one.title}</h2>
            {one.of.map(({ label, hint, values, colour, text, exact }) => (
              <span key={label} class="measured" title={[hint, valueAt(values, at, exact)].filter(Boolean).join(": ")}>
                <i class={`key key-${colour}`} aria-hidden="true" />
                {label} <b>{valueAt(values, at, text) || "–"}</b>
              </span>
            ))}
          </figcaption>
          <Small {...props} chart={one} />
        </figure>
      ))}
      {layers.sampled.resident_bytes.length === 0 && (
        <p class="quiet">What the kernel says of the process was not sampled: it ran too briefly, or the recording is of
          another tool or a sum of several.</p>
      )}
    </>
  );
}

/** A value in words; "": it is not known. */
function valueAt(values: Float64Array, at: number, text: (value: number) => string): string {
  const value = values[at] ?? NaN;
  return Number.isNaN(value) ? "" : text(value);
}

const smallHeight = 72;

function Small(props: ChartProps & { chart: { title: string; bytes: boolean; of: Measured[] } }) {
  const { layers, span, cursor, pointed, chart: given } = props;
  const { box, width } = useWidth();
  const inDark = useDark();
  const axis = chartAxis(width, span);
  const step = pointed.step.value;
  const chart = useMemo((): Chart => {
    const palette = box.current ? paletteOf(box.current) : undefined;
    const colours: Readonly<Record<string, string>> = { ...palette };
    const curves = given.of.map((one): Curve => {
      const { values, kind, dash } = one;
      return { values, colour: colours[one.colour] ?? "", kind, ...(dash && { dash }) };
    });
    const top = Math.max(1, ...given.of.map(({ values }) => largest(values))) * 1.04;
    const hover = step === undefined ? undefined : layers.timesNs[step];
    const shape = { width, height: smallHeight, axis, top, bytes: given.bytes, times: false };
    return { ...shape, timesNs: layers.timesNs, curves, chosen: -1, hover, cursor };
  }, [given, width, span.begin, span.end, step, cursor, inDark]);
  return (
    <div
      class="layers-picture"
      ref={box}
      onPointerMove={(event) => (pointed.step.value = stepAtPoint(event, axis, layers))}
      onPointerLeave={() => (pointed.step.value = undefined)}
    >
      <Drawn chart={chart} />
    </div>
  );
}

/** All that is drawn, as a table: a row for each step. */
function tableOf(layers: Layers): GridData {
  const { timesNs, sampled } = layers;
  const columns: { column: GridColumn; cell: (i: number) => GridCell }[] = [];
  const add = (key: string, title: string, unit: "bytes" | "bytes/s" | "count", values: Float64Array, bars = false) => {
    if (values.length === 0) return;
    const most = largest(values);
    const scale = scaleOf(unit, most);
    columns.push({
      column: { key, group: key, heading: title, title: scale.unit || "\u00a0", hint: title, sorts: false,
        chars: Math.max(7, Math.min(title.length, 16) + 1) },
      cell: (i) => {
        const value = values[i] ?? NaN;
        return { text: scale.text(value), exact: scale.exact(value), value, bar: bars && most > 0 ? value / most : 0 };
      },
    });
  };
  add("live", "live", "bytes", layers.live, true);
  layers.layers.forEach(({ name, live }, i) => add(`layer-${i}`, visible(name), "bytes", live));
  add("blocks", "live blocks", "count", layers.blocks);
  add("allocated", "allocated", "bytes/s", perSecond(layers.bytes, timesNs));
  add("allocations", "allocations", "count", layers.allocations);
  add("deallocations", "deallocations", "count", layers.deallocations);
  add("resident", "resident", "bytes", sampled.resident_bytes);
  add("swapped", "swapped", "bytes", sampled.swapped_bytes);
  add("mapped", "mapped", "bytes", sampled.mapped_bytes);
  add("minor", "minor faults", "count", sampled.minor_faults);
  add("major", "major faults", "count", sampled.major_faults);
  add("available", "available", "bytes", sampled.system_available_bytes);
  const none: GridCell = { text: "", exact: "", bar: 0 };
  return {
    label: `live bytes at the end of each step: layers and ${restName}`,
    nameTitle: "after",
    nameSorts: false,
    columns: columns.map(({ column }) => column),
    rows: timesNs.length,
    more: 0,
    row: (i) => {
      const name = timeText(timesNs[i] ?? 0);
      return { key: i, level: 1, indent: 0, open: undefined, name, note: "", title: "", tone: "plain" };
    },
    cell: (i, c) => columns[c]?.cell(i) ?? none,
    find: (key) => (key < timesNs.length ? key : -1),
    sorted: "",
    reverse: false,
  };
}
