// The state of the page: the session, where the reader is, and what follows the pointer.
import { batch, computed, effect, signal, untracked, type ReadonlySignal } from "@preact/signals";
import { Actions } from "./actions.ts";
import { changing, type About, type Progress, type Report } from "./api.ts";
import { find, type Recording, type Run } from "./model/answers.ts";
import { clockOf, type Clock } from "./model/clock.ts";
import { commandOf, type QuestionName, type Values } from "./model/commands.ts";
import type { Estimate } from "./model/estimate.ts";
import { filtersOf, type Filters } from "./model/filters.ts";
import { Follower, realTimer, type Task } from "./model/follower.ts";
import { Memory } from "./model/memory.ts";
import { formatPlace, home, pageNames, parsePlace, type Place } from "./model/place.ts";
import type { Span } from "./model/time.ts";
import { pathOf, taskOf, type Question } from "./net/ask.ts";
import type { Fault } from "./net/fault.ts";
import { Client, type Lane } from "./net/lanes.ts";
import { askRuns } from "./net/questions.ts";
import { sendFile } from "./net/send.ts";
import { realBrowser, Session } from "./net/session.ts";
import { storage } from "./view/storage.ts";

/** What a part of a page asks about: the place, or while the reader drags, what it would be. */
export interface Selected {
  recording: string;
  place: Place;
  /** As parameters of questions. */
  filters: Filters;
  /** The reader still drags: ask with rough=pixel. */
  rough: boolean;
}

/** The question that the bottom line shows, and the part that asks it. */
export interface Asked {
  question: QuestionName;
  values: Values;
  part: Follower<unknown>;
  /** The command that answers the same, if it is not the question's. */
  command?: (run: Run, recording: Recording) => string;
}

/** A function under the pointer: its own live bytes are drawn over the timeline. */
export interface Hovered {
  function: string;
  module: string;
}

export class App {
  readonly session = new Session(realBrowser());
  readonly #client = new Client(this.session, (input, init) => fetch(input, init), randomName());
  readonly #memory = new Memory((task) => this.#lasts(task));
  // The list is asked in a lane of its own: it must not be lost when the reader has already chosen.
  readonly runs = new Follower<Run[]>(this.#client.lane("background/session"));
  readonly about = this.follower<About>("about");
  readonly report = this.follower<Report>("report");
  /** Whether it is known what the recording can answer, or that this is not to be had. */
  readonly #known = computed(() => {
    const { phase } = this.about.wait.value ?? {};
    return this.about.shown.value !== undefined || phase === "failed" || phase === "cancelled";
  });
  /** How many answers are awaited. Until it is known what can be answered, there will be another question. */
  readonly awaits = computed(() => this.#client.running.value + (this.#known.value ? 0 : 1));
  readonly #checks = this.#client.lane("view/filter");
  readonly #ahead = this.#client.lane("background/ahead");
  #sent = 0; // files: each changes the list
  readonly #place = signal<Place>(parsePlace(location.search));
  /** The range while the reader drags over the timeline; undefined: nothing is dragged. */
  readonly brush = signal<Span | undefined>(undefined);
  readonly hovered = signal<Hovered | undefined>(undefined);
  /** What the bottom line says was asked. */
  readonly asked = signal<Asked | undefined>(undefined);
  /** From what the numbers of the page were estimated; undefined: they were not. */
  readonly estimate = signal<Estimate | undefined>(undefined);
  readonly actions = new Actions(storage(), /^Mac|^iP/.test(navigator.platform));
  /** A hidden tab asks nothing. */
  readonly visible = signal(!document.hidden);

  /** The recording of the place and its run, once the list is there. */
  get chosen(): { run: Run; recording: Recording } | undefined {
    const { recording } = this.#place.value;
    const runs = this.runs.shown.value?.value;
    return recording !== undefined && runs ? find(runs, recording) : undefined;
  }

  /** Whether the answer to a task stays what it is: the program has ended, and nothing but its recording is asked. */
  #lasts({ base, key }: Task<unknown>): boolean {
    const questions = key.split(" ").flatMap((part) => /^r\/[^/]+\/([\w-]+)/.exec(part)?.[1] ?? []);
    if (questions.length === 0 || questions.some((name) => changing.has(name))) return false;
    const recording = untracked(() => this.chosen)?.recording;
    return recording?.id === base && recording.end !== "still running";
  }

  /** How moments are written. */
  get clock(): Clock {
    return clockOf(this.chosen?.recording.durationNs || 1e9, this.#place.value.zoom);
  }

  get place(): ReadonlySignal<Place> {
    return this.#place;
  }

  start(): void {
    addEventListener("popstate", () => this.#move(parsePlace(location.search)));
    addEventListener("keydown", (event) => this.actions.press(event, this.#place.value.page));
    const toPages = pageNames.map((page) => [`page.${page}`, () => this.#turnTo(page)]);
    this.actions.add({ ...Object.fromEntries(toPages), "page.recordings": () => this.go(home) });
    document.addEventListener("visibilitychange", () => (this.visible.value = !document.hidden));
    effect(() => {
      if (this.session.state.value.phase === "open") untracked(() => this.#loadRuns());
    });
    this.put(this.about, ({ recording }) => taskOf(recording, { name: "about", parameters: {}, read: (a) => a }));
    this.put(this.report, ({ recording }) =>
      taskOf(recording, { name: "report", parameters: { top: 0 }, read: (a) => a }),
    );
    void this.session.start();
  }

  /** Leads to a place, as a link does: the browser's back leads here again. */
  go(place: Place): void {
    if (formatPlace(place) === formatPlace(this.#place.value)) return;
    history.pushState(null, "", formatPlace(place));
    this.#move(place);
  }

  #turnTo(page: Place["page"]): void {
    if (this.#place.value.recording !== undefined) this.change({ page });
  }

  /** Changes parts of the place. Replaced places are not in the browser's history. */
  change(parts: Partial<Place>, how: "push" | "replace" = "push"): void {
    const place = { ...this.#place.value, ...parts };
    if (how === "push") return this.go(place);
    history.replaceState(null, "", formatPlace(place));
    this.#move(place);
  }

  /** Ends a drag with the range that it chose. */
  select(parts: Partial<Place>): void {
    batch(() => {
      this.brush.value = undefined;
      this.change(parts);
    });
  }

  #move(place: Place): void {
    batch(() => {
      if (place.recording !== this.#place.value.recording) {
        this.brush.value = undefined;
        this.hovered.value = undefined;
        this.#memory.clear(); // pages may share what answers of one recording have in common
        this.#ahead.cancel();
      }
      this.#place.value = place;
    });
  }

  /**
   * A part that asks in lanes of its own name. Each question is put, whether it has been answered before or not.
   * @param drags whether it follows drags; else it stays as it is meanwhile
   */
  follower<T>(name: string, drags = true): Follower<T> {
    return new Follower<T>(this.#client.lane(`view/${name}`), this.#brush(name, drags));
  }

  /** The same, but it remembers answers: its tasks must do nothing but answer. */
  remembering<T>(name: string, drags = true): Follower<T> {
    const lane = this.#client.lane(`view/${name}`);
    return new Follower<T>(lane, this.#brush(name, drags), realTimer, this.#memory.of(name));
  }

  /** The same for what does not depend on the selection, and whose answer may take long: others are asked first. */
  later<T>(name: string): Follower<T> {
    return new Follower<T>(this.#client.lane(`background/${name}`), undefined, realTimer, this.#memory.of(name));
  }

  /** Asks in the background what a part will ask, which remembers: the answer is there when the reader comes. */
  async ahead<T>(name: string, task: Task<T>): Promise<void> {
    const known = this.#memory.of<T>(name);
    if (!this.visible.peek() || !this.#lasts(task) || known.get(task)) return;
    const begin = performance.now();
    const outcome = await this.#ahead.run((ask) => task.run(ask));
    if (!outcome || !("value" in outcome)) return; // the part will ask, and say why not
    known.put({ value: outcome.value, task, rough: false, tookMs: performance.now() - begin });
  }

  #brush(name: string, drags: boolean): Lane | undefined {
    return drags ? this.#client.lane(`brush/${name}`) : undefined;
  }

  /**
   * Has a part follow the selection, until the returned function is called.
   * @param task what it asks; undefined: nothing, and it shows nothing
   */
  put<T>(part: Follower<T>, task: (selected: Selected) => Task<T> | undefined): () => void {
    return effect(() => {
      if (this.session.state.value.phase !== "open") {
        this.#memory.clear();
        return untracked(() => part.clear()); // a new one asks anew
      }
      if (!this.visible.value) return;
      const place = this.#place.value;
      const brush = this.brush.value;
      const { recording } = place;
      const rough = brush !== undefined;
      const asked = recording && task({ recording, place, filters: filtersOf(place, brush), rough });
      untracked(() => {
        if (!asked) part.clear();
        else if (rough) part.follow(asked);
        else part.settle(asked);
      });
    });
  }

  /** Puts a question, and has the bottom line show it. */
  putMain<Q extends QuestionName, T>(
    part: Follower<T>,
    question: (selected: Selected) => Question<Q, T> | undefined,
  ): () => void {
    const stop = this.put(part, (selected) => {
      const asked = question(selected);
      untracked(() => {
        const values = asked && (asked.same ?? (asked.parameters as Values));
        this.asked.value = values && {
          question: asked.name,
          values,
          part: part as Follower<unknown>,
          ...(asked.command && { command: asked.command }),
          ...(asked.flags && {
            command: (run, recording) => commandOf(run, recording, asked.name, { ...values, ...asked.flags }),
          }),
        };
      });
      return asked && taskOf(selected.recording, asked);
    });
    return () => {
      stop();
      if (this.asked.peek()?.part === part) this.asked.value = undefined;
    };
  }

  /** Waits until it is known what the recording can answer, or that this is not to be had. */
  async known(): Promise<void> {
    await new Promise<void>((done) => {
      const stop = effect(() => {
        if (!this.#known.value) return;
        // Parts that depend on it ask first.
        setTimeout(() => {
          stop();
          done();
        }, 0);
      });
    });
  }

  /** Why the server refuses filters; undefined: it does not, or does not answer. */
  async refusal(filters: Filters): Promise<Fault | undefined> {
    const { recording } = this.#place.peek();
    if (recording === undefined) return undefined;
    const path = pathOf(recording, "top", { ...filters, limit: 1, rough: "pixel" } as Values);
    const outcome = await this.#checks.run((ask) => ask(path));
    return outcome && "fault" in outcome && outcome.fault.kind === "refused" ? outcome.fault : undefined;
  }

  /** What a part asks about that asks only now and then: the place, whatever the reader drags. */
  selection(): Selected {
    const place = this.#place.peek();
    return { recording: place.recording ?? "", place, filters: filtersOf(place), rough: false };
  }

  /** Sends a file, which becomes a recording of the session; returns its id. */
  async sendFile(file: File, signal: AbortSignal, onProgress: (progress: Progress) => void): Promise<string> {
    const id = await sendFile(this.#client, file, signal, onProgress);
    this.#sent++;
    this.#loadRuns();
    // The place leads to it once the list has it, or will not have it.
    await new Promise<void>((resolve) => {
      const stop = effect(() => {
        const runs = this.runs.shown.value?.value;
        const wait = this.runs.wait.value?.phase;
        if ((runs && find(runs, id)) || wait === "failed" || wait === "cancelled") {
          queueMicrotask(() => {
            stop();
            resolve();
          });
        }
      });
    });
    return id;
  }

  #loadRuns(): void {
    const asked = this.#place.value.recording;
    this.runs.settle({
      base: "",
      key: `session ${this.#sent}`,
      run: async (ask) => {
        const runs = await askRuns(ask);
        // A single recording needs no choice.
        const only = onlyRecording(runs);
        if (asked === undefined && only !== undefined && this.#place.value.recording === undefined) {
          const place = { ...this.#place.value, recording: only };
          history.replaceState(null, "", formatPlace(place));
          this.#move(place);
        }
        return runs;
      },
    });
  }
}

/** The recording that needs no choice. What cannot be read is shown, so there is none beside it. */
function onlyRecording(runs: Run[]): string | undefined {
  if (runs.some((run) => run.recordings.length === 0)) return undefined;
  const all = runs.flatMap((run) => run.recordings);
  return all.length === 1 ? all[0]?.id : undefined;
}

/** A random name. crypto.randomUUID would do, but only exists where the page comes by HTTPS or from this machine. */
function randomName(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((n) => n.toString(16).padStart(2, "0")).join("");
}
