// A table of any number of rows, of which only those in view exist: the same for tables, trees and leaks. It renders
// what it is given and reports what the reader does; it knows nothing of recordings.
import { Component } from "preact";
import { signal, useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { Name } from "./name.tsx";

export interface GridColumn {
  key: string;
  /** What is counted; columns side by side with the same one share the heading. */
  group: string;
  /** What that is called; undefined: as the group. */
  heading?: string;
  /** Below it: what of it, and the unit. */
  title: string;
  hint: string;
  /** How wide it is, in characters. */
  chars: number;
  /** Whether the reader can sort by it. */
  sorts: boolean;
}

export interface GridCell {
  text: string;
  /** The exact value, in words. */
  exact: string;
  /** The number itself; undefined: the text is all there is. */
  value?: number;
  /** The length of its bar, from 0 to 1. */
  bar: number;
  /** How far off the number may be is not known. */
  unsure?: boolean;
}

export interface GridRow {
  /** The same row has the same one in every answer. */
  key: number;
  /** From 1; rows below another one of a lower level belong to it. */
  level: number;
  indent: number;
  /** Of a row that others belong to: whether they are shown. */
  open: boolean | undefined;
  name: string;
  /** Beside the name, in grey. */
  note: string;
  /** In full, for the hint. */
  title: string;
  /** How the name is written: plainly, as something that is not a name, as own code, as a library's. */
  tone: "plain" | "words" | "own" | "library";
}

/** What is shown. A new object whenever anything of it changes. */
export interface GridData {
  /** What is read out as the name of the table. */
  label: string;
  /** The heading of the names. */
  nameTitle: string;
  /** Names can be sorted. */
  nameSorts: boolean;
  columns: readonly GridColumn[];
  rows: number;
  /** Rows that exist and are not here yet. */
  more: number;
  row: (i: number) => GridRow;
  cell: (i: number, column: number) => GridCell;
  /** The row with a key; -1: there is none. */
  find: (key: number) => number;
  /** The column by which rows are sorted, or "name". */
  sorted: string;
  reverse: boolean;
}

export interface GridEvents {
  /** The row that the right side explains. It comes a moment after the reader has stopped moving. */
  pick?: (i: number) => void;
  /** A click, where that does more than to explain the row. */
  click?: (i: number) => void;
  hover?: (i: number | undefined) => void;
  /** Enter or a double click. */
  enter?: (i: number) => void;
  open?: (i: number, open: boolean) => void;
  menu?: (i: number, at: { x: number; y: number }) => void;
  copy?: (i: number) => void;
  sort?: (key: string) => void;
  /** A group of columns goes to the place of another one. */
  move?: (group: string, to: string) => void;
  /** The end of the rows comes into view. */
  end?: () => void;
}

const rowHeight = 24;
const extraRows = 8;
/** How many rows had room in the table that was there last: the next one mostly has as much. */
let lastRoom = 40;
/** How long the reader rests on a row before it is explained. */
const restMs = 120;

export function Grid({ data, events, cursor }: { data: GridData; events: GridEvents; cursor: GridCursor }) {
  const grid = useRef<HTMLDivElement>(null);
  const first = useSignal(0); // the first row in view
  const room = useSignal(lastRoom); // how many rows have room
  const at = cursor.index(data);

  useLayoutEffect(() => {
    const element = grid.current;
    if (!element) return;
    // The observer tells of the first size, too: after the layout, which need not be made twice then.
    const sized = new ResizeObserver(() => {
      room.value = lastRoom = Math.max(1, Math.ceil(element.clientHeight / rowHeight));
    });
    sized.observe(element);
    return () => sized.disconnect();
  }, []);

  const from = Math.max(0, Math.min(first.value, data.rows - 1) - extraRows);
  const to = Math.min(data.rows, first.value + room.value + extraRows);
  const slots = room.value + 2 * extraRows + 1;
  useEffect(() => {
    if (to >= data.rows && data.more > 0) events.end?.();
  }, [to, data]);

  /** Brings the current row into view. */
  const show = (i: number, where: "near" | "middle" = "near") => {
    const element = grid.current;
    if (!element) return;
    const head = element.querySelector(".grid-head")?.clientHeight ?? 0;
    const [top, bottom] = [i * rowHeight, (i + 1) * rowHeight - (element.clientHeight - head)];
    if (element.scrollTop <= top && element.scrollTop >= bottom) return;
    const middle = top - (element.clientHeight - head) / 2;
    element.scrollTop = where === "middle" ? middle : element.scrollTop > top ? top : bottom;
  };
  useEffect(() => {
    if (cursor.shows.value > 0 && at >= 0) show(at, "middle");
  }, [cursor.shows.value]);

  const resting = useRef(0);
  useEffect(() => () => clearTimeout(resting.current), []);
  const goTo = (i: number) => {
    if (data.rows === 0) return;
    const row = Math.max(0, Math.min(data.rows - 1, i));
    cursor.set(data.row(row).key, row);
    show(row);
    clearTimeout(resting.current);
    resting.current = window.setTimeout(() => events.pick?.(row), restMs);
  };
  /** Opens the menu of a row, below the button that was pressed. */
  const menuAt = (i: number, button?: Element) => {
    const box = grid.current?.querySelector(`#${rowId(data.row(i).key)}`)?.getBoundingClientRect();
    if (!box) return;
    events.menu?.(i, { x: button?.getBoundingClientRect().left ?? box.left + 32, y: box.bottom });
  };
  const press = (event: KeyboardEvent) => {
    if (event.target !== grid.current || event.altKey || event.metaKey) return;
    const page = Math.max(1, room.value - 3);
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page };
    const step = steps[event.key];
    if (event.ctrlKey && event.key === "c") {
      if (at < 0 || !events.copy || getSelection()?.isCollapsed === false) return;
      events.copy(at);
    } else if (event.ctrlKey) return;
    else if (step !== undefined) goTo(at < 0 ? 0 : at + step);
    else if (event.key === "Home") goTo(0);
    else if (event.key === "End") goTo(data.rows - 1);
    else if (at < 0) return;
    else if (event.key === "ArrowRight" || event.key === "ArrowLeft") turn(event.key === "ArrowRight");
    else if (event.key === "Enter") enter(at);
    else if (event.key === " ") events.pick?.(at);
    else if (event.key === "ContextMenu" || (event.key === "F10" && event.shiftKey)) menuAt(at);
    else return;
    event.preventDefault();
  };
  /** Opens or closes a row. The one that is opened is also picked: the right side explains what is looked at. */
  const open = (i: number, wanted: boolean) => {
    events.open?.(i, wanted);
    if (wanted) events.pick?.(i);
  };
  const enter = (i: number) => {
    const opens = data.row(i).open === false;
    events.enter?.(i);
    if (opens) events.pick?.(i);
  };
  /** Opens the current row or goes into it; closes it or goes to the one that it belongs to. */
  const turn = (inwards: boolean) => {
    const row = data.row(at);
    if (inwards) {
      if (row.open === false) open(at, true);
      else if (row.open === true) goTo(at + 1);
      return;
    }
    if (row.open === true) return open(at, false);
    for (let i = at - 1; i >= 0; i--) if (data.row(i).level < row.level) return goTo(i);
  };

  const list = [];
  for (let i = from; i < to; i++) {
    list.push(<RowView key={i % slots} data={data} i={i} current={i === at} />);
  }
  const rowOf = (event: Event): number | undefined => {
    const row = event.target instanceof Element ? event.target.closest("[data-row]") : undefined;
    const i = Number(row?.getAttribute("data-row") ?? NaN);
    return Number.isNaN(i) || i >= data.rows ? undefined : i;
  };
  const click = (event: MouseEvent) => {
    const i = rowOf(event);
    if (i === undefined || !(event.target instanceof Element)) return;
    cursor.set(data.row(i).key, i);
    if (event.target.closest(".grid-turn")) open(i, data.row(i).open !== true);
    const button = event.target.closest(".grid-menu");
    if (button) menuAt(i, button);
    else if (data.row(i).tone === "words" && data.row(i).open === undefined) events.enter?.(i);
    else if (!event.target.closest(".grid-turn")) (events.click ?? events.pick)?.(i);
  };
  const inView = at >= from && at < to;
  return (
    <div
      class="grid"
      ref={grid}
      role="treegrid"
      tabIndex={0}
      aria-label={data.label}
      aria-rowcount={data.rows + data.more + 1}
      aria-colcount={data.columns.length + 1}
      aria-activedescendant={inView ? rowId(data.row(at).key) : undefined}
      style={{
        "--columns": data.columns.map(({ chars }) => width(chars)).join(" "),
        "--width": `calc(${data.columns.map(({ chars }) => width(chars)).join(" + ")})`,
      }}
      onKeyDown={press}
      onFocus={(event) => {
        if (event.target === grid.current && cursor.key.value === undefined && data.rows > 0) {
          cursor.set(data.row(first.value).key, first.value);
        }
      }}
      onScroll={(event) => (first.value = Math.floor(event.currentTarget.scrollTop / rowHeight))}
      onClick={click}
      onDblClick={(event) => {
        const i = rowOf(event);
        if (i !== undefined && !(event.target instanceof Element && event.target.closest("button"))) enter(i);
      }}
      onContextMenu={(event) => {
        const i = rowOf(event);
        if (i === undefined || !events.menu) return;
        event.preventDefault();
        cursor.set(data.row(i).key, i);
        events.menu(i, { x: event.clientX, y: event.clientY });
      }}
      onPointerOver={(event) => events.hover?.(rowOf(event))}
      onPointerLeave={() => events.hover?.(undefined)}
    >
      <Head data={data} events={events} />
      <div class="grid-body" role="rowgroup" style={{ height: `${data.rows * rowHeight}px` }}>
        {list}
      </div>
    </div>
  );
}

/** Which row is the current one, whatever the order of rows becomes. */
export class GridCursor {
  readonly key = signal<number | undefined>(undefined);
  /** Grows whenever the current row shall come into view. */
  readonly shows = signal(0);
  #last = -1;

  set(key: number | undefined, i = -1): void {
    this.#last = i;
    this.key.value = key;
  }

  /** Makes a row the current one, and brings it into view. */
  show(key: number): void {
    this.key.value = key;
    this.shows.value++;
  }

  /** The current row's number; -1: there is none, or it is not here. */
  index(data: GridData): number {
    const key = this.key.value;
    if (key === undefined) return -1;
    if (this.#last >= 0 && this.#last < data.rows && data.row(this.#last).key === key) return this.#last;
    return (this.#last = data.find(key));
  }
}

/** Deep rows are indented less, so that their names have room. */
function indentOf({ indent }: GridRow): string {
  return `${12 * Math.min(indent, 8) + 4 * Math.max(0, indent - 8)}px`;
}

function width(chars: number): string {
  return `calc(${chars}ch + 18px)`;
}

function rowId(key: number): string {
  return `row-${key}`;
}

function classOf(text: string, unsure = false): string {
  if (unsure) return "grid-cell number unsure";
  return text === "0" || text === "0 %" ? "grid-cell number zero" : "grid-cell number";
}

interface RowProps {
  data: GridData;
  i: number;
  current: boolean;
}

/** A row. It is rendered again only if it has changed, so that scrolling costs only what comes into view. */
class RowView extends Component<RowProps> {
  override shouldComponentUpdate(next: RowProps): boolean {
    const { data, i, current } = this.props;
    return next.data !== data || next.i !== i || next.current !== current;
  }

  override render({ data, i, current }: RowProps) {
    const row = data.row(i);
    const cells = data.columns.map(({ key }, column) => {
      const { text, exact, bar, unsure } = data.cell(i, column);
      return (
        <div
          key={key}
          class={classOf(text, unsure)}
          role="gridcell"
          aria-colindex={column + 2}
          title={exact}
          style={bar > 0 ? { "--share": Math.min(1, bar).toFixed(3) } : undefined}
        >
          {text}
        </div>
      );
    });
    return (
      <div
        id={rowId(row.key)}
        class={current ? "grid-row current" : "grid-row"}
        role="row"
        aria-rowindex={i + 2}
        aria-level={row.level}
        aria-expanded={row.open}
        aria-selected={current}
        data-row={i}
        style={{ transform: `translateY(${i * rowHeight}px)` }}
      >
        <div class="grid-cell grid-name" role="rowheader" aria-colindex={1} style={{ "--indent": indentOf(row) }}>
          <span class={row.open === undefined ? "grid-leaf" : "grid-turn"} aria-hidden="true">
            {row.open === undefined ? "" : row.open ? "▾" : "▸"}
          </span>
          <span class={`grid-text ${row.tone}`} title={row.title}>
            {row.tone === "words" ? <bdi>{row.name}</bdi> : <Name text={row.name} limit={200} />}
            {row.note !== "" && (
              <span class="quiet">
                {" "}
                <bdi>{row.note}</bdi>
              </span>
            )}
          </span>
          {current && row.tone !== "words" && (
            <button type="button" class="plain grid-menu" tabIndex={-1} aria-hidden="true">
              actions
            </button>
          )}
        </div>
        {cells}
      </div>
    );
  }
}

/** The headings: one of them is a stop of the tab key, arrows lead to the others. */
function Head({ data, events }: { data: GridData; events: GridEvents }) {
  const head = useRef<HTMLDivElement>(null);
  const stop = useSignal("name");
  const over = useSignal(""); // the group that a dragged one would take the place of
  const dragged = useRef("");
  const keys = ["name", ...data.columns.map(({ key }) => key)];
  const tabbed = keys.includes(stop.value) ? stop.value : "name";
  const groups = [...new Set(data.columns.map(({ group }) => group))];

  const focus = (key: string) => {
    stop.value = key;
    const buttons = head.current?.querySelectorAll("button") ?? [];
    buttons[keys.indexOf(key)]?.focus();
  };
  const press = (event: KeyboardEvent) => {
    const at = keys.indexOf(tabbed);
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (by === 0) return;
    if (event.altKey || event.ctrlKey || event.shiftKey) {
      const group = data.columns[at - 1]?.group;
      const to = groups[groups.indexOf(group ?? "") + by];
      if (group === undefined || to === undefined) return;
      events.move?.(group, to);
    } else focus(keys[at + by] ?? tabbed);
    event.preventDefault();
    event.stopPropagation();
  };
  const title = (key: string, text: string) => {
    const sorted = data.sorted === key;
    const mark = sorted ? (data.reverse === (key === "name") ? "▾" : "▴") : "";
    return { sorted, text: mark === "" ? text : `${mark} ${text}` };
  };
  const ariaSort = (key: string, sorts: boolean) => {
    if (!sorts) return undefined;
    if (data.sorted !== key) return "none" as const;
    return data.reverse === (key === "name") ? ("descending" as const) : ("ascending" as const);
  };
  const nameTitle = title("name", data.nameTitle);
  return (
    <div class="grid-head" role="row" aria-rowindex={1} ref={head} onKeyDown={press}>
      <div
        class="grid-cell grid-name"
        role="columnheader"
        aria-colindex={1}
        aria-sort={ariaSort("name", data.nameSorts)}
      >
        <button
          type="button"
          class={nameTitle.sorted ? "sorted" : ""}
          tabIndex={tabbed === "name" ? 0 : -1}
          aria-disabled={!data.nameSorts}
          onFocus={() => (stop.value = "name")}
          onClick={() => data.nameSorts && events.sort?.("name")}
        >
          <span>{nameTitle.text}</span>
        </button>
      </div>
      {data.columns.map((column, i) => {
        const { sorted, text } = title(column.key, column.title);
        const heads = data.columns[i - 1]?.group !== column.group;
        return (
          <div
            key={column.key}
            class={`grid-cell number${over.value === column.group ? " over" : ""}${heads ? " heads" : ""}`}
            role="columnheader"
            aria-colindex={i + 2}
            aria-sort={ariaSort(column.key, column.sorts)}
            onDragOver={(event) => {
              if (dragged.current === "" || dragged.current === column.group) return;
              event.preventDefault();
              over.value = column.group;
            }}
            onDragLeave={() => (over.value = "")}
            onDrop={(event) => {
              event.preventDefault();
              over.value = "";
              if (dragged.current !== "") events.move?.(dragged.current, column.group);
            }}
          >
            <button
              type="button"
              class={sorted ? "sorted" : ""}
              tabIndex={tabbed === column.key ? 0 : -1}
              draggable={events.move !== undefined && groups.length > 1}
              title={column.hint}
              aria-label={`${column.heading ?? column.group} ${column.title}`}
              aria-disabled={!column.sorts}
              onFocus={() => (stop.value = column.key)}
              onClick={() => column.sorts && events.sort?.(column.key)}
              onDragStart={(event) => {
                dragged.current = column.group;
                event.dataTransfer?.setData("text/plain", column.group);
              }}
              onDragEnd={() => {
                dragged.current = "";
                over.value = "";
              }}
            >
              <span class="grid-group">{heads ? (column.heading ?? column.group) : "\u00a0"}</span>{" "}
              <span>{text}</span>
            </button>
          </div>
        );
      })}
    </div>
  );
}
