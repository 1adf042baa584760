// Blocks: those that are live at a moment, the largest, the oldest or at an address; and what became of one.
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { App, Selected } from "../../app.ts";
import {
  blockOrderOf,
  blockOrders,
  lifeOf,
  liveBlocksOf,
  threadText,
  type BlockEnd,
  type BlockForm,
  type BlockOrder,
  type BlockRow,
  type Life,
  type LiveBlocks,
} from "../../model/blocks.ts";
import { filtersOf } from "../../model/filters.ts";
import { count, duration, exactSize, plural, size } from "../../model/format.ts";
import { shellQuote, visible } from "../../model/names.ts";
import type { Place } from "../../model/place.ts";
import { pickedOf, rowActions } from "../../model/row-actions.ts";
import { timeText } from "../../model/time.ts";
import { taskOf, type Question } from "../../net/ask.ts";
import { copyText } from "../copy.ts";
import { Bone } from "../figures.tsx";
import { FrameList } from "../frames.tsx";
import { goOf } from "../go-of.ts";
import { GoLink } from "../go.tsx";
import type { Entry } from "../menu.tsx";
import { Name } from "../name.tsx";
import { Answered, useActions, useMainPart, usePart } from "../part.tsx";
import { EmptyBox } from "../states.tsx";
import { Grid, GridCursor, type GridCell, type GridColumn, type GridData, type GridRow } from "../table.tsx";
import { WaysBack } from "../ways-back.tsx";
import { hasEvents, NoEvents } from "./needs-events.tsx";
import {
  copyRow,
  groupRow,
  hover,
  isWhole,
  menuEntries,
  MenuHere,
  nothingIntact,
  rowsSkeleton,
  saveRows,
  useMenu,
  useNotice,
} from "./rows.tsx";

/** The most that an answer may have. */
const mostBlocks = 10_000;

/** They do not follow a drag: the server reads all events up to the moment. */
function questionOf({ place }: Selected): Question<"blocks", LiveBlocks> {
  const order = blockOrderOf(place);
  return {
    name: "blocks",
    parameters: {
      ...filtersOf(place),
      ...(place.at !== undefined && { at: place.at }),
      ...(order !== "size" && { sort: order }),
      ...(place.address !== undefined && { address: place.address }),
      limit: mostBlocks,
    },
    read: liveBlocksOf,
  };
}

export function Blocks({ app }: { app: App }) {
  const part = useMainPart(app, "blocks", (selected) => (hasEvents(app) ? questionOf(selected) : undefined));
  const { say, notice } = useNotice();
  const save = useRef<() => void>(() => {});
  if (hasEvents(app) === false) return <NoEvents app={app} what="which blocks were live, and what became of them" />;
  return (
    <div class="rows-page blocks-page">
      <Tools app={app} answer={part.wait.value?.phase === "cancelled" ? undefined : part.shown.value?.value}>
        <button type="button" onClick={() => save.current()}>
          Save as CSV
        </button>
        <span class="notice" role="status">
          {notice.value}
        </span>
      </Tools>
      <Answered part={part} skeleton={rowsSkeleton}>
        {(answer) => <Rows app={app} answer={answer} say={say} save={save} />}
      </Answered>
      {app.place.value.block !== undefined && <Biography app={app} number={app.place.value.block} />}
    </div>
  );
}

/** What can be chosen: it stays while an answer is on its way, or if there is none. */
function Tools(props: { app: App; answer: LiveBlocks | undefined; children: ComponentChildren }) {
  const { app, answer } = props;
  const place = app.place.value;
  const order = blockOrderOf(place);
  const addresses = app.about.shown.value?.value.addresses ?? true;
  const text = useSignal(place.address ?? "");
  useEffect(() => void (text.value = place.address ?? ""), [place.address]);
  const without = "where blocks were was not recorded: heaptap run --addresses";
  return (
    <div class="tools">
      <div class="choice-of" role="group" aria-label="which blocks come first">
        {blockOrders.map(({ name, title }) => (
          <button
            key={name}
            type="button"
            aria-pressed={order === name}
            disabled={name === "address" && !addresses}
            title={name === "address" && !addresses ? without : `--sort ${name}`}
            onClick={() => app.change({ order: name === "size" ? undefined : name })}
          >
            {title}
          </button>
        ))}
      </div>
      <form
        class="address"
        onSubmit={(event) => {
          event.preventDefault();
          app.change({ address: text.value.trim() || undefined });
        }}
      >
        <input
          class="match"
          aria-label="show the block that holds an address"
          placeholder="holds address 0x…"
          title={addresses ? "--address" : without}
          disabled={!addresses}
          value={text.value}
          onInput={(event) => (text.value = event.currentTarget.value)}
        />
        {place.address !== undefined && (
          <button type="button" class="plain" onClick={() => app.change({ address: undefined })}>
            all addresses
          </button>
        )}
      </form>
      {props.children}
      {answer && (
        <span class="quiet count" title={exactSize(answer.bytes)}>
          {size(answer.bytes)} in {plural(answer.blocks, "block")} live {momentOf(app, place, answer)}
          {answer.more > 0 && ` · ${plural(answer.more, "more block")} not listed`}
        </span>
      )}
    </div>
  );
}

const columnKeys: Readonly<Partial<Record<string, BlockOrder>>> = { size: "size", age: "age", address: "address" };

function column(key: string, title: string, hint: string, chars: number): GridColumn {
  const most = Math.max(chars, key.length + 2);
  return { key, group: key, title: title || "\u00a0", hint, chars: most, sorts: key in columnKeys };
}

const blank: GridRow = { key: 0, level: 1, indent: 0, open: undefined, name: "", note: "", title: "", tone: "words" };
const noRows: ReadonlySet<number> = new Set();

function Rows(props: {
  app: App;
  answer: LiveBlocks;
  say: (text: string) => void;
  save: { current: () => void };
}) {
  const { app, answer, say, save } = props;
  const place = app.place.value;
  const order = blockOrderOf(place);
  const { list, atNs } = answer;
  const cursor = useMemo(() => new GridCursor(), []);
  const { show: showMenu, menu } = useMenu();
  const addresses = list.at(0)?.address !== undefined && list.at(0)?.address !== "";
  const clock = app.clock;

  const data = useMemo((): GridData => {
    const columns = [
      column("size", "", "the bytes that were requested", 9),
      column("age", "", "how long it had been allocated at this moment", 9),
      column("born", "", "when it was allocated", 9),
      column("thread", "", "the thread that allocated it", 16),
      column("call", "", "the function that was called", 12),
      ...(addresses ? [column("address", "", "where it is", 14)] : []),
    ];
    let most = 0;
    for (const bytes of list.columns.size) if (bytes > most) most = bytes;
    const cellOf = (row: BlockRow, key: string): GridCell => {
      const words = (text: string, exact = text) => ({ text: visible(text), exact: visible(exact), bar: 0 });
      switch (key) {
        case "size":
          return { ...words(size(row.size), exactSize(row.size)), bar: row.size / (most || 1), value: row.size };
        case "age":
          return { ...words(duration(atNs - row.bornNs), `${count(atNs - row.bornNs)} ns`), value: atNs - row.bornNs };
        case "born":
          return { ...words(clock.moment(row.bornNs), timeText(row.bornNs)), value: row.bornNs };
        case "thread":
          return words(threadText(row.thread));
        case "call":
          return words(row.call);
        default:
          return words(row.address);
      }
    };
    return {
      label: `blocks that are live, ${blockOrders.find(({ name }) => name === order)?.title ?? ""} first`,
      nameTitle: "block, allocated in",
      nameSorts: false,
      columns,
      rows: list.length,
      more: 0,
      row: (i) => {
        const row = list.at(i);
        if (!row) return blank;
        const stack = groupRow(row.stack, noRows);
        return { ...stack, key: row.number, open: undefined, name: `#${row.number} ${stack.name}` };
      },
      cell: (i, c) => {
        const row = list.at(i);
        return row ? cellOf(row, columns[c]?.key ?? "") : { text: "", exact: "", bar: 0 };
      },
      find: (key) => list.find(key),
      sorted: order === "newest" ? "" : order,
      reverse: order === "address",
    };
  }, [answer, order, clock.run.end, place.zoom, addresses]);

  const picked = useRef<BlockRow | undefined>(undefined);
  const opens = (row: BlockRow): Partial<Place> => ({
    block: String(row.number),
    picked: pickedOf({ group: row.stack }),
  });
  save.current = () => saveRows("blocks", data, say);
  useActions(app, {
    "rows.csv": () => save.current(),
    "rows.copy": () => copyRow(data, cursor.index(data)),
  });
  const headline = (row: BlockRow | undefined) => {
    const at = row?.stack.headline;
    if (at?.named) app.hovered.value = { function: at.name, module: at.module };
    else hover(app, undefined);
  };
  const events = {
    pick: (i: number) => {
      const row = list.at(i);
      if (!row) return;
      picked.current = row;
      app.change(opens(row), "replace");
      headline(row);
    },
    hover: (i: number | undefined) => headline((i === undefined ? undefined : list.at(i)) ?? picked.current),
    menu: (i: number, at: { x: number; y: number }) => {
      const row = list.at(i);
      if (!row) return;
      showMenu(`block ${row.number}`, at, [
        { title: "What became of it", run: () => app.change(opens(row)) },
        { title: "What was live when it was allocated", run: () => app.change({ at: timeText(row.bornNs) }) },
        ...menuEntries(app, { group: row.stack }, [
          { title: "Copy as Markdown", keys: "Ctrl+C", run: () => copyRow(data, i) },
        ]),
        ...filtersOfBlock(app, row),
      ]);
    },
    copy: (i: number) => copyRow(data, i),
    sort: (key: string) => {
      const wanted = columnKeys[key];
      if (wanted !== undefined) app.change({ order: wanted === "size" ? undefined : wanted });
    },
  };
  useEffect(() => () => hover(app, undefined), []);
  // The link to a block makes its row the current one.
  useEffect(() => {
    const number = Number(place.block ?? NaN);
    if (list.find(number) >= 0 && cursor.key.peek() !== number) cursor.show(number);
  }, [place.block, list]);

  const whole = isWhole(app);
  return (
    <>
      {answer.missing && (
        <p class="wrong missing-part">
          <bdi>{visible(answer.missing)}</bdi>
        </p>
      )}
      {list.length > 0 ? (
        <Grid data={data} events={events} cursor={cursor} />
      ) : whole ? (
        <EmptyBox
          why={
            place.address === undefined
              ? "Nothing that is counted here is live at this moment."
              : "No block that is live at this moment holds this address."
          }
        >
          <div class="actions">
            {place.address !== undefined && (
              <button type="button" onClick={() => app.change({ address: undefined })}>
                Show all addresses
              </button>
            )}
            {place.at !== undefined && (
              <button type="button" onClick={() => app.change({ at: undefined })}>
                Go to the peak
              </button>
            )}
          </div>
          <WaysBack app={app} />
        </EmptyBox>
      ) : (
        <EmptyBox why={nothingIntact} command="heaptap verify FILE" />
      )}
      <MenuHere menu={menu} />
    </>
  );
}

/** Of which moment the blocks are, in words. */
function momentOf(app: App, place: Place, { atNs }: LiveBlocks): string {
  const text = app.clock.moment(atNs);
  if (place.at !== undefined) return `at ${text}`;
  const whole = place.from === undefined && place.to === undefined;
  return `at the ${whole ? "peak" : "end of the range"}, ${text}`;
}

/** What counts only blocks like this one. */
function filtersOfBlock(app: App, row: BlockRow): Entry[] {
  return [
    { title: "Only blocks of this size", hint: "--size", run: () => app.change({ size: String(row.size) }) },
    {
      title: "Only what this thread allocated",
      hint: "--thread",
      run: () => app.change({ thread: [...app.place.value.thread, String(row.thread.tid)] }),
    },
  ];
}

/** What became of a block, below the others. */
function Biography({ app, number }: { app: App; number: string }) {
  const part = usePart<Life>(app, "block", ({ recording, place }) => {
    if (place.block === undefined || !hasEvents(app)) return undefined;
    return taskOf(recording, { name: "blocks", parameters: { block: place.block }, read: lifeOf });
  });
  const section = useRef<HTMLElement>(null);
  // In a narrow window it is below what is seen.
  const shown = part.shown.value;
  useEffect(() => section.current?.scrollIntoView({ block: "nearest" }), [number, shown]);
  const command = () => {
    const chosen = app.chosen;
    if (!chosen) return;
    const { run, recording } = chosen;
    const of = run.recordings.length > 1 ? ` --process ${recording.pid}` : "";
    void copyText(`heaptap blocks --block ${shellQuote(number)}${of} ${shellQuote(run.path)}`, "command");
  };
  return (
    <section ref={section} class="biography" aria-label={`what became of block ${visible(number).slice(0, 20)}`}>
      <header>
        <h2>What became of block #{visible(number).slice(0, 20)}</h2>
        <button type="button" class="plain" onClick={command}>
          copy the command
        </button>
        <button type="button" class="plain" onClick={() => app.change({ block: undefined })}>
          close
        </button>
      </header>
      <Answered part={part} skeleton={<Bone width="60%" />}>
        {(life) => <LifeOf app={app} life={life} />}
      </Answered>
    </section>
  );
}

function LifeOf({ app, life }: { app: App; life: Life }) {
  const { forms, asked } = life;
  const open = useSignal(false);
  // Of many reallocations, the first and the last ones say how it began and ended.
  const shown = (i: number) => open.value || forms.length <= 4 || [0, asked, forms.length - 1].includes(i);
  const last = forms.at(-1);
  const recorded = app.about.shown.value?.value.free_stacks ?? true;
  return (
    <>
      {life.missing && (
        <p class="wrong">
          <bdi>{visible(life.missing)}</bdi>
        </p>
      )}
      <ol class="life">
        {life.earlier && <li class="quiet">It was larger or smaller before; those forms are not listed.</li>}
        {forms.map((form, i) => {
          if (shown(i)) {
            const current = i === asked && forms.length > 1;
            return <Born key={form.block.number} app={app} form={form} before={forms[i - 1]} asked={current} />;
          }
          if (i > 0 && !shown(i - 1)) return null; // it is one of those that are counted
          let end = i;
          while (end < forms.length && !shown(end)) end++;
          return (
            <li key={form.block.number}>
              <button type="button" class="fold" aria-expanded="false" onClick={() => (open.value = true)}>
                {plural(end - i, "more reallocation")}
              </button>
            </li>
          );
        })}
        {life.later && <li class="quiet">It was reallocated further; those forms are not listed.</li>}
        {last && !life.later && <Ended app={app} form={last} first={forms[0]} recorded={recorded} />}
      </ol>
      {life.neighbours.length > 0 && <Neighbours app={app} life={life} born={forms[asked]?.block.bornNs ?? 0} />}
    </>
  );
}

function When({ app, ns }: { app: App; ns: number }) {
  return (
    <GoLink go={goOf(app, { at: timeText(ns) })} title={`${timeText(ns)}: shows what was live then`}>
      {app.clock.moment(ns)}
    </GoLink>
  );
}

/** How a block came to be, or to be moved. */
function Born(props: { app: App; form: BlockForm; before: BlockForm | undefined; asked: boolean }) {
  const { app, before, asked } = props;
  const { block } = props.form;
  const was = before?.block;
  const moved = was && was.address !== "" && was.address !== block.address;
  const what = !was ? "Allocated" : moved ? "Moved" : was.address === "" ? "Reallocated" : "Reallocated in place";
  const flame = rowActions(app.place.value, { group: block.stack }).find(({ change }) => change.page === "flame");
  return (
    <li aria-current={asked ? "true" : undefined}>
      <h3>
        {what} at <When app={app} ns={block.bornNs} />
      </h3>
      <p>
        <b title={exactSize(block.size)}>{size(block.size)}</b>
        {was && ` instead of ${size(was.size)}`}
        {!Number.isNaN(block.usable) && block.usable !== block.size && ` (${size(block.usable)} usable)`}
        {block.address !== "" && (
          <>
            {" at "}
            <code>{block.address}</code>
          </>
        )}
        {" by thread "}
        <ThreadLink app={app} thread={block.thread} filter="thread" /> through <Name text={block.call} limit={40} />
        <span class="quiet">
          {" "}
          · allocation #{block.number}, event {count(block.event)}
        </span>
      </p>
      <FrameList app={app} stack={block.stack.stack} label={`call stack, ${what.toLowerCase()}`} />
      {flame && (
        <p>
          <GoLink go={goOf(app, flame.change)}>Flame graph</GoLink>
        </p>
      )}
    </li>
  );
}

/** How it ended. */
function Ended(props: { app: App; form: BlockForm; first: BlockForm | undefined; recorded: boolean }) {
  const { app, form, first, recorded } = props;
  const end: BlockEnd | undefined = form.end;
  const born = first?.block.bornNs ?? form.block.bornNs;
  if (!end) {
    return (
      <li>
        <h3 class="wrong">Never freed</h3>
        <p>It is still live when the recording ends.</p>
      </li>
    );
  }
  return (
    <li>
      <h3>
        Freed at <When app={app} ns={end.timeNs} />
      </h3>
      <p>
        after <span title={`${count(end.timeNs - born)} ns`}>{duration(end.timeNs - born)}</span> by{" "}
        {end.call === "unknown" ? (
          "nobody that was seen"
        ) : (
          <>
            {end.thread.index === form.block.thread.index ? "the same thread, " : "another thread, "}
            <ThreadLink app={app} thread={end.thread} filter="freed-by" /> through <Name text={end.call} limit={40} />
          </>
        )}
        <span class="quiet"> · event {count(end.event)}</span>
      </p>
      {end.stack.length > 0 ? (
        <FrameList app={app} stack={end.stack} label="call stack, freed" />
      ) : (
        !recorded && (
          <p class="quiet">
            Call stacks of deallocations were not recorded: <code>heaptap run --free-stacks ./program</code>
          </p>
        )
      )}
    </li>
  );
}

/** A thread; the link leads to the flame graph of what it allocated, or freed. */
function ThreadLink(props: { app: App; thread: BlockRow["thread"]; filter: "thread" | "freed-by" }) {
  const { app, thread, filter } = props;
  const metric = filter === "thread" ? { metric: ["bytes"] } : { metric: ["freed"] };
  return (
    <GoLink
      go={goOf(app, { page: "flame", [filter]: [String(thread.tid)], ...metric, picked: [], block: undefined })}
      title={filter === "thread" ? "the flame graph of what it allocated" : "the flame graph of what it freed"}
    >
      <Name text={threadText(thread)} limit={40} />
    </GoLink>
  );
}

function Neighbours({ app, life, born }: { app: App; life: Life; born: number }) {
  return (
    <>
      <h3>Beside it</h3>
      <div class="scroll">
        <table class="numbers">
          <thead>
            <tr>
              <th scope="col">block</th>
              <th scope="col">which</th>
              <th scope="col" class="number">
                size
              </th>
              <th scope="col" class="number">
                from it
              </th>
              <th scope="col">allocated in</th>
            </tr>
          </thead>
          <tbody>
            {life.neighbours.map(({ how, block }, i) => (
              <tr key={i}>
                <td>
                  <GoLink
                    go={goOf(app, { block: String(block.number), picked: pickedOf({ group: block.stack }) })}
                    title="what became of it"
                  >
                    #{block.number}
                  </GoLink>
                </td>
                <td class="quiet">{how}</td>
                <td class="number" title={exactSize(block.size)}>
                  {size(block.size)}
                </td>
                <td class="number" title={timeText(block.bornNs)}>
                  {block.bornNs < born ? "−" : "+"}
                  {duration(Math.abs(block.bornNs - born))}
                </td>
                <td>
                  <Name text={block.stack.name} limit={60} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}
