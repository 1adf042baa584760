// Why live memory rose: the level at the beginning of the range, the changes, the level at its end. It adds up.
import { exactSize, plural, size } from "../../model/format.ts";
import { location } from "../../model/names.ts";
import { isFlat, signed, waterfall, type Bar, type Code, type Rise } from "../../model/overview.ts";
import { Bone } from "../figures.tsx";
import { Name } from "../name.tsx";

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
  const { bars, cut } = waterfall(rise);
  return (
    <table class={cut ? "waterfall cut" : "waterfall"}>
      <thead>
        <tr>
          <th scope="col">from</th>
          <th scope="col" class="number">
            live
          </th>
          <td aria-hidden="true" class="quiet number">
            {cut && "axis does not begin at 0"}
          </td>
        </tr>
      </thead>
      <tbody>
        {bars.map((bar, i) => (
          <tr
            key={i}
            class={bar.kind}
            onPointerEnter={() => bar.row && hover(bar.row.code)}
            onPointerLeave={() => hover(undefined)}
          >
            <Cell bar={bar} rise={rise} to={to} hover={hover} pick={pick} />
            <td class="number" title={exact(bar)}>
              {bar.kind === "begin" || bar.kind === "end" ? size(bar.bytes) : signed(bar.bytes)}
            </td>
            <td class="track" aria-hidden="true">
              <i
                class={bar.kind === "begin" || bar.kind === "end" ? "level" : bar.bytes < 0 ? "fell" : "rose"}
                style={{ marginLeft: `${100 * bar.from}%`, width: `${100 * (bar.to - bar.from)}%` }}
              />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function exact({ kind, bytes, row }: Bar): string {
  if (kind === "begin" || kind === "end") return exactSize(bytes);
  const blocks = row ? `, ${row.blocks < 0 ? "−" : ""}${plural(Math.abs(row.blocks), "block")}` : "";
  return `${bytes < 0 ? "−" : ""}${exactSize(Math.abs(bytes))}${blocks}`;
}

function Cell({ bar, rise, to, hover, pick }: { bar: Bar; rise: Rise; to: string } & Pointing) {
  const { code } = bar.row ?? {};
  if (code) {
    return (
      <td>
        <button
          type="button"
          class="plain function"
          onClick={() => pick(code)}
          onFocus={() => hover(code)}
          onBlur={() => hover(undefined)}
        >
          <Name text={code.name || "unknown function"} limit={48} />
        </button>{" "}
        <span class="quiet">
          <Name text={location(code.file, code.line)} limit={32} />
        </span>
      </td>
    );
  }
  if (bar.kind === "others") {
    const { groups, grown, shrunk } = rise.others;
    const both = grown > 0 && shrunk > 0;
    return (
      <td class="quiet" title={`${signed(grown)}, ${signed(-shrunk)}`}>
        {plural(groups, "other call stack")}
        {both && ` (${signed(grown)}, ${signed(-shrunk)})`}
      </td>
    );
  }
  return <td class="quiet">{bar.kind === "begin" ? "at the beginning" : to}</td>;
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
