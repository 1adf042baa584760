// By how much the resident set changed over a range, and where that is not in live blocks, in which of its parts.
import type { Clock } from "../../model/clock.ts";
import { location } from "../../model/names.ts";
import type { Place } from "../../model/place.ts";
import {
  between,
  changeInWords,
  placeOfPart,
  readings,
  residentBars,
  restMatters,
  type PartChange,
  type ResidentChange,
} from "../../model/resident.ts";
import type { Span } from "../../model/time.ts";
import { Name } from "../name.tsx";
import { Perhaps } from "./resident.tsx";
import { WaterfallTable } from "./waterfall.tsx";

/** @param range what is selected: its ends are not when the resident set was read */
export function ResidentChangeView(props: {
  recording: string;
  change: ResidentChange;
  range: Span;
  clock: Clock;
  go: (to: Place) => void;
}) {
  const { recording, change, range, clock, go } = props;
  const when = between(change, range, clock);
  const words = changeInWords(change);
  return (
    <>
      <p>{when === "" ? words : when + words.charAt(0).toLowerCase() + words.slice(1)}</p>
      <p class="quiet">{readings(change, range, clock)}</p>
      {restMatters(change) && (
        <WaterfallTable
          of={residentBars(change)}
          level="resident"
          to="at the end"
          name={({ row }) => {
            if (!row) return "other parts";
            return <PartName {...row} to={placeOfPart(recording, change.end, row.part, row.of)} go={go} />;
          }}
        />
      )}
    </>
  );
}

function PartName(props: PartChange & { to: Place | undefined; go: (to: Place) => void }) {
  const { part, of, to, go } = props;
  const file = of && of.file !== "" && of.line > 0 ? location(of.file, of.line) : "";
  return (
    <>
      <span class={`key part-${part.kind}`} aria-hidden="true" />
      <Perhaps to={to} go={go}>
        {of ? <Name text={of.name} limit={48} /> : part.label}
      </Perhaps>
      {of && <span class="quiet"> {file !== "" ? <Name text={file} limit={32} /> : part.label}</span>}
    </>
  );
}
