// The source page: files and functions at the left; the lines of a file with what they count, and what they call.
import { useSignal, type Signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { count, digits, duration, exactSize, percent, plural, size } from "../model/format.ts";
import { metricOf, type Unit } from "../model/metrics.ts";
import { base, shorten, visible } from "../model/names.ts";
import {
  heat,
  places,
  scrollTo,
  sliceOf,
  type Call,
  type Entry,
  type Sheet,
  type ShownLine,
  type SourceReader,
} from "../model/source.ts";
import { Code } from "./code.tsx";
import { GoLink, type Go } from "./go.tsx";
import { Name } from "./name.tsx";

/** The height of a line; style.css has the same. */
export const rowHeight = 18;

export interface SourceProps {
  reader: SourceReader;
  sheet: Sheet;
  /** Selects a line: everything else is then about it. */
  select: (line: number) => void;
  selected: number | undefined;
  /** Leads to a function that a line calls. */
  called: (call: Call) => Go;
  /** Leads to the flame graph of a line. */
  flame: (line: number) => Go;
  /** The link that opens the editor; undefined: it cannot. */
  editor: (file: string, line: number) => string | undefined;
  /** Focuses the search field whenever it changes. */
  searching: Signal<number>;
  /** Asks for the number of a line to go to, whenever it changes. */
  going: Signal<number>;
}

export function SourceView(props: SourceProps) {
  const { reader, sheet } = props;
  return (
    <section class="source" aria-label={`source of ${visible(base(sheet.file))}`}>
      <Head {...props} />
      <Warning sheet={sheet} />
      <Lines key={sheet.file} {...props} />
      <Selected {...props} />
      <p class="live-text" aria-live="polite">
        {reader.query.value !== "" && matchText(reader)}
      </p>
    </section>
  );
}

function matchText(reader: SourceReader): string {
  const { lines, more } = reader.matches.value;
  if (lines.length === 0) return "no line has it";
  const at = reader.matchNumber;
  const all = more ? `more than ${count(lines.length)} lines` : plural(lines.length, "line");
  return at > 0 ? `${count(at)} of ${all}` : all;
}

function Head({ reader, sheet, editor, searching, going }: SourceProps) {
  const field = useRef<HTMLInputElement>(null);
  const line = useRef<HTMLInputElement>(null);
  const focusOn = (signal: Signal<number>, element: typeof field) => {
    const seen = useRef(signal.value);
    useEffect(() => {
      if (signal.value === seen.current) return;
      seen.current = signal.value;
      element.current?.focus();
      element.current?.select();
    }, [signal.value]);
  };
  focusOn(searching, field);
  focusOn(going, line);
  const at = reader.current.value || sheet.rows[0] || 1;
  const link = sheet.found === undefined ? undefined : editor(sheet.found, at);
  return (
    <header>
      <h1 title={visible(sheet.file).slice(0, 2000)}>
        <Path path={sheet.file} />
      </h1>
      <form
        role="search"
        onSubmit={(event) => {
          event.preventDefault();
          reader.match(1);
        }}
      >
        <input
          ref={field}
          type="search"
          aria-label="search in this file"
          placeholder="search /"
          disabled={!sheet.text}
          value={reader.query.value}
          onInput={(event) => (reader.query.value = event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && event.shiftKey) {
              event.preventDefault();
              reader.match(-1);
            } else if (event.key === "Escape") {
              reader.query.value = "";
              event.currentTarget.blur();
            }
          }}
        />
        {reader.query.value !== "" && <span class="quiet">{matchText(reader)}</span>}
      </form>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const wanted = Number(line.current?.value);
          if (Number.isInteger(wanted) && wanted > 0) reader.goTo(wanted);
        }}
      >
        <input ref={line} class="line-number" inputMode="numeric" aria-label="go to line" placeholder="line g" />
      </form>
      {link !== undefined && (
        <a href={link} title={`open line ${at} in the editor`}>
          open in editor
        </a>
      )}
    </header>
  );
}

/** A path whose last part stands out; the middle gives way. */
function Path({ path }: { path: string }) {
  const name = base(path);
  const folder = path.slice(0, path.length - name.length);
  return (
    <>
      <bdi class="folder quiet">{shorten(visible(folder), 80)}</bdi>
      <Name text={name} limit={60} />
    </>
  );
}

/** What is wrong with the text. */
function Warning({ sheet }: { sheet: Sheet }) {
  if (sheet.note === "" && !sheet.cut) return null;
  return (
    <p class={sheet.text ? "note wrong" : "note"} role="status">
      <bdi>{visible(sheet.note)}</bdi>
      {!sheet.text && ". The numbers are right all the same: here are the lines that have some."}
      {sheet.cut && ` Only the first ${plural(sheet.text?.length ?? 0, "line")} are shown: the file is too long.`}
    </p>
  );
}

/** A number of a column: in few characters, and in full in the hint. */
function cell(value: number, unit: Unit): { text: string; exact: string } {
  if (Number.isNaN(value)) return { text: "?", exact: "not known of this recording" };
  if (value === 0) return { text: "", exact: "0" };
  switch (unit) {
    case "bytes":
      return { text: size(value), exact: exactSize(value) };
    case "rate":
      return { text: `${size(value)}/s`, exact: `${exactSize(value)} per second` };
    case "time":
      return { text: duration(value), exact: `${count(value)} ns` };
    case "ratio":
      return { text: digits(value), exact: String(value) };
    case "count":
      return { text: value < 1e6 ? count(Math.round(value)) : `${digits(value / 1e6)} M`, exact: count(value) };
  }
}

function Lines(props: SourceProps) {
  const { reader, sheet } = props;
  const box = useRef<HTMLDivElement>(null);
  const scroll = useSignal(0);
  const view = useSignal(600);
  const current = reader.current.value;
  const wanted = reader.wanted.value;
  const rows = reader.length;

  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const sized = new ResizeObserver(() => (view.value = element.clientHeight));
    sized.observe(element);
    view.value = element.clientHeight;
    return () => sized.disconnect();
  }, []);

  useLayoutEffect(() => {
    const element = box.current;
    if (!element || !wanted) return;
    const index = reader.indexOf(wanted.line);
    const body = element.clientHeight - rowHeight; // the heading is always there
    const slice = sliceOf(element.scrollTop, body, rows, rowHeight);
    const top = slice.top + (index - slice.first) * rowHeight - element.scrollTop;
    if (top < 0 || top > body - 2 * rowHeight) element.scrollTop = scrollTo(index, body, rows, rowHeight);
    scroll.value = element.scrollTop;
  }, [wanted]);

  const press = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(view.value / rowHeight) - 2);
    const steps: Record<string, number> = {
      ArrowUp: -1,
      ArrowDown: 1,
      PageUp: -page,
      PageDown: page,
      Home: -rows,
      End: rows,
    };
    const step = steps[event.key];
    if (step !== undefined) reader.move(step);
    else if ((event.key === "Enter" || event.key === " ") && event.target === event.currentTarget && current > 0) {
      props.select(current);
    } else return;
    event.preventDefault();
  };

  const slice = sliceOf(scroll.value, view.value - rowHeight, rows, rowHeight);
  const shown = Array.from({ length: slice.count }, (_, i) => reader.at(slice.first + i));
  // The line numbers take as many characters as the last one has.
  const digitsOfLine = String(reader.at(rows - 1).line).length;
  return (
    <div
      ref={box}
      class="lines"
      role="grid"
      tabIndex={0}
      aria-label="lines"
      aria-rowcount={rows + 1}
      aria-activedescendant={current > 0 ? `line-${current}` : undefined}
      style={{ "--digits": Math.max(3, digitsOfLine) }}
      onScroll={(event) => (scroll.value = event.currentTarget.scrollTop)}
      onKeyDown={press}
      onFocus={(event) => {
        if (event.target === event.currentTarget && current === 0) reader.move(0);
      }}
    >
      <Heading sheet={sheet} />
      <div class="content" role="rowgroup" style={{ height: `${slice.height}px` }}>
        <div class="slice" style={{ transform: `translateY(${slice.top}px)` }}>
          {shown.map((line, i) => (
            <Line key={line.line} {...props} shown={line} index={slice.first + i} current={line.line === current} />
          ))}
        </div>
      </div>
    </div>
  );
}

function Heading({ sheet }: { sheet: Sheet }) {
  const [first] = sheet.columns;
  return (
    <div class="row heading" role="row" aria-rowindex={1}>
      <span class="margin" role="columnheader">
        line
      </span>
      {sheet.columns.map((column, i) => {
        const metric = metricOf(column.metric);
        return (
          <span key={column.metric} class={i > 0 ? "numbers extra" : "numbers"} role="columnheader">
            <span title={metric?.label}>{metric?.short ?? column.metric}</span>
            {column.hasSelf && <span class="quiet">self</span>}
          </span>
        );
      })}
      <span role="columnheader">
        {first && (
          <span class="quiet" title={metricOf(first.metric)?.label}>
            {cell(sheet.whole[0] ?? NaN, metricOf(first.metric)?.unit ?? "count").text || "0"}{" "}
            {metricOf(first.metric)?.label ?? first.metric} in this
            file, {percent(sheet.whole[0] ?? 0, sheet.all[0] ?? 0)} of all
          </span>
        )}
      </span>
    </div>
  );
}

/** The most calls that stand beside a line; the others are below, once it is selected. */
const callsBeside = 3;

function Line(props: SourceProps & { shown: ShownLine; index: number; current: boolean }) {
  const { reader, sheet, shown, current, selected } = props;
  const { line, row, text } = shown;
  const calls = sheet.calls.get(line) ?? [];
  const share = row >= 0 ? heat(sheet, row) : 0;
  const marks = text === undefined ? [] : places(text, reader.query.value);
  const classes = ["row", current && "current", selected === line && "selected"];
  const [first] = sheet.columns;
  return (
    <div
      id={`line-${line}`}
      class={classes.filter(Boolean).join(" ")}
      role="row"
      aria-rowindex={props.index + 2}
      aria-selected={selected === line}
      onClick={(event) => {
        if (event.target instanceof Element && event.target.closest("a")) return;
        if (String(getSelection()) !== "") return; // the reader marks text
        reader.current.value = line;
        props.select(line);
      }}
    >
      <span
        class={share > 0 ? "margin hot" : "margin"}
        role="rowheader"
        style={{ "--share": share }}
        title={share > 0 && first ? `${percent(first.total[row] ?? 0, first.largest)} of the largest line` : undefined}
      >
        {line}
      </span>
      {sheet.columns.map((column, i) => {
        const unit = metricOf(column.metric)?.unit ?? "count";
        const total = row >= 0 ? cell(column.total[row] ?? 0, unit) : undefined;
        const self = row >= 0 && column.hasSelf ? cell(column.self[row] ?? 0, unit) : undefined;
        return (
          <span key={column.metric} class={i > 0 ? "numbers extra" : "numbers"} role="gridcell">
            <span title={total?.text ? total.exact : undefined}>{total?.text}</span>
            {column.hasSelf && (
              <span class="quiet" title={self?.text ? self.exact : undefined}>
                {self?.text}
              </span>
            )}
          </span>
        );
      })}
      <span class="text" role="gridcell">
        {text !== undefined && <Code text={text} tokens={reader.tokens(line)} marks={marks} />}
        {calls.length > 0 && (
          <span class="calls">
            {calls.slice(0, callsBeside).map((call) => (
              <CallLink key={`${call.name} ${call.module}`} call={call} go={props.called(call)} limit={32} />
            ))}
            {calls.length > callsBeside && <span class="quiet">+{calls.length - callsBeside}</span>}
          </span>
        )}
      </span>
    </div>
  );
}

function CallLink({ call, go, limit }: { call: Call; go: Go; limit: number }) {
  const short = plainName(call.name);
  const title = visible(call.name).slice(0, 2000);
  if (!call.named) return <span title={title}>{shorten(visible(short), limit)}</span>;
  return (
    <GoLink go={go} title={title}>
      {/* The arrow is decoration: the link's name is the function's. */}
      <span aria-hidden="true">→ </span>
      <bdi>{shorten(visible(short), limit)}</bdi>
    </GoLink>
  );
}

/** A function without its parameters, its return type and the scopes around it. */
function plainName(name: string): string {
  const open = name.search(/\((?!anonymous)/);
  const head = open > 0 && !/operator$/.test(name.slice(0, open)) ? name.slice(0, open) : name;
  const bare = shorten(head, 40);
  const scope = /operator/.test(bare) ? -1 : bare.replace(/<[^<>]*>/g, (m) => "_".repeat(m.length)).lastIndexOf("::");
  return scope >= 0 ? bare.slice(scope + 2) : bare;
}

/** What the selected line calls, with numbers, and where it leads. */
function Selected({ sheet, selected, called, flame }: SourceProps) {
  if (selected === undefined) return null;
  const calls = sheet.calls.get(selected) ?? [];
  return (
    <footer class="selected-line" aria-label={`line ${selected}`}>
      <p>
        <b>line {selected}</b> <GoLink go={flame(selected)}>its flame graph</GoLink>{" "}
        <span class="quiet">
          {calls.length > 0 && `calls ${plural(calls.length, "function")} that allocate`}
          {calls.length === 0 && (sheet.rows.includes(selected) ? "allocates itself" : "allocates nothing")}
        </span>
      </p>
      {calls.length > 0 && (
        <ul>
          {calls.map((call) => (
            <li key={`${call.name} ${call.module}`}>
              {sheet.columns.map(({ metric }, i) => {
                const { text, exact } = cell(call.values[i] ?? NaN, metricOf(metric)?.unit ?? "count");
                return (
                  <span key={metric} class={i > 0 ? "number extra" : "number"} title={`${exact} ${metric}`}>
                    {text || "0"}
                  </span>
                );
              })}
              {call.named ? (
                <GoLink go={called(call)}>
                  <Name text={call.name} limit={120} />
                </GoLink>
              ) : (
                <Name text={call.name} limit={120} />
              )}
              <span class="quiet">
                <Name text={base(call.module)} limit={32} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </footer>
  );
}

export interface ListProps {
  files: readonly Entry[];
  functions: readonly Entry[];
  moreFiles: number;
  moreFunctions: number;
  /** What all together have of the metric. */
  all: number;
  unit: Unit;
  /** The file that is shown. */
  file: string | undefined;
  match: Signal<string>;
  go: (entry: Entry) => Go;
}

/** The files and the functions, those that count most first. */
export function SourceList(props: ListProps) {
  const { match } = props;
  return (
    <nav class="source-list" aria-label="Files and functions">
      <input
        type="search"
        aria-label="files and functions whose names contain"
        placeholder="file or function"
        value={match.value}
        onInput={(event) => (match.value = event.currentTarget.value)}
      />
      <Entries {...props} title="Files" entries={props.files.filter(({ own }) => own)} more={0} />
      <Entries {...props} title="Functions" entries={props.functions.filter(({ own }) => own)} more={0} />
      <Entries
        {...props}
        title="Files of libraries"
        entries={props.files.filter(({ own }) => !own)}
        more={props.moreFiles}
      />
      <Entries
        {...props}
        title="Functions of libraries"
        entries={props.functions.filter(({ own }) => !own)}
        more={props.moreFunctions}
      />
      {props.files.length + props.functions.length === 0 && <p class="quiet">none has that in its name</p>}
    </nav>
  );
}

/** The name of a file without folders, or of a function without parameters. */
function shortName({ kind, name }: Entry): string {
  if (kind === "file") return visible(base(name)).slice(0, 200);
  const scoped = name.replaceAll("(anonymous namespace)::", "");
  const open = scoped.indexOf("(");
  return shorten(visible(open > 0 && !/operator$/.test(scoped.slice(0, open)) ? scoped.slice(0, open) : scoped), 60);
}

function Entries(props: ListProps & { title: string; entries: readonly Entry[]; more: number }) {
  const { entries, title, more } = props;
  if (entries.length === 0) return null;
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      <ul>
        {entries.map((entry) => {
          const { text, exact } = cell(entry.value, props.unit);
          const shown = entry.kind === "file" && entry.name === props.file;
          return (
            <li key={`${entry.name} ${entry.module}`} aria-current={shown ? "true" : undefined}>
              <GoLink go={props.go(entry)} title={visible(entry.name).slice(0, 2000)}>
                <bdi class="name">{shortName(entry)}</bdi>
              </GoLink>
              <span class="number" title={`${exact}, ${percent(entry.value, props.all)} of all`}>
                {text || "0"}
              </span>
            </li>
          );
        })}
      </ul>
      {more > 0 && <p class="quiet">{count(more)} more: write a part of the name above</p>}
    </section>
  );
}
