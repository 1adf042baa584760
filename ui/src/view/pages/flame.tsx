// The flame graph of the app: asks for trees, has the worker lay them out, and puts what the reader does into the
// address.
import { signal, untracked, useSignal, type Signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { App, Asked, Selected } from "../../app.ts";
import type { ByName, MetricName } from "../../api.ts";
import { decode } from "../../columns.ts";
import { commandOf, type Values } from "../../model/commands.ts";
import { diffCommand, lacking, sidesOf, type DiffParameters } from "../../model/compare.ts";
import { filtersOf, literally, wrongIn } from "../../model/filters.ts";
import { legend, modes, palette, type ColourMode } from "../../model/flame/colour.ts";
import { numbered, parseEdit } from "../../model/flame/edits.ts";
import { Frames } from "../../model/flame/frames.ts";
import type { Laid } from "../../model/flame/job.ts";
import type { Order } from "../../model/flame/layout.ts";
import { markdownOf } from "../../model/flame/markdown.ts";
import type { Found } from "../../model/flame/search.ts";
import type { Tree } from "../../model/flame/tree.ts";
import { countedOf, groupings, neededFor, shapes, titleOf, wantedOf } from "../../model/flame/wanted.ts";
import type { Shape, Wanted } from "../../model/flame/wanted.ts";
import type { Shown, Task } from "../../model/follower.ts";
import { count, digits, duration, exactSize, percent, plural, shortCount, size } from "../../model/format.ts";
import { atOf, labelAt, metricOf, type Unit } from "../../model/metrics.ts";
import { base } from "../../model/names.ts";
import { formatPlace, type Place } from "../../model/place.ts";
import { changeOf, type Transform } from "../../model/transforms.ts";
import { pathOf } from "../../net/ask.ts";
import { estimable, isEstimated, needsEvents } from "../../model/estimate.ts";
import { exactNodes, flameOf, flamesOf, roughNodes, type FlameAnswer, type TreeParameters } from "../../net/flame.ts";
import { startWorker } from "../../net/trusted.ts";
import { Drawer } from "../../worker/drawer.ts";
import { copyText } from "../copy.ts";
import type { FlameHandle, Picked } from "../flame-shown.ts";
import { FlameGraph } from "../flame.tsx";
import { Answered, useActions, useEstimate, useOrder, usePart } from "../part.tsx";
import { saveBlob } from "../picture.ts";
import { EmptyBox } from "../states.tsx";
import { WaysBack } from "../ways-back.tsx";

const drawer = new Drawer(() => startWorker("/flame-worker.js"));

function parametersOf({ place, filters, rough }: Selected): TreeParameters {
  const { shape, by, metric, colour } = wantedOf(place, filters);
  const parameters: TreeParameters = { ...filters, metric: colour === "age" ? [metric, "mean-lifetime"] : [metric] };
  Object.assign(parameters, atOf(place, [metric]));
  if (by !== "function") parameters.by = by;
  if (shape === "bottom-up" || (shape === "difference" && place.up)) parameters.up = true;
  if (shape === "sandwich" && place.of !== undefined) parameters.of = place.of;
  else if (place.below.length > 0) parameters.below = [...place.below];
  parameters.nodes = rough ? roughNodes : exactNodes;
  parameters.threshold = leastShare(by, rough);
  if (rough) parameters.rough = "pixel";
  return parameters;
}

/**
 * Below which share of the whole frames are left out: those that nobody would see, and in a drag those of a pixel. Of
 * threads and regions there may be thousands, each with little of the whole: they fill the picture together.
 */
function leastShare(by: ByName, rough: boolean): string {
  if (by === "thread" || by === "region") return "0";
  return rough ? "0.1%" : "0.02%";
}

/** What is selected, without what the reader drags: the server joins two recordings once a range is chosen. */
function settledOf(selected: Selected): Selected {
  return { ...selected, filters: filtersOf(selected.place), rough: false };
}

/** The same question about both sides. */
function diffParametersOf({ place, filters }: Selected): DiffParameters & { tree: true } {
  const { by, metric, compared } = wantedOf(place, filters);
  return {
    ...(compared && sidesOf(place, compared, filters)),
    tree: true,
    unchanged: true,
    by,
    metric: [metric],
    ...(place.up && { up: true }),
    ...(place.below.length > 0 && { below: [...place.below] }),
    nodes: exactNodes,
    threshold: leastShare(by, false),
  };
}

/** An answer, what it is the answer to, and that of the range to compare with. */
interface Answer extends FlameAnswer, Wanted {
  earlier: Tree | undefined;
  parameters: TreeParameters;
}

let shared: { recording: string; frames: Frames } | undefined;

/** The frames of a recording: those of answers that were there before, too. */
function framesOf(recording: string): Frames {
  if (shared?.recording !== recording) shared = { recording, frames: new Frames() };
  return shared.frames;
}

/** The same question, answered by an estimate. */
function estimateFor(app: App, selected: Selected): Task<Answer> | undefined {
  const { place, filters } = selected;
  const { by, metric, colour, compared } = wantedOf(place, filters);
  const events = app.about.shown.value?.value.events;
  if (selected.rough || compared || colour === "age" || estimable([metric]).length === 0) return undefined;
  return isEstimated(place, by, events) ? taskFor(selected, true) : undefined;
}

/** What is shown: an estimate until the answer is there. */
function nowShown(app: App, first: Shown<Answer> | undefined, answer: Shown<Answer> | undefined) {
  if (!first || app.brush.value !== undefined) return answer;
  const selected = app.selection();
  const wanted = taskFor(selected).key;
  return answer?.task.key !== wanted && first.task.key === estimateFor(app, selected)?.key ? first : answer;
}

function taskFor(selected: Selected, estimate = false): Task<Answer> {
  const { place, recording, filters } = selected;
  const frames = framesOf(recording);
  const wanted = wantedOf(place, filters);
  const parameters = parametersOf(selected);
  if (estimate) parameters.rough = "pixel";
  const mean = wanted.colour === "age" ? "mean-lifetime" : undefined;
  const path = pathOf(recording, "tree", parameters as Values);
  let other: string | undefined;
  const { compared } = wanted;
  if (compared && (compared.with.length > 0 || compared.also.length > 0 || place.scale)) {
    // What is the same in two recordings, the server knows.
    const diff = diffParametersOf(settledOf(selected));
    const question = pathOf(recording, "diff", diff as Values);
    return {
      base: recording,
      key: `${question} ${wanted.colour}`,
      run: async (ask) => {
        const answer = decode<Parameters<typeof flamesOf>[0]>(await ask(question)).answer;
        return { ...flamesOf(answer, frames, wanted.metric), ...wanted, parameters };
      },
    };
  }
  if (compared) {
    const { from: _, to: __, ...rest } = parameters;
    const { from, to } = compared.before;
    const range = { ...(from !== undefined && { from }), ...(to !== undefined && { to }) };
    other = pathOf(recording, "tree", { ...rest, ...range } as Values);
  }
  return {
    base: recording,
    key: `${path} ${other ?? ""} ${wanted.colour}`,
    run: async (ask) => {
      const read = async (from: string) => {
        return flameOf(decode<Parameters<typeof flameOf>[0]>(await ask(from)).answer, frames, wanted.metric, mean);
      };
      const answer = await read(path);
      const earlier = other === undefined ? undefined : (await read(other)).tree;
      return { ...answer, ...wanted, earlier, parameters };
    },
  };
}

/** Asks for the flame graph, which most readers look at next, unless that would take all events. */
export async function askAhead(app: App): Promise<void> {
  const selected = app.selection();
  const { compared } = wantedOf(selected.place, selected.filters);
  const counted = needsEvents(selected.place) || estimateFor(app, selected) !== undefined;
  if (!compared && !counted) await app.ahead("flame", taskFor(selected));
}

export function Flame({ app }: { app: App }) {
  const frames = framesOf(app.place.value.recording ?? "");
  const part = useMemo(() => app.remembering<Answer>("flame"), [app]);
  const ordered = useOrder(app);
  const first = usePart<Answer>(app, "flame-quick", (selected) => {
    const task = estimateFor(app, selected);
    return task && ordered.first(task, taskFor(selected).key);
  });
  useEffect(() => drawer.start(), []);
  useLayoutEffect(() => {
    const stop = app.put(part, (selected) => {
      const values = parametersOf(selected) as Values;
      const { compared } = wantedOf(selected.place, selected.filters);
      const asked: Asked = { question: "tree", values, part };
      if (compared) {
        const diff = diffParametersOf(settledOf(selected));
        asked.question = "diff";
        asked.values = diff as Values;
        asked.command = (run, recording) => {
          return diffCommand(app.runs.shown.value?.value ?? [], run, recording, compared, diff);
        };
      }
      untracked(() => (app.asked.value = asked)); // at once: later, it might belong to the page before
      const task = taskFor(selected);
      if (selected.rough || compared || !needsEvents(selected.place)) return task;
      const run: typeof task.run = async (ask) => {
        await ordered.before(task.key);
        return task.run(ask);
      };
      return { ...task, run };
    });
    return () => {
      stop();
      if (app.asked.peek()?.part === part) app.asked.value = undefined;
      part.clear();
    };
  }, [part]);
  const shown = nowShown(app, first.shown.value, part.shown.value);
  useEstimate(app, shown?.value.estimate);
  const handle = useRef<FlameHandle | undefined>(undefined);
  const found = useSignal<{ found: Found | undefined; current: number }>({ found: undefined, current: 0 });
  return (
    <div class="flame-page">
      <Bar app={app} found={found} handle={handle} part={shown?.value} />
      <Answered part={part} first={shown} skeleton={<div class="flame-skeleton" aria-hidden="true" />}>
        {(_, was) => {
          const { value, rough } = shown ?? was;
          return <Pictures app={app} frames={frames} answer={value} rough={rough} handle={handle} found={found} />;
        }}
      </Answered>
    </div>
  );
}

/** What is shown, by what, in which colours; search, and what can be taken away. */
function Bar(props: {
  app: App;
  part: Answer | undefined;
  found: Signal<{ found: Found | undefined; current: number }>;
  handle: { current: FlameHandle | undefined };
}) {
  const { app, found, handle } = props;
  const place = app.place.value;
  const { shape, by, colour } = wantedOf(place);
  const refused = useSignal<Shape | undefined>(undefined);
  const note = (refused.value && neededFor(refused.value, place)) ?? lacking(place);
  const choose = (name: Shape) => {
    refused.value = name === shape ? undefined : name;
    if (name !== shape && neededFor(name, place) !== undefined) return;
    const compare = false;
    if (name === "sandwich") return app.change({ shape: "sandwich", of: place.of ?? lastPicked(place), compare });
    if (name === "difference") return app.change({ compare: true });
    const up = name === "bottom-up";
    return app.change({ shape: undefined, compare, up, ...(up !== place.up && { below: [] }) });
  };
  return (
    <div class="flame-bar">
      <div class="choices" role="group" aria-label="shape">
        {shapes.map((name) => (
          <button
            key={name}
            type="button"
            aria-pressed={name === shape}
            aria-disabled={name !== shape && neededFor(name, place) !== undefined}
            title={neededFor(name, place)}
            onClick={() => choose(name)}
          >
            {name}
          </button>
        ))}
      </div>
      <Choice label="by" value={by} values={groupings} set={(value) => app.change({ by: value })} />
      {shape !== "difference" && (
        <Choice
          label="order"
          value={place.order === "time" ? "time" : "size"}
          values={["size", "time"]}
          set={(value) => app.change({ order: value === "size" ? undefined : value })}
        />
      )}
      <Choice
        label="colour"
        value={colour}
        values={shape === "difference" ? ["growth"] : modes.filter((mode) => mode !== "growth")}
        set={(value) => {
          // Threads have colours where they are the first level of the tree.
          app.change({ colour: value === "module" ? undefined : value, ...(value === "thread" && { by: "thread" }) });
        }}
      />
      <Search app={app} found={found} handle={handle} total={props.part?.tree.total[0] ?? 0} />
      <Legend colour={colour} />
      <span class="flame-takes">
        <Take app={app} action="flame.table" title="as table" />
        <Take app={app} action="flame.markdown" title="copy as Markdown" />
        <Take app={app} action="flame.png" title="PNG" />
      </span>
      <p class="flame-note" role="status" hidden={!note}>
        {note}
      </p>
    </div>
  );
}

/** A button that does what an action does. */
function Take({ app, action, title }: { app: App; action: string; title: string }) {
  return (
    <button type="button" class="plain" onClick={() => app.actions.run(action)}>
      {title}
    </button>
  );
}

function lastPicked(place: Place): string | undefined {
  const name = place.picked.at(-1);
  return name === undefined ? undefined : literally(name);
}

function Choice<T extends string>(props: { label: string; value: T; values: readonly T[]; set: (value: T) => void }) {
  const { label, value, values, set } = props;
  return (
    <label class="choose">
      {label}{" "}
      <select
        value={value}
        onChange={(event) => {
          const chosen = values.find((one) => one === event.currentTarget.value);
          if (chosen !== undefined) set(chosen);
        }}
      >
        {values.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
    </label>
  );
}

function Search(props: {
  app: App;
  found: Signal<{ found: Found | undefined; current: number }>;
  handle: { current: FlameHandle | undefined };
  total: number;
}) {
  const { app, handle, total } = props;
  const field = useRef<HTMLInputElement>(null);
  const text = app.place.value.search ?? "";
  const wrong = useMemo(() => wrongIn(text), [text]);
  const { found, current } = props.found.value;
  useActions(app, { "find.here": () => field.current?.select() });
  const key = (event: KeyboardEvent) => {
    if (event.key === "Enter") handle.current?.match(!event.shiftKey);
    else if (event.key === "Escape") {
      app.change({ search: undefined }, "replace");
      field.current?.blur();
    } else return;
    event.preventDefault();
  };
  const at = found ? found.boxes.indexOf(current) : -1;
  return (
    <span class="search">
      <input
        ref={field}
        type="search"
        aria-label="search: a regular expression"
        placeholder="search (regular expression)"
        value={text}
        aria-invalid={wrong !== ""}
        onInput={(event) => app.change({ search: event.currentTarget.value || undefined }, "replace")}
        onKeyDown={key}
      />
      <span role="status" class={wrong ? "wrong" : "quiet"}>
        {wrong ||
          (found &&
            `${at >= 0 ? `${count(at + 1)} of ` : ""}${matches(found.boxes.length)} · ${percent(found.total, total)}`)}
      </span>
    </span>
  );
}

function matches(n: number): string {
  return n === 0 ? "no match" : plural(n, "match");
}

function Legend({ colour }: { colour: ColourMode }) {
  const dark = useDark();
  return (
    <ul class="legend wide" aria-label="colours">
      {legend(colour, palette(dark)).map(({ fill, means }) => (
        <li key={means}>
          <i style={{ background: fill }} /> {means}
        </li>
      ))}
    </ul>
  );
}

/** Whether the page is dark now. */
function useDark(): boolean {
  const { colorScheme } = getComputedStyle(document.documentElement);
  return colorScheme === "dark" || (colorScheme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
}

/** The picture; of a function with its callers and callees, two. */
function Pictures(props: {
  app: App;
  frames: Frames;
  answer: Answer;
  rough: boolean;
  handle: { current: FlameHandle | undefined };
  found: Signal<{ found: Found | undefined; current: number }>;
}) {
  const { app, frames, answer, rough, handle, found } = props;
  const { tree, callers } = answer;
  const place = app.place.value;
  const callees = useRef<FlameHandle | undefined>(undefined);
  const upper = useRef<FlameHandle | undefined>(undefined);
  const active = () => handle.current ?? callees.current;
  const opened = useMemo(() => signal<ReadonlySet<number>>(new Set()), []);
  const grafts = useGrafts(app, frames, answer, rough);
  useFlameActions(app, active, () => copyMarkdown());

  const order: Order = rough ? "keep" : place.order === "time" ? "time" : "size";
  const job = (of: Tree) => ({
    tree: of,
    before: answer.earlier,
    grafts: grafts.list,
    edits: numbered(place.collapse.flatMap((one) => parseEdit(one) ?? []), frames, place.below),
    kinds: place.unfolded || answer.by === "module" ? undefined : Uint8Array.from(frames.kinds),
    opened: Float64Array.from(opened.value),
    order,
  });
  const depends = [answer, grafts.list, place.collapse.join("\n"), place.unfolded, order, opened.value];
  const lower = useLaid("callees", answer, tree, job, depends);
  const above = useLaid("callers", answer, callers, job, depends);

  const seen = lower?.answer ?? answer;
  const text = useFormats(seen.metric);
  const program = app.chosen ? app.chosen.recording.command : "everything";
  const named = seen.root === undefined ? undefined : frames.names[seen.root];
  const root = seen.shape === "sandwich" ? readableOf(seen.parameters.of) : (named ?? base(program));
  const label = labelAt(seen.metric, place, app.clock);
  const title = `${titleOf(seen)}, ${label}`;

  function copyMarkdown(): void {
    const picture = active()?.seen();
    const chosen = app.chosen;
    if (!picture || !chosen) return;
    const { laid, view } = picture;
    const described = {
      title: `${root}: ${title}`,
      command:
        app.asked.value?.command?.(chosen.run, chosen.recording) ??
        commandOf(chosen.run, chosen.recording, "tree", seen.parameters as Values),
      link: location.origin + formatPlace(place),
      nameOf: (node: number) => nameOf(laid, node, frames, root),
      format: text.format,
    };
    void copyText(markdownOf(laid, view, described), "Markdown");
  }

  if (tree.total[0] === 0 && answer.earlier === undefined) {
    return <Nothing app={app} metric={answer.metric} />;
  }
  const common = {
    answer: seen,
    rough,
    frames,
    root: `${root} · ${countedOf(seen, label)}`,
    colour: seen.colour,
    longest: app.about.shown.value?.value.end_ns ?? 1e9,
    match: wrongIn(place.search ?? "") === "" ? (place.search ?? "") : "",
    below: place.below,
    picked: place.picked,
    ...text,
    onPick: (picked: Picked | undefined) => app.change({ picked: picked?.texts ?? [] }, "replace"),
    onHover: (frame: number | undefined) => {
      const name = frames.functions[frame ?? 0] ?? "";
      const module = frames.modules[frame ?? 0] ?? "";
      app.hovered.value = name === "" ? undefined : { function: name, module };
    },
    onTransform: (transform: Transform) => app.change(changeOf(app.place.peek(), transform)),
    onRun: (run: number) => {
      const next = new Set(opened.value);
      if (!next.delete(run)) next.add(run);
      opened.value = next;
    },
    entries: (picked: Picked) => entriesOf(app, frames, picked),
    onCopy: (stack: string) => void copyText(stack, "call stack"),
  };
  return (
    <>
      {place.metric[0] !== undefined && place.metric[0] !== answer.metric && (
        <p class="quiet">
          {metricOf(place.metric[0])?.adds
            ? "What has changed over a range is counted in live bytes"
            : `The metric “${metricOf(place.metric[0])?.label ?? place.metric[0]}” does not add up over callees`}
          : this is “{metricOf(answer.metric)?.label}”.
        </p>
      )}
      {callers && above && (
        <FlameGraph
          {...common}
          laid={above.laid}
          title={`callers, ${title}`}
          upwards
          paths="part"
          onWant={nothing}
          onFound={nothing}
          handle={(h) => (upper.current = h)}
        />
      )}
      {lower && (
        <FlameGraph
          {...common}
          laid={lower.laid}
          title={title}
          paths={seen.shape === "sandwich" ? "part" : seen.parameters.up ? "up" : "down"}
          onWant={grafts.want}
          onFound={(all, current) => (found.value = { found: all, current })}
          handle={(h) => (callees.current = handle.current = h)}
        />
      )}
    </>
  );
}

const nothing = () => {};

function nameOf(laid: Laid, node: number, frames: Frames, root: string): string {
  if (node === 0) return root;
  const within = laid.within[node]!;
  return within > 0 ? plural(within, "library frame") : (frames.names[laid.tree.frame[node]!] ?? "");
}

/** A pattern that means one function, as its name. */
function readableOf(pattern: string | undefined): string {
  return (pattern ?? "").replace(/^\^|\$$/g, "").replace(/\\(.)/g, "$1");
}

/** Why there is no picture, and what leads to one. */
function Nothing({ app, metric }: { app: App; metric: MetricName }) {
  const counted = metricOf(metric)?.label ?? metric;
  return (
    <EmptyBox
      why={`Nothing that is selected counts: ${counted}.`}
      command={metric.startsWith("mapped") ? "heaptap run --maps ./program" : undefined}
    >
      <WaysBack app={app} />
    </EmptyBox>
  );
}

/** How values of a metric are written. */
function useFormats(metric: MetricName) {
  return useMemo(() => {
    const unit: Unit = metricOf(metric)?.unit ?? "count";
    const format: Record<Unit, (value: number) => string> = {
      bytes: size,
      count: shortCount,
      time: duration,
      rate: (value) => `${size(value)}/s`,
      ratio: digits,
    };
    const exact: Record<Unit, (value: number) => string> = {
      ...format,
      bytes: exactSize,
      count,
      rate: (value) => `${exactSize(Math.round(value))} per second`,
    };
    return { format: format[unit], exact: exact[unit] };
  }, [metric]);
}

/** A picture, and the answer that it was made of. */
interface Drawn {
  laid: Laid;
  answer: Answer;
}

/** A picture that the worker lays out. The one before stays until it is there, with its own answer. */
function useLaid(
  name: string,
  answer: Answer,
  tree: Tree | undefined,
  job: (tree: Tree) => Parameters<Drawer["lay"]>[1],
  depends: readonly unknown[],
): Drawn | undefined {
  const drawn = useMemo(() => signal<Drawn | undefined>(undefined), []);
  const wanted = useRef(false);
  wanted.current = tree !== undefined;
  useEffect(() => {
    if (!tree) drawn.value = undefined;
    else {
      drawer.lay(name, job(tree), (laid) => {
        if (wanted.current) drawn.value = { laid, answer };
      });
    }
  }, [tree, ...depends]);
  useEffect(() => () => void (wanted.current = false), []);
  return drawn.value;
}

interface Grafts {
  list: { path: number[]; tree: Tree }[];
  want: (path: readonly number[], texts: readonly string[]) => void;
}

/** At most so many nodes are added to an answer; then the oldest go. */
const mostGrafted = 100_000;

/** Subtrees that are asked for as the reader zooms into them. */
function useGrafts(app: App, frames: Frames, answer: Answer, rough: boolean): Grafts {
  const part = useMemo(() => app.follower<FlameAnswer>("flame-below"), [app]);
  const state = useMemo(() => signal<{ answer: Answer; list: Grafts["list"] }>({ answer, list: [] }), []);
  useEffect(() => () => part.clear(), [part]);
  useEffect(() => part.clear(), [part, answer]);
  const list = state.value.answer === answer ? state.value.list : noGrafts;
  const want: Grafts["want"] = (path, texts) => {
    if (rough || answer.earlier || answer.shape === "sandwich") return;
    const { recording } = app.place.peek();
    if (recording === undefined) return;
    const mean = answer.colour === "age" ? "mean-lifetime" : undefined;
    const question = pathOf(recording, "tree", { ...answer.parameters, below: texts } as Values);
    part.settle({
      base: recording,
      key: question,
      run: async (ask) => {
        const read = decode<Parameters<typeof flameOf>[0]>(await ask(question)).answer;
        const below = flameOf(read, frames, answer.metric, mean);
        // A name may mean several functions: then this is another one.
        if (below.root !== path.at(-1)) return below;
        const before = state.value.answer === answer ? state.value.list : [];
        const grown = [...before, { path: [...path], tree: below.tree }];
        let nodes = grown.reduce((sum, { tree }) => sum + tree.parent.length, 0);
        while (nodes > mostGrafted && grown.length > 1) nodes -= grown.shift()?.tree.parent.length ?? 0;
        state.value = { answer, list: grown };
        return below;
      },
    });
  };
  return { list, want };
}

const noGrafts: Grafts["list"] = [];

function entriesOf(app: App, frames: Frames, picked: Picked) {
  const name = frames.functions[picked.frame] ?? "";
  const list = [{ title: "Show the same as a table", run: () => app.change({ page: "table" }) }];
  if (name === "") return list;
  return [
    {
      title: "Callers and callees",
      hint: "of this function, wherever it is",
      run: () => app.change({ shape: "sandwich", of: literally(name), below: [] }),
    },
    ...list,
  ];
}

function useFlameActions(app: App, handle: () => FlameHandle | undefined, markdown: () => void): void {
  const step = (to: Parameters<FlameHandle["step"]>[0]) => () => handle()?.step(to);
  useActions(app, {
    "flame.caller": step("caller"),
    "flame.callee": step("callee"),
    "flame.left": step("left"),
    "flame.right": step("right"),
    "flame.root": step("root"),
    "flame.zoom": () => handle()?.zoomIn(),
    "flame.back": () => {
      if (handle()?.back() !== true) app.actions.run("timeline.back");
    },
    "flame.in": () => handle()?.zoomBy(0.5),
    "flame.out": () => handle()?.zoomBy(2),
    "flame.all": () => handle()?.reset(),
    "flame.up": () => handle()?.scroll(-12),
    "flame.down": () => handle()?.scroll(12),
    "flame.next": () => handle()?.match(true),
    "flame.previous": () => handle()?.match(false),
    "flame.menu": () => handle()?.menu(),
    "flame.copy": () => handle()?.copyStack(),
    "flame.markdown": markdown,
    "flame.png": () => void savePicture(handle()),
    "flame.table": () => app.change({ page: "table" }),
  });
}

async function savePicture(handle: FlameHandle | undefined): Promise<void> {
  const blob = await handle?.png();
  if (blob) saveBlob(blob, "flame-graph.png");
}

