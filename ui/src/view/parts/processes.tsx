// The programs of the run as a tree, around the one that is shown.
import type { Recording, Run } from "../../model/answers.ts";
import { duration, plural } from "../../model/format.ts";
import { around } from "../../model/overview.ts";
import { home, placeOf, type Place } from "../../model/place.ts";
import { Size } from "../figures.tsx";
import { Name } from "../name.tsx";
import { ProgramsHead } from "../programs-head.tsx";
import { PlaceLink } from "../link.tsx";

/** Programs that are shown: the recordings' page has all of them. */
const mostPrograms = 8;

export function ProcessTree(props: { run: Run; recording: Recording; go: (to: Place) => void }) {
  const { run, recording, go } = props;
  const { rows, left } = around(run.recordings, recording.id, mostPrograms);
  const outermost = rows.reduce((min, { depth }) => Math.min(min, depth), Infinity);
  const largest = rows.reduce((max, { node }) => Math.max(max, node.residentPeak ?? 0), 1);
  return (
    <>
      <div class="scroll">
        <table>
          <ProgramsHead />
          <tbody>
            {rows.map(({ node: r, depth }) => (
              <tr key={r.id} class={r.id === recording.id ? "choice picked" : "choice"}>
                <td class="tree" style={{ "--depth": Math.min(depth - outermost, 12) }}>
                  <PlaceLink to={placeOf(r.id)} go={go} current={r.id === recording.id}>
                    <Name text={r.command} limit={40} />
                  </PlaceLink>{" "}
                  <span class="quiet">{r.pid}</span>
                  {r.lost > 0 && <div class="wrong">{plural(r.lost, "event")} lost</div>}
                </td>
                <td class="number">{r.residentPeak === undefined ? "–" : <Size bytes={r.residentPeak} />}</td>
                <td class="bar wide" aria-hidden="true">
                  <i style={{ width: `${(100 * (r.residentPeak ?? 0)) / largest}%` }} />
                </td>
                <td class="number">
                  <Size bytes={r.livePeak} />
                </td>
                <td class="number wide">{duration(r.durationNs)}</td>
                <td class={r.failed ? "wide wrong" : "wide quiet"}>{r.end}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {left > 0 && (
        <p>
          <PlaceLink to={home} go={go}>
            Show all {plural(run.recordings.length, "program")}
          </PlaceLink>
        </p>
      )}
    </>
  );
}
