// More: what a recording has besides allocations by call stack: regions, static data, pools, mappings, mismatches, as
// the commands report them. Each is asked for when it is looked at.
import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { Answers, Parameters } from "../../api.ts";
import type { App, Selected } from "../../app.ts";
import type { Recording, Run } from "../../model/answers.ts";
import type { QuestionName } from "../../model/commands.ts";
import { comparisonOf, diffCommand, shownOf } from "../../model/compare.ts";
import { filtersOf } from "../../model/filters.ts";
import { count } from "../../model/format.ts";
import { hash } from "../../model/group.ts";
import {
  globalsOf,
  globalsParameters,
  mappingsOf,
  mappingsParameters,
  mismatchesOf,
  poolsOf,
  regionOrderOf,
  regionsOf,
  regionsParameters,
  sectionOf,
  sections,
  sectionTitles,
  staticOf,
  whyNone,
  type Curve,
  type Item,
  type Listing,
  type Section,
} from "../../model/more.ts";
import { visible } from "../../model/names.ts";
import { scaleOf } from "../../model/table.ts";
import type { Question } from "../../net/ask.ts";
import { copyText } from "../copy.ts";
import { Answered, useActions, useMainPart } from "../part.tsx";
import { hasSomeEvents, NoEvents } from "../parts/no-events.tsx";
import { EmptyBox } from "../states.tsx";
import { Grid, GridCursor, type GridCell, type GridColumn, type GridData, type GridRow } from "../table.tsx";
import { WaysBack } from "../ways-back.tsx";
import { Compared } from "./compared.tsx";
import {
  copyRow,
  frameRows,
  isWhole,
  menuEntries,
  MenuHere,
  nothingIntact,
  pick,
  rowsSkeleton,
  RowsPage,
  saveRows,
  useMenu,
  useNotice,
} from "./rows.tsx";

/** A section's answer: what is shown while the one of another section is asked for must not pass for it. */
interface Found {
  section: Section;
  listing: Listing;
}

type Asks = Question<QuestionName, Found>;

function ask<Q extends QuestionName>(
  section: Section,
  name: Q,
  parameters: Parameters[Q],
  read: (answer: Answers[Q]) => Listing | Promise<Listing>,
): Asks {
  const found = async (answer: Answers[Q]) => ({ section, listing: await read(answer) });
  // A task waits for what reads its answer, whose code may have to be loaded.
  const question: Question<Q, Promise<Found>> = { name, parameters, read: found };
  return question as unknown as Asks;
}

/** What has changed of static data since another recording; undefined: it is not compared with one. */
function changesOfStatic(app: App, { place, filters }: Selected): Asks | undefined {
  const compared = comparisonOf(place, filters);
  const before = compared?.with.at(-1);
  if (!compared || before === undefined || sectionOf(place) !== "globals") return undefined;
  const parameters = { ...globalsParameters(place), with: [before] };
  const command = (run: Run, recording: Recording) => {
    const { limit, module } = parameters;
    const last = { ...compared, with: [before], also: [], before: {}, after: {} };
    const flags = { static: true, ...(module && { module }), ...(limit !== undefined && { limit }) };
    return diffCommand(app.runs.shown.value?.value ?? [], run, recording, last, flags);
  };
  return { ...ask("globals", "static", parameters, staticOf), command };
}

function questionOf({ place }: Selected, detailNs: number): Asks {
  const section = sectionOf(place);
  switch (section) {
    case "regions":
      return ask(section, "regions", regionsParameters(place, detailNs), regionsOf);
    case "globals":
      return ask(section, "globals", globalsParameters(place), globalsOf);
    case "pools":
      return ask(section, "report", { top: 0 }, poolsOf);
    case "mappings":
      return ask(section, "top", mappingsParameters(place), mappingsOf);
    case "mismatches":
      return ask(section, "mismatches", { limit: 10_000 }, mismatchesOf);
    case "replay":
      return ask(section, "replay", {}, async (answer) => (await import("../../model/replay.ts")).replayOf(answer));
  }
}

export function More({ app }: { app: App }) {
  const { value: place } = app.place;
  const section = sectionOf(place);
  const shown = shownOf(place);
  // What a program maps is known of whole runs.
  const compares = comparisonOf(place, filtersOf(place, app.brush.value)) !== undefined &&
    (shown.kind === "table" && (section !== "mappings" || place.with.length > 0));
  return (
    <div class="more-page">
      <div class="tools">
        <div class="choice-of" role="group" aria-label="section">
          {sections.map((name) => (
            <button
              key={name}
              type="button"
              aria-pressed={section === name}
              onClick={() => app.change({ order: name === sections[0] ? undefined : name, sort: undefined })}
            >
              {sectionTitles[name]}
            </button>
          ))}
        </div>
      </div>
      {compares ? <Compared key={section} app={app} /> : <Alone app={app} section={section} />}
    </div>
  );
}

/** A section of one recording, or static data of two. */
function Alone({ app, section }: { app: App; section: Section }) {
  const part = useMainPart(app, "more", (selected) => {
    const events = hasSomeEvents(app);
    const possible = events === true || (events === false && sectionOf(selected.place) !== "regions");
    const detailNs = app.about.shown.value?.value.from_ns ?? 0;
    if (selected.rough || !possible) return undefined;
    return changesOfStatic(app, selected) ?? questionOf(selected, detailNs);
  });
  const none = section === "regions" && hasSomeEvents(app) === false;
  return none ? (
    <NoEvents app={app} what="what threads did in regions" />
  ) : (
    <Answered part={part} skeleton={rowsSkeleton}>
      {(found) => (found.section === section ? <List key={section} app={app} {...found} /> : rowsSkeleton)}
    </Answered>
  );
}

const none: GridCell = { text: "", exact: "", bar: 0 };

/** A row of the table: an item, or below one that is open its call stacks. */
interface Line {
  row: GridRow;
  item?: Item;
  number: number;
}

function List({ app, section, listing }: { app: App } & Found) {
  const place = app.place.value;
  const cursor = useMemo(() => new GridCursor(), []);
  const open = useSignal<ReadonlySet<number>>(new Set());
  const { show: showMenu, menu } = useMenu();
  const { say, notice } = useNotice();
  const { items } = listing;
  const detailNs = app.about.shown.value?.value.from_ns ?? 0;

  const lines = useMemo((): Line[] => {
    const unfolded = place.unfolded;
    return items.flatMap((item, number): Line[] => {
      const shown = open.value.has(item.key);
      const { key, name, note, hint, code, stacks } = item;
      const turns = stacks && stacks.length > 0 ? shown : undefined;
      const base = { level: 1, indent: 0, note, title: visible(hint), tone: code ? "own" : "plain" } as const;
      const head: Line = { row: { ...base, key, open: turns, name }, item, number };
      if (!turns) return [head];
      const below = (stacks ?? []).flatMap(({ text, group }, i): Line[] => {
        const own = hash(`stack ${i}`, key);
        const words: GridRow = { key: own, level: 2, indent: 1, open: undefined, name: text, note: "", title: "",
          tone: "words" };
        const frames = frameRows(group, own, 2, !unfolded).map((row): Line => ({ row, number: -1 }));
        return [{ row: words, number: -1 }, ...frames];
      });
      return [head, ...below];
    });
  }, [listing, open.value, place.unfolded]);

  const scales = useMemo(() => {
    return listing.columns.map(({ unit, values }) => {
      let most = 0;
      for (const value of values) most = Math.max(most, Math.abs(value) || 0);
      return { scale: scaleOf(unit, most), most };
    });
  }, [listing]);
  const data = useMemo((): GridData => {
    const columns = listing.columns.map(({ key, title, hint }, i): GridColumn => {
      const { scale, most } = scales[i]!;
      const chars = Math.max(7, title.length + 1, scale.text(most).length);
      return { key, group: key, heading: title, title: scale.unit || "\u00a0", hint, chars,
        sorts: listing.sorts.includes(key) };
    });
    return {
      label: sectionTitles[section],
      nameTitle: "name",
      nameSorts: false,
      columns,
      rows: lines.length,
      more: listing.more,
      row: (i) => lines[i]?.row ?? blank,
      cell: (i, c) => {
        const { number, item } = lines[i] ?? {};
        const column = listing.columns[c];
        const found = scales[c];
        if (!item || number === undefined || !column || !found) return none;
        const value = column.values[number] ?? NaN;
        const { scale, most } = found;
        const bar = column.bars && most > 0 ? value / most : 0;
        return { text: scale.text(value), exact: scale.exact(value), value, bar };
      },
      find: (key) => lines.findIndex(({ row }) => row.key === key),
      sorted: section === "regions" ? regionOrderOf(place) : "",
      reverse: false,
    };
  }, [lines, listing]);

  const saveCsv = () => saveRows(section, data, say);
  const copy = (i: number) => copyRow(data, i);
  useActions(app, { "rows.csv": saveCsv, "rows.copy": () => copy(cursor.index(data)) });
  const toggle = (i: number, on: boolean) => {
    const key = lines[i]?.row.key;
    if (key === undefined) return;
    const next = new Set(open.value);
    if (on) next.add(key);
    else next.delete(key);
    open.value = next;
  };
  const explain = (i: number) => {
    const group = lines[i]?.item?.stacks?.[0]?.group;
    if (group && !group.unknown) pick(app, { group });
  };
  const follow = (i: number) => {
    const { item, row } = lines[i] ?? {};
    if (row?.tone === "words") return void app.change({ unfolded: true }, "replace");
    if (!item) return;
    if (item.stacks) {
      explain(i);
      toggle(i, !open.value.has(item.key));
    } else if (item.change) app.change(item.change);
  };
  const events = {
    pick: explain,
    click: (i: number) => (lines[i]?.item?.stacks ? explain(i) : follow(i)),
    enter: follow,
    open: toggle,
    sort: (key: string) => app.change({ sort: key === "begin" ? undefined : key }, "replace"),
    menu: (i: number, at: { x: number; y: number }) => {
      const item = lines[i]?.item;
      if (!item) return;
      const { name, change, does, stacks } = item;
      const group = stacks?.[0]?.group;
      const copies = [
        { title: "Copy the name", run: () => void copyText(visible(name), "name") },
        { title: "Copy as Markdown", keys: "Ctrl+C", run: () => copy(i) },
      ];
      showMenu(name, at, [
        ...(change && does && !group ? [{ title: `Open ${does}`, run: () => app.change(change) }] : []),
        ...(group && !group.unknown ? menuEntries(app, { group }, copies) : copies),
      ]);
    },
    copy,
  };
  const again = listing.why && { why: `${listing.why}. This command makes another:` };
  const reason = { ...whyNone(section, place), ...again };
  const why = isWhole(app) ? reason : { why: nothingIntact, command: "heaptap verify FILE" };
  return (
    <RowsPage
      notice={notice}
      missing={undefined}
      tools={
        items.length > 0 && (
          <>
            <button type="button" onClick={saveCsv}>
              Save as CSV
            </button>
            <span class="quiet count" title={`${count(items.length + listing.more)} rows`}>
              {listing.sum}
              {section === "regions" &&
                detailNs > 0 &&
                ` from ${app.clock.moment(detailNs)} on: before, events were folded`}
            </span>
          </>
        )
      }
    >
      {listing.curves && <Curves curves={listing.curves} />}
      {items.length > 0 ? (
        <Grid data={data} events={events} cursor={cursor} />
      ) : (
        <EmptyBox {...why}>
          <WaysBack app={app} />
        </EmptyBox>
      )}
      <MenuHere menu={menu} />
    </RowsPage>
  );
}

/** The resident sets of a replay. */
function Curves({ curves }: { curves: readonly Curve[] }) {
  return (
    <ul class="curves" aria-label="resident set over the recorded time, before what was live">
      {curves.map(({ name, text, path, back }) => (
        <li key={name} title="resident set over the recorded time; behind it: what was live">
          <span class="name">{visible(name)}</span>
          <svg viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true">
            {back !== "" && <path class="curve back" d={back} />}
            {path !== "" && <path class="curve" d={path} />}
          </svg>
          <b>{text}</b>
        </li>
      ))}
    </ul>
  );
}

const blank: GridRow = { key: 0, level: 1, indent: 0, open: undefined, name: "", note: "", title: "", tone: "words" };
