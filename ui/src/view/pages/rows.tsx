// What the pages of rows have in common: their toolbar, the menu of a row, and what is copied and saved.
import { signal, useSignal, type Signal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { ComponentChildren } from "preact";
import type { App, Selected } from "../../app.ts";
import type { MetricName } from "../../api.ts";
import type { QuestionName } from "../../model/commands.ts";
import { needsEvents, type Estimate } from "../../model/estimate.ts";
import { Extras } from "../../model/extra.ts";
import type { Follower, Shown, Task } from "../../model/follower.ts";
import { plural } from "../../model/format.ts";
import { hash, type Frame, type Group, type Kind } from "../../model/group.ts";
import { isRange, labelAt, metricGroups, metricOf, metricsAt, whyNot, type Times } from "../../model/metrics.ts";
import { base as moduleName, shorten, visible } from "../../model/names.ts";
import type { Line } from "../../model/outline.ts";
import type { Place } from "../../model/place.ts";
import { pickedOf, rowActions, type RowAction, type Subject } from "../../model/row-actions.ts";
import { csvRows, markdown, type Column } from "../../model/table.ts";
import { taskOf, type Question } from "../../net/ask.ts";
import { copyText } from "../copy.ts";
import { Menu, type Entry, type MenuProps } from "../menu.tsx";
import { useEstimate, useMainPart, useOrder, usePart } from "../part.tsx";
import { EmptyBox } from "../states.tsx";
import type { GridColumn, GridData, GridRow } from "../table.tsx";
import { WaysBack } from "../ways-back.tsx";

/** The metrics of pages of functions, besides the one that counts first. */
const others: readonly MetricName[] = ["leaked", "bytes"];

/** The metrics that a page shows, in their order. */
export function shownMetrics(place: Place, range: Times): MetricName[] {
  return metricsAt(place, range, others);
}

/** How much wider an estimate is than a number. */
const marginChars = 9;

/** @param estimated numbers have margins behind them */
export function gridColumn(column: Column, alone: boolean, sorts: boolean, estimated = false): GridColumn {
  const { key, metric, side, scale, values } = column;
  let largest = 0;
  for (const value of values) if (value > largest) largest = value;
  const what = alone ? "" : side;
  // The heading stands over the first of a metric's columns.
  const [heads, most] = [alone || side === "total", alone ? 16 : 13];
  const title = [what, scale.unit].filter((part) => part !== "").join(" ");
  const { label, short, about } = metricOf(metric) ?? { label: metric, short: metric, about: "" };
  const numbers = scale.text(largest).length + (estimated && largest > 0 ? marginChars : 0);
  const meaning = side === "self" ? "what the function allocated itself" : "with all that it called";
  return {
    key,
    group: metric,
    title: title || "\u00a0",
    heading: short,
    hint: [alone ? label : `${label}: ${meaning}`, about].filter(Boolean).join("\n"),
    chars: Math.max(numbers, title.length + 1, heads ? Math.min(short.length, most) + 1 : 0, 6),
    sorts,
  };
}

/** The menu that is open, if one is. */
export type OpenMenu = Signal<MenuProps | undefined>;

interface Point {
  x: number;
  y: number;
}

export function useMenu(): { show: (label: string, at: Point, entries: Entry[]) => void; menu: OpenMenu } {
  const menu: OpenMenu = useMemo(() => signal<MenuProps | undefined>(undefined), []);
  const show = (label: string, { x, y }: Point, entries: Entry[]) => {
    menu.value = { label, x, y, entries, close: () => (menu.value = undefined) };
  };
  return { show, menu };
}

/** The menu, at a place of the window. */
export function MenuHere({ menu }: { menu: OpenMenu }) {
  if (!menu.value) return null;
  return (
    <div class="menu-place">
      <Menu {...menu.value} />
    </div>
  );
}

/** The entries of a row's menu: where else it is, what can be copied, and then what changes what counts. */
export function menuEntries(app: App, subject: Subject, copies: Entry[]): Entry[] {
  const place = app.place.value;
  const all = rowActions(place, subject);
  const entry = ({ label, hint, change }: RowAction): Entry => ({
    title: label,
    ...(hint !== undefined && { hint }),
    run: () => app.change(change),
  });
  return [...all.filter(({ opens }) => opens).map(entry), ...copies, ...all.filter(({ opens }) => !opens).map(entry)];
}

/** Draws what a row's function has live over the timeline. */
export function hover(app: App, group: Group | undefined): void {
  const named = group && group.function !== "";
  app.hovered.value = named ? { function: group.function, module: group.module } : undefined;
}

export function pick(app: App, subject: Subject): void {
  app.change({ picked: pickedOf(subject) }, "replace");
}

/** What is read out and shown for a moment: copied, saved. */
export function useNotice(): { say: (text: string) => void; notice: Signal<string> } {
  const notice = useSignal("");
  const timer = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  const say = (text: string) => {
    notice.value = text;
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => (notice.value = ""), 3000);
  };
  return { say, notice };
}

/** Copies a row as a table of Markdown, with its numbers as they are shown. */
export function copyRow(data: GridData, i: number): void {
  if (i < 0) return;
  const words = data.columns.map(({ group, heading, title }) => [heading ?? group, title.trim()]);
  const head = words.map((list) => list.filter(Boolean).join(", "));
  void copyText(markdown(data.row(i).name, head, head.map((_, c) => data.cell(i, c).text)), "row");
}

/** Saves the rows that have numbers as comma-separated values. */
export function saveRows(name: string, data: GridData, say: (text: string) => void): void {
  const rows = [["level", "name", "in full", ...data.columns.map(({ key }) => key.replace(".", " "))]];
  for (let i = 0; i < data.rows; i++) {
    const cells = data.columns.map((_, c) => data.cell(i, c));
    if (cells.every(({ text }) => text === "")) continue;
    const { level, name, title } = data.row(i);
    rows.push([`${level}`, name, title.replaceAll("\n", ";"), ...cells.map(({ value, text }) => `${value ?? text}`)]);
  }
  save(`heaptap-${name}.csv`, "text/csv", csvRows(rows));
  say(`${plural(rows.length - 1, "row")} saved`);
}

/** Saves text as a file. */
function save(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** A page of rows: what can be chosen above, the rows, and what is said about them. */
export function RowsPage(props: {
  tools: ComponentChildren;
  notice: Signal<string>;
  /** What could not be read. */
  missing: string | undefined;
  children: ComponentChildren;
}) {
  return (
    <div class="rows-page">
      <div class="tools">
        {props.tools}
        <span class="notice" role="status">
          {props.notice.value}
        </span>
      </div>
      {props.missing && (
        <p class="wrong missing-part">
          <bdi>{visible(props.missing)}</bdi>
        </p>
      )}
      {props.children}
    </div>
  );
}

/** Which metrics are columns, and in which order. */
export function Columns(props: { app: App; chosen: readonly MetricName[] }) {
  const { app, chosen } = props;
  const open = useSignal(false);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!open.value) return;
    const outside = (event: Event) => {
      if (!(event.target instanceof Node) || !box.current?.contains(event.target)) open.value = false;
    };
    addEventListener("pointerdown", outside, true);
    return () => removeEventListener("pointerdown", outside, true);
  }, [open.value]);
  const change = (metric: MetricName, wanted: boolean) => {
    const next = wanted ? [...chosen, metric] : chosen.filter((name) => name !== metric);
    app.change({ metric: next }, "replace");
  };
  // In a group of their own, the chosen ones are in the order of the columns.
  const groups = [
    { title: "Shown", metrics: chosen.flatMap((name) => metricOf(name) ?? []) },
    ...metricGroups.map((group) => ({
      ...group,
      metrics: group.metrics.filter(({ name }) => !chosen.includes(name)),
    })),
  ].filter((group) => group.metrics.length > 0);
  return (
    <div
      class="columns"
      ref={box}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || !open.value) return;
        event.stopPropagation();
        open.value = false;
        box.current?.querySelector("button")?.focus();
      }}
    >
      <button type="button" aria-expanded={open.value} onClick={() => (open.value = !open.value)}>
        Columns
      </button>
      {open.value && (
        <div class="columns-list" role="group" aria-label="columns">
          <p class="quiet">Drag a heading to move a column, or press Alt and an arrow on it.</p>
          {groups.map(({ title, metrics }) => (
            <fieldset key={title}>
              <legend>{title}</legend>
              {metrics.map(({ name, about }) => {
                const label = labelAt(name, app.place.value, app.clock);
                const on = chosen.includes(name);
                const why = whyNot(app.place.value, name);
                return (
                  <label key={name} title={`--metric ${name}`}>
                    <input
                      type="checkbox"
                      checked={on}
                      disabled={on ? chosen.length <= 2 : why !== undefined}
                      aria-label={label}
                      onChange={(event) => change(name, event.currentTarget.checked)}
                    />
                    <span>
                      {label} <span class="quiet">{why ?? about}</span>
                    </span>
                  </label>
                );
              })}
            </fieldset>
          ))}
        </div>
      )}
    </div>
  );
}

/** Whether the recording has all that the program did. What is missing may be what somebody looks for. */
export function isWhole(app: App): boolean {
  return app.report.shown.value?.value.recording.complete ?? true;
}

export const nothingIntact = "What is intact of this recording has nothing of it: its file is damaged or cut short.";

/** Why there are no rows, and what would change that. */
export function Nothing({ app }: { app: App }) {
  const { match, page } = app.place.value;
  const events = app.about.shown.value?.value.events;
  if (match !== undefined && page === "table") {
    return (
      <EmptyBox
        why={
          <>
            No name contains <bdi>{shorten(visible(match), 80)}</bdi>.{" "}
            <button type="button" class="plain" onClick={() => app.change({ match: undefined })}>
              Show all rows
            </button>
            {!app.place.value.unfolded && (
              <>
                {" or "}
                <button type="button" class="plain" onClick={() => app.change({ unfolded: true }, "replace")}>
                  library functions, too
                </button>
              </>
            )}
          </>
        }
      />
    );
  }
  if (events === 0 && isWhole(app)) {
    return <EmptyBox why="The program allocated nothing while it was recorded." command="heaptap run ./program" />;
  }
  if (events === 0) return <EmptyBox why={nothingIntact} command="heaptap verify FILE" />;
  return (
    <EmptyBox why="Nothing of what is counted here lies in the selection.">
      <WaysBack app={app} />
    </EmptyBox>
  );
}

/** Answers that are asked for as rows are opened, while the component is shown. */
export function useExtras<T>(app: App, name: string): Extras<T> {
  const extras = useMemo(() => new Extras<T>(app.follower<T>(name)), [app, name]);
  useEffect(() => extras.start(), [extras]);
  return extras;
}

/** Texts as lines of a hint. */
export function lines(texts: readonly string[]): string {
  return texts.filter(Boolean).map(visible).join("\n").slice(0, 2000);
}

/** How the name of code is written. */
function toneOf(kind: Kind): GridRow["tone"] {
  if (kind === "own") return "own";
  return kind === "" || kind === "other" ? "plain" : "library";
}

/** A row of a table. */
export function groupRow(group: Group, open: ReadonlySet<number>): GridRow {
  const { key, name, note } = group;
  const code = group.unknown ? [] : [group.text];
  const title = lines(group.by === "stack" ? group.stack.map((frame) => frame.name) : code);
  return { key, level: 1, indent: 0, open: open.has(key), name, note, title, tone: toneOf(group.kind) };
}

/** The frames of a call stack, leaf first. Consecutive ones of libraries are folded to their number. */
export function frameRows(group: Group, key: number, level: number, fold: boolean): GridRow[] {
  const { stack } = group;
  const base = { level, indent: level, open: undefined };
  const folds = fold && stack.some(({ kind }) => kind === "own");
  const rows: GridRow[] = [];
  for (let i = 0; i < stack.length; i++) {
    let end = i;
    while (folds && end < stack.length && (stack[end] ?? noFrame).library) end++;
    if (end > i) {
      const name = `${plural(end - i, "library frame")}: press Enter to show ${end - i === 1 ? "it" : "them"}`;
      rows.push({ ...base, key: hash(`folded ${i}`, key), name, note: "", title: "", tone: "words" });
      i = end - 1;
      continue;
    }
    const { name, file, line, module, place, kind } = stack[i] ?? noFrame;
    const where = line > 0 ? `${file}:${line}` : file;
    const title = lines([name, where, module]);
    const note = [place, kind === "own" ? "" : moduleName(module)].filter(Boolean).join(" ");
    rows.push({ ...base, key: hash(`frame ${i}`, key), name, note, title, tone: toneOf(kind) });
  }
  return rows;
}

const unnamed = { name: "", id: "", place: "", file: "", line: 0, module: "" };
const noFrame: Frame = { ...unnamed, kind: "", named: false, library: false, key: 0 };

/** A node of a tree, or what of it is not here. */
export function nodeRow(line: Line): GridRow {
  const { key, level, indent, open, node, via, within } = line;
  if (line.kind === "rest") {
    const name = `${plural(line.rest, "more branch")}: Enter asks`;
    return { key, level, indent, open: undefined, name, note: "", title: "", tone: "words" };
  }
  const { group } = node;
  const folded = [via > 0 && `${via} between`, within > 0 && `${within} within`].filter(Boolean).join(", ");
  const note = [group?.note, folded && `(${folded})`].filter(Boolean).join(" ");
  const tone = toneOf(group?.kind ?? "");
  const title = lines([group?.text ?? ""]);
  return { key, level, indent, open, name: group?.name ?? "", note, title, tone };
}

/** A quick question: of the metrics that summaries have, or of those that can be estimated; "": the whole question. */
export type Quick = "" | "summaries" | "estimate";

/**
 * A main part with a quick one before it: of a range, metrics that summaries have are there at once, and the others
 * may need all its events. Of what only events tell, sums are estimated first. What is shown is the quick answer until
 * the whole one is there.
 * @param estimated whether a place has something that is estimated before it is counted
 */
export function useQuickPart<Q extends QuestionName, T extends { estimate?: Estimate | undefined }>(
  app: App,
  name: string,
  questionOf: (selected: Selected, quick: Quick) => Question<Q, T>,
  estimated: (selected: Selected) => boolean,
): { part: Follower<T>; quick: (shown: Shown<T>) => Shown<T>; first: Shown<T> | undefined } {
  const quickOf = (selected: Selected): Quick => {
    const { place } = selected;
    if (needsEvents(place) || estimated(selected)) return estimated(selected) ? "estimate" : "";
    return isRange(place) ? "summaries" : "";
  };
  const key = (selected: Selected, which: Quick) => taskOf(selected.recording, questionOf(selected, which)).key;
  const order = useOrder(app);
  // It is asked first: the server has few workers.
  const first = usePart(app, `${name}-quick`, (selected): Task<T> | undefined => {
    const which = quickOf(selected);
    if (selected.rough || which === "") return undefined;
    const task = taskOf(selected.recording, questionOf(selected, which));
    if (which === "summaries") return task;
    return order.first(task, key(selected, ""));
  });
  const part = useMainPart(app, name, (selected) => {
    const question = questionOf(selected, "");
    if (selected.rough || !(needsEvents(selected.place) || estimated(selected))) return question;
    return { ...question, after: () => order.before(taskOf(selected.recording, question).key) };
  });
  /** The quick answer, if it is one to what is selected. */
  const now = (): Shown<T> | undefined => {
    const at = first.shown.value;
    if (!at || app.brush.value !== undefined) return undefined;
    const selected = app.selection();
    const which = quickOf(selected);
    return which !== "" && at.task.key === key(selected, which) ? at : undefined;
  };
  const quick = (shown: Shown<T>) => {
    const at = now();
    return at && shown.task.key !== key(app.selection(), "") ? at : shown;
  };
  const { shown } = part;
  useEstimate(app, (shown.value ? quick(shown.value) : now())?.value.estimate);
  return { part, quick, first: shown.value ? undefined : now() };
}

/** Rows in grey, until the answer is there. */
export const rowsSkeleton = (
  <div class="rows-page" aria-hidden="true">
    <div class="tools" />
    <div class="grid-skeleton">
      {[62, 48, 70, 55, 40, 66, 52, 58, 45, 61, 38, 50].map((width, i) => (
        <span key={i} class="skeleton" style={{ width: `${width}%` }} />
      ))}
    </div>
  </div>
);
