// Sizes: how the sizes and the lifetimes of blocks are distributed, and heat maps of two of these at once. Each bar and
// each cell filters by what it counts.
import { useRef } from "preact/hooks";
import type { ComponentChildren } from "preact";
import type { App } from "../../app.ts";
import type { About, Hist } from "../../api.ts";
import { isEstimated } from "../../model/estimate.ts";
import { filtersOf, type Filters } from "../../model/filters.ts";
import { count, exactSize, percent, plural, shortCount, size } from "../../model/format.ts";
import { visible } from "../../model/names.ts";
import type { Place } from "../../model/place.ts";
import {
  ageFilter,
  ageName,
  before,
  choiceOf,
  countCell,
  flameOf,
  heatWords,
  isChosen,
  sizeCell,
  sizeFilter,
  sizeMetricOf,
  sizeMetrics,
  sizeName,
  sizesOf,
  slackShare,
  summaryOf,
  toggled,
  type Cell,
  type Choice,
  type Heat,
  type SizeMetric,
  type Sizes as SizesAnswer,
} from "../../model/sizes.ts";
import { timeText } from "../../model/time.ts";
import { taskOf, type Question } from "../../net/ask.ts";
import { Bone } from "../figures.tsx";
import { Answered, useActions, useEstimate, useMainPart, useOrder, usePart } from "../part.tsx";
import { HeatMap } from "../parts/heat.tsx";
import { PlaceLink } from "../link.tsx";
import { EmptyBox, FaultBox } from "../states.tsx";
import { WaysBack } from "../ways-back.tsx";

const mostExact = 20;

/**
 * It does not follow a drag: it needs all events of the range. Where events before some time were folded, it is about
 * the time since, unless the reader asks for another.
 */
function questionOf(place: Place, about: About): Question<"hist", SizesAnswer> {
  const filters = filtersOf(place);
  if (about.folded && filters.from === undefined) filters.from = timeText(about.from_ns);
  return {
    name: "hist",
    parameters: { ...filters, heat: ["time", "lifetime", "reallocs"], limit: mostExact },
    read: (answer: Hist) => sizesOf(answer),
  };
}

/**
 * The classes of the whole run are there at once: its statistics have them. Those of a selection need its events: of
 * many events, they are estimated from some.
 */
function firstQuestionOf(filters: Filters): Question<"hist", SizesAnswer> {
  const whole = Object.keys(filters).length === 0;
  const heat: ("time" | "lifetime")[] = whole ? [] : ["time", "lifetime"];
  return { name: "hist", parameters: { ...filters, heat, rough: "pixel" }, read: (answer: Hist) => sizesOf(answer) };
}

/** Whether the first question has an answer. */
function hasFirst(place: Place, filters: Filters, about: About | undefined): boolean {
  if (!about || about.merged || about.folded) return false;
  return Object.keys(filters).length === 0 || isEstimated(place, "size", about.events);
}

export function Sizes({ app }: { app: App }) {
  const about = app.about.shown.value?.value;
  const failed = app.about.wait.value;
  const order = useOrder(app);
  const first = usePart<SizesAnswer>(app, "sizes-first", ({ recording, filters, place, rough }) => {
    const known = app.about.shown.value?.value;
    if (rough || !known || !hasFirst(place, filters, known)) return undefined;
    const exact = taskOf(recording, questionOf(place, known));
    return order.first(taskOf(recording, firstQuestionOf(filters)), exact.key);
  });
  const part = useMainPart<"hist", SizesAnswer>(app, "sizes", ({ recording, place }) => {
    const known = app.about.shown.value?.value;
    if (!known || known.merged) return undefined;
    const question = questionOf(place, known);
    return { ...question, after: () => order.before(taskOf(recording, question).key) };
  });
  // An estimate takes the place of an exact answer to another question.
  const soon = first.shown.value;
  const waits = part.wait.value?.phase === "busy";
  const classes = part.shown.value && !(waits && soon?.value.estimate) ? undefined : soon?.value;
  useEstimate(app, classes?.estimate);
  if (failed?.phase === "failed") return <FaultBox fault={failed.fault} retry={() => app.about.retry()} />;
  if (about?.merged) {
    return (
      <EmptyBox
        why="This recording has the sums of several: the sizes and lifetimes of single blocks are not in it."
        command="heaptap hist FILE"
      />
    );
  }
  return (
    <div class="part sizes">
      {!about && skeleton}
      <Answered part={part} skeleton={classes ? null : skeleton}>
        {(answer) => (classes ? null : <Distributions app={app} answer={answer} about={about} />)}
      </Answered>
      {classes && <Classes app={app} answer={classes} />}
    </div>
  );
}

/** What the statistics of the run, or an estimate, say while events are read. */
function Classes({ app, answer }: { app: App; answer: SizesAnswer }) {
  const choose = (choice: Choice) => app.change(toggled(app.place.value, choice));
  const about = answer.estimate ? "about " : "";
  return (
    <>
      <section class="size-classes">
        <h2>
          Sizes{" "}
          <span class="quiet">
            of {about}
            {plural(answer.allocations, "allocation")}, by powers of two
          </span>
        </h2>
        <SizeBars app={app} answer={answer} metric="allocations" choose={choose} brief />
      </section>
      <section class="lifetimes">
        <h2>
          Lifetimes{" "}
          <span class="quiet">
            of {about}
            {plural(answer.deallocations, "freed block")}
          </span>
        </h2>
        <Ages app={app} answer={answer} choose={choose} />
      </section>
      {answer.heats.map((heat) => (
        <HeatMap
          key={heat.kind}
          heat={heat}
          words={heatWords(heat.kind, app.clock)}
          chosenBy={app.place.value}
          chosen={({ down, across }) => isChosen(app.place.value, choiceOf(heat, down, across))}
          choose={({ down, across }) => choose(choiceOf(heat, down, across))}
        />
      ))}
    </>
  );
}

const skeleton = (
  <div aria-hidden="true">
    {["90%", "70%", "82%", "64%", "76%", "58%", "70%", "48%"].map((width, i) => (
      <p key={i} class="sizes-bone">
        <Bone width={width} />
      </p>
    ))}
  </div>
);

function Distributions({ app, answer, about }: { app: App; answer: SizesAnswer; about: About | undefined }) {
  const place = app.place.value;
  const metric = sizeMetricOf(place);
  const rows = answer.sizes;
  const saveCsv = () => {
    const head = ["smallest", "largest", "allocations", "bytes", "live bytes", "live blocks", "slack"];
    const lines = rows.map((row) =>
      [row.min, row.max, row.allocations, row.bytes, row.live, row.liveBlocks, row.slack].map(String),
    );
    save([head, ...lines]);
  };
  useActions(app, { "rows.csv": saveCsv });
  // What the last click on a cell replaced: its second click leads back, though the cells are others by then.
  const last = useRef<{ heat: Heat["kind"]; choice: Choice; before: Choice } | undefined>(undefined);
  if (answer.allocations === 0 && answer.deallocations === 0) return <Nothing app={app} about={about} />;

  const choose = (choice: Choice) => app.change(toggled(app.place.value, choice));
  const chooseCell = (heat: Heat, { down, across }: Cell) => {
    const now = app.place.value;
    const back = last.current;
    if (back?.heat === heat.kind && isChosen(now, back.choice)) {
      last.current = undefined;
      return app.change(back.before);
    }
    const choice = choiceOf(heat, down, across);
    if (isChosen(now, choice)) return app.change(toggled(now, choice));
    last.current = { heat: heat.kind, choice, before: before(now, choice) };
    app.change(choice);
  };
  return (
    <>
      {about?.folded && place.from === undefined && (
        <p class="quiet">
          Events before {app.clock.moment(about.from_ns)} were folded to save disk: this is about the time since.
        </p>
      )}
      {answer.missing && (
        <p class="wrong">
          <bdi>{visible(answer.missing)}</bdi>
        </p>
      )}
      <p class="sizes-summary">
        <span class="count" title={plural(answer.allocations, "allocation")}>
          {summaryOf(answer)}
        </span>
        {" · "}
        <PlaceLink to={flameOf(place, {}, metric)} go={(to) => app.go(to)}>
          flame graph of all these
        </PlaceLink>
      </p>
      <section class="size-classes">
        <h2>
          Sizes <span class="quiet">requested bytes, by powers of two; click one to count only these blocks</span>
        </h2>
        <div class="sizes-tools">
          <MetricChoice metric={metric} choose={(name) => app.change({ order: name }, "replace")} />
          <button type="button" onClick={saveCsv}>
            Save as CSV
          </button>
        </div>
        <SizeBars app={app} answer={answer} metric={metric} choose={choose} />
      </section>
      <div class="pair">
        <section class="exact-sizes">
          <h2>
            Most frequent sizes{" "}
            {answer.more > 0 && (
              <span class="quiet">
                {answer.exact.length} of {plural(answer.exact.length + answer.more, "size")}
              </span>
            )}
          </h2>
          <ExactSizes app={app} answer={answer} choose={choose} />
        </section>
        <section class="lifetimes">
          <h2>
            Lifetimes <span class="quiet">of {plural(answer.deallocations, "freed block")}</span>
          </h2>
          <Ages app={app} answer={answer} choose={choose} />
        </section>
      </div>
      {answer.heats.map((heat) => (
        <HeatMap
          key={heat.kind}
          heat={heat}
          words={heatWords(heat.kind, app.clock)}
          chosenBy={place}
          chosen={({ down, across }) => isChosen(place, choiceOf(heat, down, across))}
          choose={(cell) => chooseCell(heat, cell)}
        />
      ))}
    </>
  );
}

/** Why there is nothing to show, and what would change that. */
function Nothing({ app, about }: { app: App; about: About | undefined }) {
  const whole = app.report.shown.value?.value.recording.complete ?? true;
  if (about?.events === 0) {
    return whole ? (
      <EmptyBox why="The program allocated nothing while it was recorded." command="heaptap run ./program" />
    ) : (
      <EmptyBox why="What is intact of this recording has no events of blocks." command="heaptap verify FILE" />
    );
  }
  return (
    <EmptyBox why="No block was allocated or freed in the selection.">
      <WaysBack app={app} />
    </EmptyBox>
  );
}

/** Saves numbers as comma-separated values. */
function save(rows: string[][]): void {
  const text = rows.map((row) => `${row.join(",")}\r\n`).join("");
  const url = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = "heaptap-sizes.csv";
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

const metricTitles: Readonly<Record<SizeMetric, string>> = {
  allocations: "allocations",
  bytes: "allocated bytes",
  live: "live at the end",
  slack: "slack",
};

function MetricChoice({ metric, choose }: { metric: SizeMetric; choose: (metric: SizeMetric) => void }) {
  return (
    <span class="most-metrics" role="group" aria-label="what bars show">
      {sizeMetrics.map((name) => (
        <button key={name} type="button" class="plain" aria-pressed={name === metric} onClick={() => choose(name)}>
          {metricTitles[name]}
        </button>
      ))}
    </span>
  );
}

interface PartProps {
  app: App;
  answer: SizesAnswer;
  choose: (choice: Choice) => void;
}

/** A row that filters, with a bar and a link to the flame graph of what it counts. */
function BarRow(props: {
  name: string;
  place: Place;
  choice: Choice;
  metric: SizeMetric;
  share: number;
  go: (to: Place) => void;
  choose: (choice: Choice) => void;
  children: ComponentChildren;
}) {
  const { name, place, choice, metric, share, go, choose } = props;
  const chosen = isChosen(place, choice);
  return (
    <tr class={chosen ? "bar-row picked" : "bar-row"}>
      <th scope="row">
        <button
          type="button"
          class="plain function"
          aria-pressed={chosen}
          title={chosen ? "no longer only these" : "count only these"}
          onClick={() => choose(choice)}
        >
          {name}
        </button>
      </th>
      <td class="bar" aria-hidden="true">
        <i style={{ width: `${100 * share}%` }} />
      </td>
      {props.children}
      <td class="flame-of">
        <PlaceLink to={flameOf(place, choice, metric)} go={go} label={`flame graph of ${name}`}>
          flame<span class="wide"> graph</span>
        </PlaceLink>
      </td>
    </tr>
  );
}

/** @param brief what is live, and slack, are not known yet */
function SizeBars(props: PartProps & { metric: SizeMetric; brief?: boolean }) {
  const { app, answer, metric, choose, brief } = props;
  const place = app.place.value;
  const rows = answer.sizes;
  const most = Math.max(1, ...rows.map((row) => row[metric]));
  return (
    <div class="scroll">
      <table class="bars">
        <thead>
          <tr>
            <th scope="col">size</th>
            <td aria-hidden="true" />
            <th scope="col" class="number">
              allocations
            </th>
            <th scope="col" class="number">
              share
            </th>
            <th scope="col" class="number wide">
              allocated
            </th>
            {!brief && (
              <>
                <th scope="col" class="number wide">
                  live
                </th>
                <th scope="col" class="number wide">
                  slack
                </th>
                <th scope="col" class="number wide">
                  of asked
                </th>
              </>
            )}
            <td aria-hidden="true" />
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <BarRow
              key={row.min}
              name={sizeName(row)}
              place={place}
              choice={{ size: sizeFilter(row) }}
              metric={metric}
              share={row[metric] / most}
              go={(to) => app.go(to)}
              choose={choose}
            >
              <Number {...sizeCell(row, "allocations")} />
              <td class="number">{percent(row.allocations, answer.allocations)}</td>
              <Number {...sizeCell(row, "bytes")} wide />
              {!brief && (
                <>
                  <Number {...sizeCell(row, "live")} wide />
                  <Number {...sizeCell(row, "slack")} wide />
                  <td class="number wide">{slackShare(row)}</td>
                </>
              )}
            </BarRow>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Number(props: { text: string; exact: string; wide?: boolean; unsure?: boolean }) {
  const { text, exact, wide, unsure } = props;
  return (
    <td class={`number${wide ? " wide" : ""}${unsure ? " unsure" : ""}`} title={exact}>
      {text}
    </td>
  );
}

function ExactSizes({ app, answer, choose }: PartProps) {
  const place = app.place.value;
  const most = answer.exact[0]?.count ?? 1;
  if (answer.exact.length === 0) return <p class="quiet">Nothing was allocated in the selection.</p>;
  return (
    <>
      <table class="bars">
        <thead>
          <tr>
            <th scope="col">size</th>
            <td aria-hidden="true" />
            <th scope="col" class="number">
              allocations
            </th>
            <th scope="col" class="number">
              share
            </th>
            <th scope="col" class="number wide">
              slack each
            </th>
            <td aria-hidden="true" />
          </tr>
        </thead>
        <tbody>
          {answer.exact.map((row) => (
            <BarRow
              key={row.size}
              name={`${count(row.size)} B`}
              place={place}
              choice={{ size: `${row.size}` }}
              metric="allocations"
              share={row.count / most}
              go={(to) => app.go(to)}
              choose={choose}
            >
              <Number text={shortCount(row.count)} exact={plural(row.count, "allocation")} />
              <td class="number">{percent(row.count, answer.allocations)}</td>
              <td class="number wide" title={exactSize(row.slack)}>
                {row.count > 0 ? size(row.slack / row.count) : "–"}
              </td>
            </BarRow>
          ))}
        </tbody>
      </table>
      {answer.others > 0 && (
        <p class="quiet">{plural(answer.others, "allocation")} of further sizes: too many to tell apart.</p>
      )}
    </>
  );
}

function Ages({ app, answer, choose }: PartProps) {
  const place = app.place.value;
  const rows = answer.lifetimes;
  const most = Math.max(1, ...rows.map((row) => row.count));
  const all = rows.reduce((sum, row) => sum + row.count, 0);
  if (rows.length === 0) return <p class="quiet">No block was freed in the selection.</p>;
  return (
    <table class="bars">
      <thead>
        <tr>
          <th scope="col">lifetime</th>
          <td aria-hidden="true" />
          <th scope="col" class="number">
            blocks
          </th>
          <th scope="col" class="number">
            share
          </th>
          <th scope="col" class="number wide">
            bytes
          </th>
          <td aria-hidden="true" />
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <BarRow
            key={row.never ? -1 : row.min}
            name={ageName(row)}
            place={place}
            choice={{ lifetime: ageFilter(row) }}
            metric="allocations"
            share={row.count / most}
            go={(to) => app.go(to)}
            choose={choose}
          >
            <Number {...countCell(row.count, row.margin, "block")} />
            <td class="number">{percent(row.count, all)}</td>
            <Number text={size(row.bytes)} exact={exactSize(row.bytes)} wide />
          </BarRow>
        ))}
      </tbody>
    </table>
  );
}
