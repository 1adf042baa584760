// The first answer about a recording: its curve, its peaks, and which functions hold the most at the peak.
import { useSignal } from "@preact/signals";
import type { App } from "../app.ts";
import type { FirstAnswer, Gap, Holder } from "../model/answers.ts";
import { count, duration, percent, plural, shortCount } from "../model/format.ts";
import { base, location } from "../model/names.ts";
import { Bone, Figure, Size } from "./figures.tsx";
import { Name } from "./name.tsx";
import { CancelledBox, EmptyBox, FaultBox, ProgressBox } from "./states.tsx";
import { Timeline } from "./timeline.tsx";

export function Answer({ app }: { app: App }) {
  const state = app.answer.state.value;
  const load = () => app.loadAnswer();
  switch (state.phase) {
    case "blank":
      return <Frame />;
    case "skeleton":
      return <Frame busy>{<Content answer={undefined} />}</Frame>;
    case "progress":
      return (
        <Frame busy>
          <ProgressBox progress={state.progress} cancel={() => app.cancelAnswer()} />
        </Frame>
      );
    case "failed":
      return (
        <Frame>
          <FaultBox fault={state.fault} retry={load} />
        </Frame>
      );
    case "cancelled":
      return (
        <Frame>
          <CancelledBox retry={load} />
        </Frame>
      );
    case "done":
      return (
        <Frame answer={state.value}>
          <Content answer={state.value} />
        </Frame>
      );
  }
}

function Frame(props: { busy?: boolean; answer?: FirstAnswer; children?: preact.ComponentChildren }) {
  return (
    <>
      <Timeline levels={props.answer?.levels} peak={props.answer?.live} />
      <main aria-busy={props.busy}>{props.children}</main>
      {props.answer && <Bottom answer={props.answer} />}
    </>
  );
}

/** The figures and tables; without an answer, their skeleton. */
function Content({ answer: a }: { answer: FirstAnswer | undefined }) {
  return (
    <>
      {a && a.warnings.length > 0 && (
        <ul class="warnings wrong" aria-label="warnings">
          {a.warnings.map((text) => (
            <li key={text} style={{ display: "block" }}>
              <bdi>{text}</bdi>
            </li>
          ))}
        </ul>
      )}
      <dl class="figures">
        <Figure
          label="peak resident"
          value={a && (a.resident ? <Size bytes={a.resident.bytes} /> : "–")}
          note={a && (a.resident ? `after ${duration(a.resident.atNs)}` : "not measured")}
        />
        <Figure
          label="peak live"
          value={a && <Size bytes={a.live.bytes} />}
          note={a && `after ${duration(a.live.atNs)}, in ${plural(a.live.blocks, "block")}`}
        />
        <Figure
          label="live at the end"
          value={a && <Size bytes={a.leaked.bytes} />}
          note={a && `in ${plural(a.leaked.blocks, "block")}`}
        />
        <Figure
          label="allocated in all"
          value={a && <Size bytes={a.allocated.bytes} />}
          note={a && `in ${plural(a.allocated.allocations, "allocation")}`}
        />
        <Figure
          label="temporary"
          value={a && (a.temporary === undefined ? "–" : percent(a.temporary, a.allocated.allocations))}
          note={a && <Temporary n={a.temporary} />}
        />
      </dl>
      <section>
        <h2>
          Most live at the peak
          {a && <span class="quiet">of {<Size bytes={a.live.bytes} />}, by function</span>}
        </h2>
        {a ? <Holders holders={a.holders} total={a.live.bytes} /> : skeletonRows}
      </section>
      {a && a.gaps.length > 0 && (
        <section>
          <h2>What this recording cannot answer</h2>
          <ul class="missing">
            {a.gaps.map((gap) => (
              <GapLine key={gap.question} gap={gap} />
            ))}
          </ul>
        </section>
      )}
    </>
  );
}

function Temporary({ n }: { n: number | undefined }) {
  return n === undefined ? <>not known</> : <span title={count(n)}>{shortCount(n)} allocations</span>;
}

const skeletonRows = ["80%", "64%", "70%", "58%", "66%"].map((width) => (
  <p key={width} style={{ padding: "8px" }}>
    <Bone width={width} />
  </p>
));

function Holders({ holders, total }: { holders: Holder[]; total: number }) {
  if (holders.length === 0) {
    return <EmptyBox why="Nothing was live at the peak: the program allocated nothing while it was recorded." command="" />;
  }
  const largest = holders.reduce((max, h) => Math.max(max, h.bytes), 1);
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">function</th>
          <th scope="col" class="number">
            live
          </th>
          <th scope="col" class="wide" />
          <th scope="col" class="number">
            share
          </th>
          <th scope="col" class="number wide">
            blocks
          </th>
        </tr>
      </thead>
      <tbody>
        {holders.map((h, i) => (
          <tr key={i}>
            <td>
              <Name text={h.name || "unknown function"} />
              <div class="quiet">
                <Name text={location(h.file, h.line) || base(h.module) || "unknown"} limit={60} />
              </div>
            </td>
            <td class="number">
              <Size bytes={h.bytes} />
            </td>
            <td class="bar wide" aria-hidden="true">
              <i style={{ width: `${(100 * h.bytes) / largest}%` }} />
            </td>
            <td class="number">{percent(h.bytes, total)}</td>
            <td class="number wide">{count(h.blocks)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function GapLine({ gap }: { gap: Gap }) {
  return (
    <li>
      <span>{gap.question}</span>
      <span class="quiet">
        {gap.why}
        {gap.remedy && (
          <>
            {" · record with "}
            <code>{gap.remedy}</code>
          </>
        )}
      </span>
    </li>
  );
}

/** Browsers let pages write to the clipboard that come by HTTPS or from this machine. */
const canCopy = isSecureContext;

function Bottom({ answer }: { answer: FirstAnswer }) {
  const copied = useSignal(false);
  const copy = async () => {
    await navigator.clipboard.writeText(answer.command);
    copied.value = true;
  };
  return (
    <footer class="bottom">
      <span class="quiet">exact · {duration(Math.round(answer.tookMs) * 1e6)}</span>
      <code>{answer.command}</code>
      {canCopy && (
        <button type="button" class="plain" onClick={copy}>
          {copied.value ? "copied" : "copy command"}
        </button>
      )}
    </footer>
  );
}
