// The right side: what is picked, explained. Its numbers, where it is, how it was called, and how to go on.
import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { MetricName } from "../api.ts";
import {
  fold,
  rowsOf,
  type ByThread,
  type Details,
  type Excerpt,
  type MoreValues,
  type StackFrame,
  type Values,
} from "../model/details.ts";
import { count, digits, duration, exactSize, percent, plural, size } from "../model/format.ts";
import { Highlighter, languageOf } from "../model/highlight.ts";
import { metricOf, type Unit } from "../model/metrics.ts";
import { base, location, visible } from "../model/names.ts";
import type { PageName } from "../model/place.ts";
import type { Fault } from "../net/fault.ts";
import { Code } from "./code.tsx";
import { Bone } from "./figures.tsx";
import { GoLink, type Go } from "./go.tsx";
import { Name } from "./name.tsx";
import { Refusal } from "./states.tsx";

export interface DetailsProps {
  details: Details;
  /** Numbers that come later; undefined: they are on their way. */
  more: readonly (MoreValues | undefined)[];
  /** Undefined: not there yet. */
  threads: ByThread | undefined;
  /** Why there are none. */
  fault: Fault | undefined;
  /** Undefined: not there yet; null: there is none. */
  excerpt: Excerpt | undefined | null;
  /** Of which moment live bytes are: "at 12.4 s", "at the end". */
  moment: string;
  /** What the page counts first. */
  lead: MetricName;
  /** The other pages about the same. */
  open: (page: PageName) => Go;
  /** A place on the source page. */
  source: (file: string, line: number) => Go;
  /** The link that opens the editor; undefined: it cannot. */
  editor: (file: string, line: number) => string | undefined;
  /** Picks a frame of the call stack. */
  pick: (frame: StackFrame) => void;
  /** Counts only what a thread allocated. */
  only: (thread: string) => void;
}

export function DetailsView(props: DetailsProps) {
  const { details: d } = props;
  return (
    <div class="details">
      <header>
        <h2>
          <Name text={d.name} limit={160} />
        </h2>
        <p class="quiet" title={visible(d.module).slice(0, 1000)}>
          <Name text={base(d.module)} limit={40} />
        </p>
        <PlaceLine {...props} />
      </header>
      <Numbers details={d} more={props.more} moment={props.moment} lead={props.lead} />
      <Threads by={props.threads} fault={props.fault} name={d.name} lead={props.lead} only={props.only} />
      <Stack {...props} />
      <Around {...props} />
      <nav aria-label="open in">
        <h3>Open in</h3>
        <p class="opens">
          {pages.map(({ page, title }) => (
            <GoLink key={page} go={props.open(page)}>
              {title}
            </GoLink>
          ))}
        </p>
      </nav>
    </div>
  );
}

const pages: readonly { page: PageName; title: string }[] = [
  { page: "flame", title: "Flame graph" },
  { page: "table", title: "Table" },
  { page: "tree", title: "Tree" },
  { page: "source", title: "Source" },
  { page: "leaks", title: "Leaks" },
];

function PlaceLine({ details: d, source, editor }: DetailsProps) {
  if (d.file === "") return <p class="quiet">its source lines are not known</p>;
  const link = editor(d.file, d.line);
  return (
    <p>
      <GoLink go={source(d.file, d.line)} title={visible(d.file).slice(0, 1000)}>
        <Name text={location(d.file, d.line)} limit={60} />
      </GoLink>
      {link !== undefined && (
        <>
          {" · "}
          <a href={link}>open in editor</a>
        </>
      )}
    </p>
  );
}

interface NumbersProps {
  details: Details;
  more: readonly (MoreValues | undefined)[];
  moment: string;
  lead: MetricName;
}

function Numbers({ details: d, more, moment, lead }: NumbersProps) {
  const total: Values = Object.assign({}, d.total, ...more.map((values) => values?.total));
  const self: Values = Object.assign({}, d.self, ...more.map((values) => values?.self));
  const all = more.every((values) => values !== undefined);
  const known = rowsOf(lead, total, moment).filter(({ metric }) => metric in total || !all);
  // A function that allocates nothing itself, or calls nothing that does, needs no second column.
  const both = known.some(({ metric }) => {
    const [t = 0, s = 0] = [total[metric], self[metric]];
    return s > 0 && s !== t;
  });
  return (
    <table class="numbers">
      <thead class={both ? "" : "hidden"}>
        <tr>
          <th scope="col">in the selection</th>
          <th scope="col" class="number">
            total
          </th>
          {both && (
            <th scope="col" class="number">
              self
            </th>
          )}
        </tr>
      </thead>
      <tbody>
        {known.map(({ metric, label, unit, warm }) => (
          <tr key={metric}>
            <th scope="row">{label}</th>
            <Value value={total[metric]} of={d.whole[metric]} unit={unit} warm={warm ?? false} />
            {both && <Value value={self[metric]} of={d.whole[metric]} unit={unit} warm={false} />}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** A number, and in its hint the exact value and its share of the whole; undefined: it is on its way. */
function Value(props: {
  value: number | undefined;
  of: number | undefined;
  unit: Unit;
  warm: boolean;
}) {
  const { value, of, unit } = props;
  if (value === undefined) {
    return (
      <td class="number">
        <Bone width="60%" />
      </td>
    );
  }
  if (Number.isNaN(value)) {
    return (
      <td class="number quiet" title="not known of this recording">
        ?
      </td>
    );
  }
  const [text, exact] = textOf(value, unit);
  const share = of !== undefined && of > 0 && unit !== "time" ? `, ${percent(value, of)} of all` : "";
  return (
    <td class={props.warm && value > 0 ? "number wrong" : "number"} title={exact + share}>
      {text}
    </td>
  );
}

/** A value as it is shown, and in full. */
function textOf(value: number, unit: Unit): [text: string, exact: string] {
  switch (unit) {
    case "bytes":
      return [size(value), exactSize(value)];
    case "rate":
      return [`${size(value)}/s`, `${exactSize(value)} per second`];
    case "time":
      return [duration(value), `${count(value)} ns`];
    case "ratio":
      return [digits(value), String(value)];
    case "count":
      return [short(value), count(value)];
  }
}

/** Counts are in full as long as they fit; estimates may have fractions. */
function short(n: number): string {
  const whole = Math.round(n);
  return whole < 100_000_000 ? count(whole) : `${digits(n / 1e6)} M`;
}

interface ThreadsProps {
  by: ByThread | undefined;
  fault: Fault | undefined;
  name: string;
  lead: MetricName;
  only: (thread: string) => void;
}

function Threads({ by, fault, name, lead, only: choose }: ThreadsProps) {
  if (fault || !by) {
    return (
      <section>
        <h3>By thread</h3>
        {fault ? <Refusal fault={fault} /> : <Bone width="80%" />}
      </section>
    );
  }
  if (by.of === "unnamed") return null;
  const all = by.whole;
  const about = by.estimated ? "≈ " : "";
  return (
    <section>
      <h3>
        By thread{" "}
        {by.counted !== lead && <span class="quiet">{metricOf(by.counted)?.label ?? by.counted}</span>}
        {by.estimated && (
          <span class="quiet" title="estimated from a part of the events; all are being counted">
            {" "}
            estimated
          </span>
        )}
      </h3>
      {by.threads.length === 0 && <p class="quiet">No thread allocated anything of it.</p>}
      {by.threads.length > 0 && by.of !== "picked" && (
        <p class="quiet">
          Of all call stacks through <Name text={name} limit={60} />.
        </p>
      )}
      <table class="numbers">
        <tbody>
          {by.threads.map(({ name, only, value }, i) => (
            <tr key={i}>
              <th scope="row">
                <button type="button" class="plain function" title="only this thread" onClick={() => choose(only)}>
                  <Name text={name} limit={32} />
                </button>
              </th>
              <td class="bar" aria-hidden="true">
                <i style={{ width: `${all > 0 ? Math.max(0, (100 * value) / all) : 0}%` }} />
              </td>
              <td class="number">{all > 0 ? about + percent(value, all) : ""}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {by.more > 0 && <p class="quiet">and {plural(by.more, "thread")} more</p>}
    </section>
  );
}

function Stack({ details: d, source, pick }: DetailsProps) {
  const open = useSignal<ReadonlySet<number>>(new Set());
  // Another stack begins folded again.
  const of = useMemo(() => {
    open.value = new Set();
    return d.stack;
  }, [d.stack]);
  if (of.length === 0) return null;
  const { value, stacks, counted } = d.share;
  const whole = d.total[counted] ?? 0;
  return (
    <section>
      <h3>
        {stacks > 1 ? "Largest call stack" : "Call stack"}
        {stacks > 1 && (
          <span class="quiet" title={`of ${plural(stacks, "call stack")}, by ${metricOf(counted)?.label ?? counted}`}>
            {percent(value, whole)}
          </span>
        )}
      </h3>
      <ol class="stack">
        {fold(of, d.at, open.value).map((f) =>
          f.kind === "fold" ? (
            <li key={f.index}>
              <button
                type="button"
                class="fold"
                aria-expanded="false"
                title={f.frames.map(({ name }) => visible(name)).join("\n").slice(0, 2000)}
                onClick={() => (open.value = new Set([...open.value, f.index]))}
              >
                <bdi>{visible(f.label)}</bdi>
              </button>
            </li>
          ) : (
            <li key={f.index} aria-current={f.index === d.at ? "true" : undefined}>
              <button type="button" class={f.strong ? "frame-name strong" : "frame-name"} onClick={() => pick(f.frame)}>
                <Name text={f.frame.name} limit={80} />
              </button>{" "}
              {f.frame.file !== "" && (
                <GoLink go={source(f.frame.file, f.frame.line)} title={visible(f.frame.file).slice(0, 1000)}>
                  <Name text={location(f.frame.file, f.frame.line)} limit={32} />
                </GoLink>
              )}
            </li>
          ),
        )}
      </ol>
    </section>
  );
}

/** A few lines of source around the place. */
function Around({ details: d, excerpt, source }: DetailsProps) {
  const lines = useMemo(
    () => (excerpt ? new Highlighter(excerpt.lines, languageOf(excerpt.file)) : undefined),
    [excerpt],
  );
  if (d.file === "" || excerpt === null) return null;
  if (!excerpt || !lines) {
    return (
      <section>
        <h3>Source</h3>
        <Bone width="80%" />
      </section>
    );
  }
  return (
    <section>
      <h3>Source</h3>
      {excerpt.newer ? (
        <p class="wrong" title={visible(excerpt.note).slice(0, 2000)}>
          Changed after the program was recorded: its lines may have moved.
        </p>
      ) : (
        excerpt.note && (
          <p class="quiet">
            <bdi>{visible(excerpt.note)}</bdi>
          </p>
        )
      )}
      {excerpt.lines.length > 0 && (
        <ol class="excerpt">
          {excerpt.lines.map((text, i) => {
            const line = excerpt.first + i;
            return (
              <li key={line} class={line === d.line ? "line at" : "line"}>
                <GoLink go={source(excerpt.file, line)}>{line}</GoLink>
                <Code text={text} tokens={lines.tokens(i)} />
              </li>
            );
          })}
        </ol>
      )}
    </section>
  );
}
