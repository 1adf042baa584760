// The figures that answer the first question: how much, at most and in all.
import type { Clock } from "../../model/clock.ts";
import { percent, plural, shortCount } from "../../model/format.ts";
import type { Figures } from "../../net/overview.ts";
import { Figure, Size } from "../figures.tsx";

/** Without figures, their skeleton. */
export function FigureRow({ figures: f, clock }: { figures: Figures | undefined; clock: Clock }) {
  const when = (atNs: number | undefined) => {
    return atNs === undefined ? "sum of the processes" : `after ${clock.moment(atNs)}`;
  };
  return (
    <dl class="figures">
      <Figure
        label="peak live"
        value={f && sizeOf(f.live)}
        note={f && (f.live ? <span title={plural(f.live.blocks, "block")}>{when(f.live.atNs)}</span> : unknown)}
      />
      <Figure
        label="peak resident"
        value={f && sizeOf(f.resident)}
        note={f && (f.resident ? when(f.resident.atNs) : "not measured")}
      />
      <Figure
        label={f?.leaked?.running ? "live now" : "never freed"}
        value={f && sizeOf(f.leaked)}
        note={f && (f.leaked ? <Left {...f.leaked} /> : unknown)}
      />
      <Figure
        label="allocated in all"
        value={f && <Size bytes={f.allocated.bytes} />}
        note={f && <Count n={f.allocated.allocations} noun="allocation" />}
      />
      <Figure
        label="temporary"
        value={f && (f.temporary === undefined ? "–" : percent(f.temporary, f.allocated.allocations))}
        note={f && (f.temporary === undefined ? unknown : <Count n={f.temporary} noun="allocation" />)}
      />
    </dl>
  );
}

const unknown = "not known";

function sizeOf(value: { bytes: number } | undefined) {
  return value ? <Size bytes={value.bytes} /> : "–";
}

/** What nothing will free, and what the runtime keeps: those are no leak, but they are live at the end as well. */
function Left({ blocks, runtime }: NonNullable<Figures["leaked"]>) {
  return (
    <>
      <Count n={blocks} noun="block" />
      {runtime > 0 && (
        <>
          {" "}
          · <span title="kept by the runtime on purpose, besides: no leak">runtime</span> <Size bytes={runtime} />
        </>
      )}
    </>
  );
}

/** A count in few characters; its hint has the exact one. */
function Count({ n, noun }: { n: number; noun: string }) {
  const exact = plural(n, noun);
  return <span title={exact}>{n < 10_000 ? exact : `${shortCount(n)} ${noun}s`}</span>;
}
