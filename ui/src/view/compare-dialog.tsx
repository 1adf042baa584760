// Which recordings are compared: each is on side A, on side B, or on none.
import { useSignal } from "@preact/signals";
import type { App } from "../app.ts";
import { nameOfRun } from "../model/compare.ts";
import { duration } from "../model/format.ts";
import { shorten, visible } from "../model/names.ts";
import { Dialog } from "./dialog.tsx";

type Side = "A" | "B" | "";

/** So many recordings may be compared: they are all open at the same time. */
const most = 8;

export function CompareDialog({ app, close }: { app: App; close: () => void }) {
  const place = app.place.value;
  const runs = app.runs.shown.value?.value ?? [];
  const all = runs.flatMap((run) => run.recordings);
  const sides = useSignal<ReadonlyMap<string, Side>>(
    new Map([
      ...place.with.map((id) => [id, "A"] as const),
      ...[...place.also, place.recording ?? ""].map((id) => [id, "B"] as const),
    ]),
  );
  const of = (side: Side) => all.filter(({ id }) => sides.value.get(id) === side).map(({ id }) => id);
  const [a, b] = [of("A"), of("B")];
  const wrong =
    a.length === 0 ? "Choose what to compare with: side A."
    : b.length === 0 ? "Choose what is compared: side B."
    : a.length + b.length > most ? `At most ${most} recordings can be compared.`
    : "";
  const apply = (event: Event) => {
    event.preventDefault();
    if (wrong) return;
    const shown = place.recording !== undefined && b.includes(place.recording) ? place.recording : b[0];
    const also = b.filter((id) => id !== shown);
    close();
    app.change({ recording: shown, with: a, also, compare: true, from2: undefined, to2: undefined });
  };
  return (
    <Dialog label="Compare recordings" class="compare-dialog" close={close}>
      <form onSubmit={apply}>
        <h2>Compare recordings</h2>
        {all.length < 2 ? (
          <p>
            There is one recording. To compare ranges of it, select one on the timeline, and a second one with Shift. To
            compare recordings, open several: <code>heaptap open A B</code>
          </p>
        ) : (
          <>
            <p class="quiet">
              Pages show what B has more or less than A. Of several runs on a side, the median counts; a change within
              what the runs differ by is marked.
            </p>
            <div class="scroll">
              <table>
                <thead>
                  <tr>
                    <th scope="col">recording</th>
                    <th scope="col">A</th>
                    <th scope="col">B</th>
                    <th scope="col">neither</th>
                  </tr>
                </thead>
                <tbody>
                  {all.map(({ id, command, durationNs }) => {
                    const name = nameOfRun(runs, id);
                    const radio = (side: Side) => (
                      <td>
                        <input
                          type="radio"
                          name={id}
                          aria-label={`${name}: ${side === "" ? "neither" : `side ${side}`}`}
                          checked={(sides.value.get(id) ?? "") === side}
                          onChange={() => (sides.value = new Map(sides.value).set(id, side))}
                        />
                      </td>
                    );
                    return (
                      <tr key={id}>
                        <th scope="row">
                          <bdi>{name}</bdi>{" "}
                          <span class="quiet">
                            <bdi>{shorten(visible(command), 40)}</bdi> · {duration(durationNs)}
                          </span>
                        </th>
                        {radio("A")}
                        {radio("B")}
                        {radio("")}
                      </tr>
                    );
                  })}
                </tbody>
              </table>
            </div>
          </>
        )}
        <p class="actions">
          {all.length > 1 && (
            <button type="submit" aria-disabled={wrong !== ""}>
              Compare
            </button>
          )}
          <button type="button" onClick={close}>
            Cancel
          </button>{" "}
          <span class="quiet" role="status">
            {all.length > 1 && wrong}
          </span>
        </p>
      </form>
    </Dialog>
  );
}
