// What a level was at the beginning of a range, what changed it, and what it was at the end: it adds up.
import type { ComponentChildren } from "preact";
import {
  isFlat,
  signed,
  waterfall,
  type Bar,
  type Change,
  type Code,
  type Rise,
  type Waterfall,
} from "../../model/explain.ts";
import { exactSize, plural, size } from "../../model/format.ts";
import { location } from "../../model/names.ts";
import { Bone } from "../figures.tsx";
import { Name } from "../name.tsx";
import { hasMoved } from "../pointer.ts";

export interface Pointing {
  /** The function under the pointer; undefined: none any more. */
  hover: (code: Code | undefined) => void;
  /** A function was chosen. */
  pick: (code: Code) => void;
}

/** @param to what its last line is called */
export function RiseWaterfall({ rise, to, hover, pick }: { rise: Rise; to: string } & Pointing) {
  if (isFlat(rise)) {
    return (
      <p class="sum">
        Flat: live memory changed by {signed(rise.end - rise.begin)}, and is{" "}
        <span title={exactSize(rise.end)}>{size(rise.end)}</span>.
      </p>
    );
  }
  return (
    <WaterfallTable
      of={waterfall(rise)}
      level="live"
      to={to}
      name={(bar) => <RiseName bar={bar} rise={rise} hover={hover} pick={pick} />}
      note={(row) => `${row.blocks < 0 ? "−" : ""}${plural(Math.abs(row.blocks), "block")}`}
      point={(row) => hover(row?.code)}
    />
  );
}

/** @param level what is counted */
export function WaterfallTable<R>(props: {
  of: Waterfall<R>;
  level: string;
  to: string;
  /** What stands for a bar that is no level. */
  name: (bar: Bar<R>) => ComponentChildren;
  /** What the hint of a number says besides. */
  note?: (row: R) => string;
  /** The row under the pointer; undefined: none any more. */
  point?: (row: R | undefined) => void;
}) {
  const { of, level, to, name, note, point } = props;
  const isLevel = ({ kind }: Bar<R>) => kind === "begin" || kind === "end";
  const exact = (bar: Bar<R>) => {
    if (isLevel(bar)) return exactSize(bar.bytes);
    const more = bar.row && note ? `, ${note(bar.row)}` : "";
    return `${bar.bytes < 0 ? "−" : ""}${exactSize(Math.abs(bar.bytes))}${more}`;
  };
  return (
    <table class={of.cut ? "waterfall cut" : "waterfall"}>
      <thead>
        <tr>
          <th scope="col">from</th>
          <th scope="col" class="number">
            {level}
          </th>
          <td aria-hidden="true" />
        </tr>
      </thead>
      <tbody>
        {of.bars.map((bar, i) => (
          <tr
            key={i}
            class={bar.row && point ? `${bar.kind} choice` : bar.kind}
            onPointerEnter={(event) => bar.row && hasMoved(event) && point?.(bar.row)}
            onPointerLeave={() => point?.(undefined)}
          >
            {isLevel(bar) ? (
              <td class="quiet">{bar.kind === "begin" ? "at the beginning" : to}</td>
            ) : (
              <td class={bar.row ? undefined : "quiet"}>{name(bar)}</td>
            )}
            <td class="number" title={exact(bar)}>
              {isLevel(bar) ? size(bar.bytes) : signed(bar.bytes)}
            </td>
            <td class="track" aria-hidden="true">
              <i
                class={isLevel(bar) ? "level" : bar.bytes < 0 ? "fell" : "rose"}
                style={{ marginLeft: `${100 * bar.from}%`, width: `${100 * (bar.to - bar.from)}%` }}
              />
            </td>
          </tr>
        ))}
      </tbody>
      {of.cut && (
        <tfoot aria-hidden="true">
          <tr>
            <td class="quiet note" colSpan={3}>
              The bars do not begin at 0.
            </td>
          </tr>
        </tfoot>
      )}
    </table>
  );
}

/** If the others both grew and shrank, the smaller one is said from this share of the larger one on. */
const worthSaying = 0.01;

function RiseName({ bar, rise, hover, pick }: { bar: Bar<Change>; rise: Rise } & Pointing) {
  const { code } = bar.row ?? {};
  if (code) {
    return (
      <>
        <button
          type="button"
          class="plain function"
          onClick={() => pick(code)}
          onFocus={() => hover(code)}
          onBlur={() => hover(undefined)}
        >
          <Name text={code.name || "unknown function"} limit={48} />
        </button>{" "}
        <span class="quiet place">
          <Name text={location(code.file, code.line)} limit={32} />
        </span>
      </>
    );
  }
  const { groups, grown, shrunk } = rise.others;
  const both = Math.min(grown, shrunk) > worthSaying * Math.max(grown, shrunk);
  return (
    <span title={`${signed(grown)}, ${signed(-shrunk)}`}>
      {plural(groups, `other ${rise.of}`)}
      {both && ` (${signed(grown)}, ${signed(-shrunk)})`}
    </span>
  );
}

export const waterfallSkeleton = (
  <div aria-hidden="true">
    {["50%", "80%", "60%", "55%"].map((width, i) => (
      <p key={i} style={{ padding: "8px" }}>
        <Bone width={width} />
      </p>
    ))}
  </div>
);
