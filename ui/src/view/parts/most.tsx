// The functions with the most of a metric, which the reader chooses.
import type { ComponentChildren } from "preact";
import type { Code } from "../../model/explain.ts";
import { percent } from "../../model/format.ts";
import { base, location, visible } from "../../model/names.ts";
import {
  metricPart,
  mostLabels,
  mostMetrics,
  type Holder,
  type Most,
  type MostMetric,
} from "../../model/overview.ts";
import { Bone } from "../figures.tsx";
import { Name } from "../name.tsx";
import { hasMoved } from "../pointer.ts";
import { EmptyBox } from "../states.tsx";
import type { Pointing } from "./waterfall.tsx";

/** The buttons that choose the metric. */
export function MostChoice({ metric, choose }: { metric: MostMetric; choose: (metric: MostMetric) => void }) {
  return (
    <span class="most-metrics" role="group" aria-label="Metric">
      {mostMetrics.map((name) => (
        <button key={name} type="button" class="plain" aria-pressed={name === metric} onClick={() => choose(name)}>
          {mostLabels[name]}
        </button>
      ))}
    </span>
  );
}

export interface MostProps extends Pointing {
  most: Most;
  /** Where a function is. */
  placeOf: (code: Code) => { file: string; line: number };
  picked: string | undefined;
  /** What leads on if there are no rows. */
  empty: ComponentChildren;
}

/** Columns beside that of the metric. */
const beside = ["peak", "bytes", "allocations", "temporary"] as const;

export function MostTable({ most, placeOf, picked, hover, pick, empty }: MostProps) {
  const { metric, total, rows } = most;
  if (rows.length === 0) {
    return <EmptyBox why={`No function has anything that counts: ${mostLabels[metric]}.`}>{empty}</EmptyBox>;
  }
  const columns = beside.filter((name) => name !== metric);
  const largest = rows.reduce((max, row) => Math.max(max, row.values[metric] ?? 0), 1);
  return (
    <div class="scroll">
      <table>
        <thead>
          <tr>
            <th scope="col">function</th>
            <th scope="col" class="number" aria-sort="descending">
              {mostLabels[metric]}
            </th>
            <td class="wide" aria-hidden="true" />
            <th scope="col" class="number">
              share
            </th>
            {columns.map((name) => (
              <th key={name} scope="col" class="number wide">
                {mostLabels[name]}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, i) => (
            <tr
              key={i}
              class={row.name === picked ? "choice picked" : "choice"}
              onPointerEnter={(event) => !row.unknown && hasMoved(event) && hover(row)}
              onPointerLeave={() => hover(undefined)}
            >
              <td>
                <Function row={row} place={placeOf(row)} hover={hover} pick={pick} />
              </td>
              <Value name={metric} row={row} />
              <td class="bar wide" aria-hidden="true">
                <i style={{ width: `${(100 * (row.values[metric] ?? 0)) / largest}%` }} />
              </td>
              <td class="number">{percent(row.values[metric] ?? 0, total)}</td>
              {columns.map((name) => (
                <Value key={name} name={name} row={row} wide />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Function(props: { row: Holder; place: { file: string; line: number } } & Pointing) {
  const { row, place, hover, pick } = props;
  if (row.unknown) return <span class="quiet">{row.name}</span>;
  return (
    <>
      <button
        type="button"
        class="plain function"
        onClick={() => pick(row)}
        onFocus={() => hover(row)}
        onBlur={() => hover(undefined)}
      >
        <Name text={row.name} limit={72} />
      </button>
      <div class="quiet" title={visible(place.file || row.module).slice(0, 1000)}>
        <Name text={location(place.file, place.line) || base(row.module) || "unknown"} limit={60} />
      </div>
    </>
  );
}

function Value({ name, row, wide }: { name: MostMetric; row: Holder; wide?: boolean }) {
  const { text, exact } = metricPart(name, row.values[name]);
  return (
    <td class={wide ? "number wide" : "number"} title={exact}>
      {text}
    </td>
  );
}

export const mostSkeleton = (
  <div aria-hidden="true">
    {["80%", "64%", "70%", "58%", "66%"].map((width) => (
      <p key={width} style={{ padding: "10px 8px 20px" }}>
        <Bone width={width} />
      </p>
    ))}
  </div>
);
