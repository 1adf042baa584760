// Threads: what each allocated and freed, by which functions, who freed what whom had allocated, and how deep their
// stacks became.
import { useSignal } from "@preact/signals";
import { useMemo, useRef } from "preact/hooks";
import type { App, Selected } from "../../app.ts";
import { threadText, type ThreadName } from "../../model/blocks.ts";
import { filtersOf } from "../../model/filters.ts";
import { sumOfFrames } from "../../model/frame-sizes.ts";
import { count, exactSize, percent, plural, shortCount, size } from "../../model/format.ts";
import { visible } from "../../model/names.ts";
import { formatPlace, type Place } from "../../model/place.ts";
import { scaleOf, type Scale } from "../../model/table.ts";
import { timeText } from "../../model/time.ts";
import {
  countsOf,
  mostThreads,
  stackCurvesOf,
  stepPath,
  threadsOf,
  type Heat,
  type Side,
  type StackCurves,
  type StackDepth,
  type ThreadAnswer,
  type ThreadRow,
} from "../../model/threads.ts";
import { taskOf, type Question } from "../../net/ask.ts";
import { FrameList } from "../frames.tsx";
import { goOf } from "../go-of.ts";
import { GoLink } from "../go.tsx";
import { Name } from "../name.tsx";
import { Answered, useActions, useMainPart, usePart } from "../part.tsx";
import { EmptyBox, Refusal } from "../states.tsx";
import { Grid, GridCursor, type GridCell, type GridColumn, type GridData, type GridRow } from "../table.tsx";
import { WaysBack } from "../ways-back.tsx";
import { hasEvents, lackOf, NoEvents } from "../parts/no-events.tsx";
import {
  copyRow,
  isWhole,
  menuEntries,
  MenuHere,
  nothingIntact,
  rowsSkeleton,
  saveRows,
  useMenu,
  useNotice,
} from "./rows.tsx";

/** So many stacks are drawn. */
const mostCurves = 8;
const curveSteps = 100;
/** So many counted calls are shown. */
const mostCounts = 256;
/** In a larger table, cells are too small for numbers: they are in the hints. */
const mostNumbers = 12;

/** They do not follow a drag: the server reads the events of the range. */
function questionOf({ place }: Selected): Question<"threads", ThreadAnswer> {
  return { name: "threads", parameters: { ...filtersOf(place), limit: mostThreads }, read: threadsOf };
}

/** Of the whole run, its statistics have all but own peaks and depths, at once. */
function firstQuestionOf(): Question<"threads", ThreadAnswer> {
  return { name: "threads", parameters: { rough: "pixel", limit: mostThreads }, read: threadsOf };
}

export function Threads({ app }: { app: App }) {
  if (lackOf(app) === "counted") return <Counted app={app} />;
  if (hasEvents(app) === false) return <NoEvents app={app} what="which thread allocated what, and who freed it" />;
  return <Recorded app={app} />;
}

function Recorded({ app }: { app: App }) {
  const part = useMainPart(app, "threads", (selected) => (hasEvents(app) ? questionOf(selected) : undefined));
  const first = usePart<ThreadAnswer>(app, "threads-first", ({ recording, filters }) => {
    const whole = hasEvents(app) && !app.about.shown.value?.value.folded && Object.keys(filters).length === 0;
    return whole ? taskOf(recording, firstQuestionOf()) : undefined;
  });
  const sums = part.shown.value ? undefined : first.shown.value?.value;
  return (
    <>
      <Answered part={part} skeleton={sums ? null : rowsSkeleton}>
        {(answer) => <Sections app={app} answer={answer} />}
      </Answered>
      {sums && <Sections app={app} answer={sums} />}
    </>
  );
}

/** Of a recording that counted calls, the calls. */
function Counted({ app }: { app: App }) {
  const part = useMainPart(app, "threads-counts", () => ({
    name: "threads" as const, parameters: {}, read: countsOf,
  }));
  return (
    <Answered part={part} skeleton={rowsSkeleton}>
      {(counts) => (
        <div class="threads-page">
          <NoEvents app={app} what="who freed what whom had allocated" />
          <section class="calls">
            <h2>
              Calls that were counted{" "}
              {counts.length > mostCounts && (
                <span class="quiet">
                  {count(mostCounts)} of {count(counts.length)}
                </span>
              )}
            </h2>
            <div class="scroll" role="group" tabIndex={0} aria-label="calls that were counted">
              <table class="numbers">
                <thead>
                  <tr>
                    {["thread", "function", "calls", "failed", "bytes"].map((name, i) => (
                      <th key={name} scope="col" class={i > 1 ? "number" : undefined}>
                        {name}
                      </th>
                    ))}
                  </tr>
                </thead>
                <tbody>
                  {counts.slice(0, mostCounts).map(({ thread, function: called, calls, failed, bytes }, i) => (
                    <tr key={i}>
                      <th scope="row">
                        <Name text={thread} limit={40} />
                      </th>
                      <td>
                        <Name text={called} limit={60} />
                      </td>
                      <td class="number">{count(calls)}</td>
                      <td class="number">{count(failed)}</td>
                      <td class="number" title={exactSize(bytes)}>
                        {size(bytes)}
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          </section>
        </div>
      )}
    </Answered>
  );
}

function Sections({ app, answer }: { app: App; answer: ThreadAnswer }) {
  /** The thread whose stack is shown: its index; undefined: the deepest. */
  const chosen = useSignal<number | undefined>(undefined);
  if (answer.rows.length === 0 && answer.heat.allocated.length === 0) {
    if (!isWhole(app)) return <EmptyBox why={nothingIntact} command="heaptap verify FILE" />;
    return app.about.shown.value?.value.events === 0 ? (
      <EmptyBox why="The program allocated nothing while it was recorded." command="heaptap run ./program" />
    ) : (
      <EmptyBox why="No thread allocated or freed anything of what is counted here.">
        <WaysBack app={app} />
      </EmptyBox>
    );
  }
  return (
    <div class="threads-page">
      {answer.missing && (
        <p class="wrong">
          <bdi>{visible(answer.missing)}</bdi>
        </p>
      )}
      <ThreadTable app={app} answer={answer} choose={(index) => (chosen.value = index)} />
      {answer.heat.allocated.length > 0 && <HeatTable app={app} heat={answer.heat} />}
      <Calls answer={answer} />
      <Stacks app={app} answer={answer} chosen={chosen.value} choose={(index) => (chosen.value = index)} />
    </div>
  );
}

interface Kind {
  key: keyof Omit<ThreadRow, "group" | "thread">;
  title: string;
  unit: string;
  hint: string;
}

const kinds: readonly Kind[] = [
  { key: "bytes", title: "allocated", unit: "bytes", hint: "all that it requested, freed or not" },
  { key: "rate", title: "per second", unit: "bytes/s", hint: "allocated, divided by the length of the range" },
  { key: "allocations", title: "blocks", unit: "count", hint: "how many blocks it allocated" },
  { key: "freed", title: "freed", unit: "bytes", hint: "of the blocks that it freed, whoever allocated them" },
  { key: "live", title: "live", unit: "bytes", hint: "of what it allocated, not yet freed at the end of the range" },
  { key: "ownPeak", title: "own peak", unit: "bytes", hint: "the most that it had live at once" },
  { key: "temporary", title: "temporary", unit: "count", hint: "blocks that it freed before its next allocation" },
  { key: "depth", title: "depth", unit: "count", hint: "the most frames on a call stack" },
  { key: "ended", title: "ended", unit: "ns", hint: "since the recording's start; – if it is not known to have ended" },
];

const blank: GridRow = { key: 0, level: 1, indent: 0, open: undefined, name: "", note: "", title: "", tone: "words" };

function ThreadTable(props: { app: App; answer: ThreadAnswer; choose: (index: number) => void }) {
  const { app, answer, choose } = props;
  const sort = useSignal<string>("bytes");
  const reverse = useSignal(false);
  const cursor = useMemo(() => new GridCursor(), []);
  const { show: showMenu, menu } = useMenu();
  const { say, notice } = useNotice();
  const data = useMemo((): GridData => {
    const scales = new Map<string, { scale: Scale; most: number }>();
    const shown = kinds.filter(({ key }) => key !== "ended" || answer.rows.some(({ ended }) => !Number.isNaN(ended)));
    for (const { key, unit } of shown) {
      const most = answer.rows.reduce((max, row) => (row[key] > max ? row[key] : max), 0);
      scales.set(key, { scale: scaleOf(unit, most), most });
    }
    const rows = sorted(answer.rows, sort.value, reverse.value);
    const columns = shown.map(({ key, title, hint }): GridColumn => {
      const { scale, most } = scales.get(key) ?? { scale: scaleOf("count", 0), most: 0 };
      const chars = Math.max(scale.text(most).length, title.length + 1, scale.unit.length + 2, 6);
      return { key, group: title, title: scale.unit || "\u00a0", hint, chars, sorts: true };
    });
    const keyOf = (row: ThreadRow) => (row.thread ? row.thread.index + 1 : 0);
    return {
      label: "threads",
      nameTitle: "thread",
      nameSorts: true,
      columns,
      rows: rows.length,
      more: 0,
      row: (i) => {
        const row = rows[i];
        if (!row) return blank;
        if (!row.thread) return { ...blank, name: `${plural(answer.others, "more thread")}, together` };
        const name = threadText(row.thread);
        return { ...blank, key: keyOf(row), name, title: visible(name), tone: "plain" };
      },
      cell: (i, c): GridCell => {
        const kind = shown[c];
        const value = (kind && rows[i]?.[kind.key]) ?? NaN;
        if (!kind || Number.isNaN(value)) return { text: "–", exact: "not known", bar: 0 };
        const { scale, most } = scales.get(kind.key) ?? { scale: scaleOf(kind.unit, value), most: 0 };
        const bars = kind.key !== "depth" && kind.key !== "ended" && most > 0;
        const whole = kind.key === "rate" ? Math.round(value) : value;
        return { text: scale.text(value), exact: scale.exact(whole), bar: bars ? value / most : 0, value };
      },
      find: (key) => rows.findIndex((row) => keyOf(row) === key),
      sorted: sort.value,
      reverse: reverse.value,
    };
  }, [answer, sort.value, reverse.value]);
  const rowAt = (i: number) => {
    const { key } = data.row(i);
    return answer.rows.find((row) => row.thread !== undefined && row.thread.index + 1 === key);
  };
  const saveCsv = () => saveRows("threads", data, say);
  useActions(app, { "rows.csv": saveCsv, "rows.copy": () => copyRow(data, cursor.index(data)) });
  const events = {
    pick: (i: number) => {
      const thread = rowAt(i)?.thread;
      if (thread) choose(thread.index);
    },
    enter: (i: number) => {
      const thread = rowAt(i)?.thread;
      if (thread) app.change(flameOf(app.place.value, thread, undefined));
    },
    menu: (i: number, at: { x: number; y: number }) => {
      const row = rowAt(i);
      const { thread, group } = row ?? {};
      if (!thread || !group) return;
      const tid = String(thread.tid);
      showMenu(threadText(thread), at, [
        { title: "Its flame graph", keys: "Enter", run: () => app.change(flameOf(app.place.value, thread, undefined)) },
        {
          title: "The flame graph of what it freed",
          hint: "--freed-by",
          run: () => app.change({ page: "flame", "freed-by": [tid], metric: ["freed"], picked: [] }),
        },
        { title: "Its blocks", run: () => app.change({ page: "blocks", thread: [tid], block: undefined }) },
        ...menuEntries(app, { group }, [
          { title: "Copy as Markdown", keys: "Ctrl+C", run: () => copyRow(data, i) },
        ]),
      ]);
    },
    copy: (i: number) => copyRow(data, i),
    sort: (key: string) => {
      if (sort.value === key) reverse.value = !reverse.value;
      else {
        sort.value = key;
        reverse.value = false;
      }
    },
  };
  return (
    <section>
      <div class="tools">
        <h2>What each thread allocated</h2>
        <button type="button" onClick={saveCsv}>
          Save as CSV
        </button>
        <span class="notice" role="status">
          {notice.value}
        </span>
        <span class="quiet count" title={exactSize(answer.total["bytes"] ?? NaN)}>
          {size(answer.total["bytes"] ?? NaN)} in {plural(answer.total["allocations"] ?? NaN, "allocation")} by{" "}
          {plural(answer.rows.filter(({ thread }) => thread).length + answer.others, "thread")}
        </span>
      </div>
      <Grid data={data} events={events} cursor={cursor} />
      <MenuHere menu={menu} />
    </section>
  );
}

/** Rows in an order; the sum of the others is last. */
function sorted(rows: readonly ThreadRow[], by: string, reverse: boolean): ThreadRow[] {
  const kind = kinds.find(({ key }) => key === by)?.key;
  const name = ({ thread }: ThreadRow) => (thread ? threadText(thread) : "");
  const compare = (a: ThreadRow, b: ThreadRow) =>
    kind === undefined ? name(a).localeCompare(name(b), undefined, { numeric: true }) : (b[kind] || 0) - (a[kind] || 0);
  const order = (a: ThreadRow, b: ThreadRow) =>
    Number(a.thread === undefined) - Number(b.thread === undefined) || (reverse ? -compare(a, b) : compare(a, b));
  return [...rows].sort(order);
}

/**
 * The flame graph of what a thread allocated; of what another one freed of it, if that is given. In it, a cell of the
 * table of who freed what is the whole.
 */
function flameOf(place: Place, from: ThreadName | undefined, to: ThreadName | undefined): Partial<Place> {
  return {
    page: "flame",
    picked: [],
    thread: from ? [String(from.tid)] : place.thread,
    "freed-by": to ? [String(to.tid)] : place["freed-by"],
    metric: [to ? "freed" : "bytes"],
  };
}

/** Who freed what whom had allocated. A cell leads to the call stacks that allocated it. */
function HeatTable({ app, heat }: { app: App; heat: Heat }) {
  const { allocated, freed } = heat;
  const numbers = freed.length <= mostNumbers;
  const at = useSignal<readonly [number, number] | undefined>(undefined);
  const table = useRef<HTMLTableElement>(null);
  const { show: showMenu, menu } = useMenu();
  const first = useMemo((): readonly [number, number] => {
    let best: readonly [number, number] = [0, 0];
    allocated.forEach((from, r) => freed.forEach((to, c) => {
      if ((heat.at(from, to)?.bytes ?? -1) > (heat.at(allocated[best[0]] ?? from, freed[best[1]] ?? to)?.bytes ?? -1)) {
        best = [r, c];
      }
    }));
    return best;
  }, [heat]);
  const [row, columnAt] = at.value ?? first;
  const press = (event: KeyboardEvent) => {
    const moves: Record<string, readonly [number, number]> = {
      ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1],
    };
    const move = moves[event.key];
    if (!move || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    // The next cell that has something, in this direction.
    for (let r = row + move[0], c = columnAt + move[1]; allocated[r] && freed[c]; r += move[0], c += move[1]) {
      const cell = table.current?.querySelector<HTMLElement>(`[data-cell="${r} ${c}"]`);
      if (!cell) continue;
      at.value = [r, c];
      cell.focus();
      return;
    }
  };
  const title = (side: Side) => `${visible(side.name)}: ${exactSize(side.bytes)} in ${plural(side.blocks, "block")}`;
  const openMenu = (event: MouseEvent, from: Side, to: Side) => {
    if (!from.thread) return;
    event.preventDefault();
    const { thread } = from;
    const flame = flameOf(app.place.value, thread, to.thread);
    showMenu(`${from.name} to ${to.name}`, { x: event.clientX, y: event.clientY }, [
      { title: "The flame graph of these blocks", run: () => app.change(flame) },
      {
        title: "Those that are live at the peak, one by one",
        run: () => app.change({ ...flame, page: "blocks", metric: [], block: undefined }),
      },
    ]);
  };
  return (
    <section>
      <h2>
        Who freed it{" "}
        <span class="quiet">rows allocated, columns freed · click a cell: the flame graph of what went that way</span>
      </h2>
      <div class="scroll">
        <table
          ref={table}
          class={numbers ? "heat numbers" : "heat"}
          aria-label="allocated by, freed by"
          onKeyDown={press}
        >
          <thead>
            <tr>
              <th scope="col">allocated by</th>
              {freed.map((to) => (
                <th key={to.key} scope="col" title={title(to)} class={numbers ? "number" : "narrow"}>
                  <span>{visible(to.name).slice(0, 60)}</span>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {allocated.map((from, r) => (
              <tr key={from.key}>
                <th scope="row" title={title(from)}>
                  <Name text={from.name} limit={40} />
                </th>
                {freed.map((to, c) => {
                  const cell = heat.at(from, to);
                  if (!cell) return <td key={to.key} />;
                  const text = `${exactSize(cell.bytes)} in ${plural(cell.blocks, "block")}`;
                  const label = `${visible(from.name)} to ${visible(to.name)}: ${size(cell.bytes)} (${text})`;
                  // The least that there is can be seen beside nothing.
                  const share = Math.max(0.06, Math.sqrt(heat.most > 0 ? cell.bytes / heat.most : 0));
                  const place = flameOf(app.place.value, from.thread, to.thread);
                  const same = from.thread !== undefined && from.thread.index === to.thread?.index;
                  return (
                    <td key={to.key} class={same ? "same" : undefined} style={{ "--share": share.toFixed(3) }}
                      onContextMenu={(event) => openMenu(event, from, to)}>
                      {from.thread ? (
                        <a
                          data-cell={`${r} ${c}`}
                          href={formatPlace({ ...app.place.value, ...place })}
                          tabIndex={r === row && c === columnAt ? 0 : -1}
                          aria-label={label}
                          title={label}
                          onFocus={() => (at.value = [r, c])}
                          onClick={(event) => {
                            if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey) return;
                            event.preventDefault();
                            app.change(place);
                          }}
                        >
                          {numbers ? size(cell.bytes) : "\u00a0"}
                        </a>
                      ) : (
                        <span title={label}>{numbers ? size(cell.bytes) : "\u00a0"}</span>
                      )}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <MenuHere menu={menu} />
    </section>
  );
}

/** By the function that was called. */
function Calls({ answer }: { answer: ThreadAnswer }) {
  const all = answer.total["bytes"] ?? NaN;
  if (answer.calls.length === 0) return null;
  return (
    <section class="calls">
      <h2>Allocated through</h2>
      <div class="scroll" role="group" tabIndex={0} aria-label="allocated through">
        <table class="numbers">
          <thead>
            <tr>
              {["function", "", "allocated", "share", "allocations", "live", "temporary"].map((name, i) => (
                <th key={name} scope="col" class={i > 1 ? "number" : undefined}>
                  {name || <span class="unseen">its share</span>}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {answer.calls.map(({ name, bytes, allocations, live, temporary }) => (
              <tr key={name}>
                <th scope="row">
                  <Name text={name} limit={40} />
                </th>
                <td class="bar" aria-hidden="true">
                  <i style={{ width: `${all > 0 ? Math.max(0, (100 * bytes) / all) : 0}%` }} />
                </td>
                <td class="number" title={exactSize(bytes)}>
                  {size(bytes)}
                </td>
                <td class="number">{percent(bytes, all)}</td>
                <td class="number" title={count(allocations)}>
                  {shortCount(allocations)}
                </td>
                <td class="number" title={exactSize(live)}>
                  {size(live)}
                </td>
                <td class="number" title={count(temporary)}>
                  {Number.isNaN(temporary) ? "–" : shortCount(temporary)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

/** The memory of the threads' stacks: how they grew, and the deepest with its frames. */
function Stacks(props: {
  app: App;
  answer: ThreadAnswer;
  chosen: number | undefined;
  choose: (index: number) => void;
}) {
  const { app, answer, chosen, choose } = props;
  const { stacks, frameNotes } = answer;
  const part = usePart<StackCurves>(app, "threads-stacks", ({ recording, place }) => {
    if (!hasEvents(app)) return undefined;
    const { from, to, thread } = filtersOf(place);
    const parameters = {
      ...(from !== undefined && { from }), ...(to !== undefined && { to }), ...(thread && { thread }),
      stack: true, top: mostCurves, steps: curveSteps,
    };
    return taskOf(recording, { name: "timeline", parameters, read: stackCurvesOf });
  });
  const curves = part.shown.value?.value;
  const wait = part.wait.value;
  const shown = stacks.find(({ thread }) => thread.index === chosen) ?? stacks[0];
  if (!shown) {
    return (
      <section>
        <h2>Stack memory</h2>
        <p class="quiet">How deep the threads' stacks became is not in this recording.</p>
      </section>
    );
  }
  return (
    <section class="stacks">
      <h2>
        Stack memory <span class="quiet">in use at events, over the time · the deepest first</span>
      </h2>
      {wait?.phase === "failed" && <Refusal fault={wait.fault} />}
      <ul class="curves">
        {(curves?.threads ?? []).map(({ thread, deepest }, i) => {
          const path = curves ? stepPath(curves.times, deepest, curves.most) : "";
          const of = stacks.find((one) => one.thread.index === thread.index);
          return (
            <li key={thread.index}>
              <button
                type="button"
                aria-pressed={thread.index === shown.thread.index}
                onClick={() => choose(thread.index)}
              >
                <Name text={threadText(thread)} limit={34} />
                <svg viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true">
                  {path !== "" && <path class="curve" d={path} />}
                </svg>
                <b title={exactSize(of?.deepest ?? NaN)}>{of ? size(of.deepest) : `stack ${i + 1}`}</b>
              </button>
            </li>
          );
        })}
      </ul>
      {curves && curves.more > 0 && (
        <p class="quiet">and {plural(curves.more, "thread")} more, which are not as deep</p>
      )}
      <Deepest app={app} stack={shown} notes={frameNotes} />
    </section>
  );
}

/** The stack of a thread at its deepest, and what each frame takes of it. */
function Deepest({ app, stack, notes }: { app: App; stack: StackDepth; notes: readonly string[] }) {
  const { thread, deepest, atNs, touched, size: most, frames, frameBytes, unknown } = stack;
  const { unknown: left } = sumOfFrames(frameBytes, 0, frameBytes.length);
  return (
    <>
      <h3>
        <Name text={threadText(thread)} limit={40} /> at its deepest:{" "}
        <span title={exactSize(deepest)}>{size(deepest)}</span>
      </h3>
      <p class="quiet">
        at{" "}
        <GoLink go={goOf(app, { at: timeText(atNs) })} title={`${timeText(atNs)}: shows what was live then`}>
          {app.clock.moment(atNs)}
        </GoLink>
        , in {plural(frames.length, "frame")}
        {!Number.isNaN(touched) && (
          <>
            {" · "}
            <span title={exactSize(touched)}>{size(touched)}</span> of it was touched by any call
          </>
        )}
        {!Number.isNaN(most) && (
          <>
            {" · "}it may take <span title={exactSize(most)}>{size(most)}</span>
          </>
        )}
      </p>
      <FrameList app={app} stack={frames} bytes={frameBytes} label="the stack at its deepest" />
      {!Number.isNaN(unknown) && frames.length > 0 && (
        <p class="quiet rest">
          <span title={exactSize(unknown)}>{size(unknown)}</span>{" "}
          {left > 0
            ? `of ${plural(left, "frame")} of unknown size, and above the outermost one`
            : "above the outermost frame"}
        </p>
      )}
      {notes.map((note, i) => (
        <p key={i} class="quiet">
          <bdi>{visible(note)}</bdi>
        </p>
      ))}
    </>
  );
}
