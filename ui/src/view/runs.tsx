// The recordings of the session: each run as a tree of its processes.
import { useSignal } from "@preact/signals";
import type { App } from "../app.ts";
import type { Recording, Run } from "../model/answers.ts";
import { duration, moment, plural } from "../model/format.ts";
import { placeOf } from "../model/place.ts";
import { rows, type Row } from "../model/tree.ts";
import { Bone, Size } from "./figures.tsx";
import { Link } from "./link.tsx";
import { Name } from "./name.tsx";
import { ProgramsHead } from "./programs-head.tsx";
import { Answered } from "./part.tsx";
import { EmptyBox } from "./states.tsx";

/** More rows than this are shown when the reader asks for them. */
const firstRows = 200;

export function Runs({ app }: { app: App }) {
  return (
    <main>
      <Answered part={app.runs} skeleton={skeleton}>
        {(runs) => (
          <>
            <h1>Recordings</h1>
            {runs.length === 0 ? (
              <EmptyBox why="There are no recordings here yet." command="heaptap run ./program" />
            ) : (
              runs.map((run, i) => <RunTable key={i} app={app} run={run} />)
            )}
          </>
        )}
      </Answered>
    </main>
  );
}

function RunTable({ app, run }: { app: App; run: Run }) {
  const all = useSignal(false);
  const tree = rows(run.recordings);
  const shown = all.value ? tree : tree.slice(0, firstRows);
  const largest = run.recordings.reduce((max, r) => Math.max(max, r.residentPeak ?? 0), 1);
  return (
    <section>
      <h2>
        <Name text={run.command || run.path} />
        <span class="quiet">
          {run.startedNs > 0 && `${moment(run.startedNs)} · `}
          {run.recordings.length === 0 ? "cannot be read" : plural(run.recordings.length, "program")}
        </span>
      </h2>
      {run.problem && (
        <p class="wrong">
          <bdi>{run.problem}</bdi>
        </p>
      )}
      <Start app={app} run={run} />
      {run.recordings.length > 0 && (
        <div class="scroll">
          <table>
            <ProgramsHead />
            <tbody>
              {shown.map((row) => (
                <RecordingRow key={row.node.id} app={app} run={run} row={row} largest={largest} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {shown.length < tree.length && (
        <p>
          <button type="button" class="plain" onClick={() => (all.value = true)}>
            Show all {plural(tree.length, "program")}
          </button>
        </p>
      )}
    </section>
  );
}

/** Where to begin in a run of several programs. */
function Start({ app, run }: { app: App; run: Run }) {
  const main = run.recordings.find(({ id }) => id === run.main);
  if (!main || run.recordings.length === 1) return null;
  return (
    <p class="start">
      Begin with{" "}
      <Link app={app} to={placeOf(main.id)}>
        <Name text={main.command} limit={80} />
      </Link>{" "}
      <span class="quiet">
        process {main.pid}
        {run.mainWhy && ", "}
        <bdi>{run.mainWhy}</bdi>
      </span>
    </p>
  );
}

function RecordingRow(props: { app: App; run: Run; row: Row<Recording>; largest: number }) {
  const { app, run, row, largest } = props;
  const { node: r, depth } = row;
  const main = run.main === r.id && run.recordings.length > 1;
  return (
    <tr class={main ? "choice main" : "choice"}>
      <td class="tree" style={{ "--depth": Math.min(depth, 12) }}>
        <Link app={app} to={placeOf(r.id)}>
          <Name text={r.command} limit={80} />
        </Link>{" "}
        <span class="quiet">{r.pid}</span>
        {r.lost > 0 && <div class="wrong">{plural(r.lost, "event")} lost</div>}
      </td>
      <td class="number">{r.residentPeak === undefined ? <NotMeasured /> : <Size bytes={r.residentPeak} />}</td>
      <td class="bar wide" aria-hidden="true">
        <i style={{ width: `${(100 * (r.residentPeak ?? 0)) / largest}%` }} />
      </td>
      <td class="number">
        <Size bytes={r.livePeak} />
      </td>
      <td class="number wide">{duration(r.durationNs)}</td>
      <td class={r.failed ? "wide wrong" : "wide quiet"}>{r.end}</td>
    </tr>
  );
}

function NotMeasured() {
  return (
    <span class="quiet" title="The resident set of this process was not measured">
      –
    </span>
  );
}

const skeleton = (
  <>
    <h1>Recordings</h1>
    <section>
      {["70%", "55%", "62%"].map((width) => (
        <p key={width} style={{ padding: "8px" }}>
          <Bone width={width} />
        </p>
      ))}
    </section>
  </>
);
