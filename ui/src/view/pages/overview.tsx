// The first answer about a recording: its curve, its peaks, and which functions hold the most at the peak.
import type { App } from "../../app.ts";
import type { FirstAnswer, Gap, Holder, Part, Peak } from "../../model/answers.ts";
import { count, duration, percent, plural, shortCount } from "../../model/format.ts";
import { base, location, visible } from "../../model/names.ts";
import { Bone, Figure, Size } from "../figures.tsx";
import { Name } from "../name.tsx";
import { Answered, usePart } from "../part.tsx";
import { EmptyBox, Refusal } from "../states.tsx";
import { askFirstAnswer } from "../../net/questions.ts";

export function Overview({ app }: { app: App }) {
  const part = usePart(app, "overview", ({ recording }) => ({
    base: recording,
    key: "overview",
    run: (ask) => askFirstAnswer(ask, recording),
  }));
  return (
    <Answered part={part} skeleton={<Content answer={undefined} />}>
      {(answer) => <Content answer={answer} />}
    </Answered>
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
          value={a && sizeOf(a.resident)}
          note={a && (a.resident ? when(a.resident) : "not measured")}
        />
        <Figure
          label="peak live"
          value={a && sizeOf(a.live)}
          note={a && (a.live ? <Count before={`${when(a.live)}, `} n={a.live.blocks} noun="block" /> : unknown)}
        />
        <Figure
          label="live at the end"
          value={a && sizeOf(a.leaked)}
          note={a && (a.leaked ? <Count n={a.leaked.blocks} noun="block" /> : unknown)}
        />
        <Figure
          label="allocated in all"
          value={a && <Size bytes={a.allocated.bytes} />}
          note={a && <Count n={a.allocated.allocations} noun="allocation" />}
        />
        <Figure
          label="temporary"
          value={a && (a.temporary === undefined ? "–" : percent(a.temporary, a.allocated.allocations))}
          note={a && (a.temporary === undefined ? unknown : <Count n={a.temporary} noun="allocation" />)}
        />
      </dl>
      <section>
        <h2>
          Most live at the peak
          {a?.live && (
            <span class="quiet">
              of <Size bytes={a.live.bytes} />, by function
            </span>
          )}
        </h2>
        {a ? <Holders part={a.holders} total={a.live?.bytes ?? 0} /> : skeletonRows}
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

const unknown = "not known";

function sizeOf(value: { bytes: number } | undefined) {
  return value ? <Size bytes={value.bytes} /> : "–";
}

function when(peak: Peak): string {
  return peak.atNs === undefined ? "sum of the processes" : `after ${duration(peak.atNs)}`;
}

/** A count in few characters; its hint has the exact one. */
function Count({ before, n, noun }: { before?: string; n: number; noun: string }) {
  const exact = plural(n, noun);
  return (
    <span title={exact}>
      {before}
      {n < 10_000 ? exact : `${shortCount(n)} ${noun}s`}
    </span>
  );
}

const skeletonRows = ["80%", "64%", "70%", "58%", "66%"].map((width) => (
  <p key={width} style={{ padding: "8px" }}>
    <Bone width={width} />
  </p>
));

function Holders({ part, total }: { part: Part<Holder[]>; total: number }) {
  if ("fault" in part) return <Refusal fault={part.fault} />;
  const holders = part.value;
  if (holders.length === 0) {
    return <EmptyBox why="Nothing was live: the program allocated nothing while it was recorded." />;
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
          <td class="wide" aria-hidden="true" />
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
              <Name text={h.name} />
              <div class="quiet" title={visible(h.file || h.module).slice(0, 1000)}>
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
