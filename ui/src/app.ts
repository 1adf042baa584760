// The state of the page: the session, where the reader is, and the answers for that place.
import { effect, signal, untracked, type ReadonlySignal } from "@preact/signals";
import { find, type FirstAnswer, type Recording, type Run } from "./model/answers.ts";
import { Loader } from "./model/loading.ts";
import { formatPlace, home, parsePlace, type Place } from "./model/place.ts";
import { Client, type Lane } from "./net/lanes.ts";
import { askFirstAnswer, askRuns } from "./net/questions.ts";
import { realBrowser, Session } from "./net/session.ts";

export class App {
  readonly session = new Session(realBrowser());
  readonly runs = new Loader<Run[]>();
  readonly answer = new Loader<FirstAnswer>();
  readonly #place = signal<Place>(parsePlace(location.search));
  // The list is asked in a lane of its own: it must not be lost when the reader has already chosen.
  readonly #listLane: Lane;
  readonly #viewLane: Lane;

  constructor() {
    const client = new Client(this.session, (input, init) => fetch(input, init), randomName());
    this.#listLane = client.lane("background/session");
    this.#viewLane = client.lane("view/first");
  }

  /** The recording of the place and its run, once the list is there. */
  get chosen(): { run: Run; recording: Recording } | undefined {
    const { recording } = this.#place.value;
    const runs = this.runs.state.value;
    return recording !== undefined && runs.phase === "done" ? find(runs.value, recording) : undefined;
  }

  get place(): ReadonlySignal<Place> {
    return this.#place;
  }

  start(): void {
    addEventListener("popstate", () => (this.#place.value = parsePlace(location.search)));
    effect(() => {
      if (this.session.state.value.phase === "open") untracked(() => this.loadRuns());
    });
    effect(() => {
      const { recording } = this.#place.value;
      if (this.session.state.value.phase !== "open" || recording === undefined) this.#viewLane.cancel();
      else untracked(() => this.loadAnswer());
    });
    void this.session.start();
  }

  /** Leads to a place, as a link does: the browser's back leads here again. */
  go(place: Place): void {
    history.pushState(null, "", formatPlace(place));
    this.#place.value = place;
    scrollTo(0, 0);
  }

  loadRuns(): void {
    const { recording } = this.#place.value;
    void this.runs
      .show((onProgress) => this.#listLane.run(askRuns, onProgress))
      .then(() => {
        // A single recording needs no choice.
        const state = this.runs.state.value;
        const only = state.phase === "done" ? onlyRecording(state.value) : undefined;
        if (recording !== undefined || only === undefined || this.#place.value.recording !== undefined) return;
        const place = { ...home, recording: only };
        history.replaceState(null, "", formatPlace(place));
        this.#place.value = place;
      });
  }

  loadAnswer(): void {
    const { recording } = this.#place.value;
    if (recording === undefined) return;
    void this.answer.show((onProgress) =>
      this.#viewLane.run((ask) => askFirstAnswer(ask, recording), onProgress),
    );
  }

  cancelAnswer(): void {
    this.#viewLane.cancel();
  }

  cancelRuns(): void {
    this.#listLane.cancel();
  }
}

function onlyRecording(runs: Run[]): string | undefined {
  const all = runs.flatMap((run) => run.recordings);
  return all.length === 1 ? all[0]?.id : undefined;
}

/** A random name. crypto.randomUUID would do, but only exists where the page comes by HTTPS or from this machine. */
function randomName(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((n) => n.toString(16).padStart(2, "0")).join("");
}
