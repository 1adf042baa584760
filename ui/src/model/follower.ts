// A part of a page follows the selection: rough answers while the reader drags, the exact one on release. What is shown
// stays until the next answer is there; if that takes longer than 100 ms the part says so, and after 500 ms how far it
// is.
import { batch, signal, type ReadonlySignal } from "@preact/signals";
import type { Progress } from "../api.ts";
import type { Fault } from "../net/fault.ts";
import type { Ask, Outcome } from "../net/lanes.ts";
import type { Known } from "./memory.ts";

/** A question of a part. */
export interface Task<T> {
  /** Of which recording it is: an answer about another one is not shown meanwhile. */
  base: string;
  /** Equal tasks have equal answers. */
  key: string;
  run(ask: Ask): Promise<T>;
}

/** An answer. */
export interface Shown<T> {
  value: T;
  task: Task<T>;
  /** It was asked while the selection still changed: an exact one follows. */
  rough: boolean;
  tookMs: number;
}

/** For what a part waits, if for longer than 100 ms, or why it does not. */
export type Wait =
  | { phase: "busy"; progress: Progress | undefined } // progress: from 500 ms on
  | { phase: "failed"; fault: Fault }
  | { phase: "cancelled" };

export const busyMs = 100;
export const progressMs = 500;

/** Calls a function after some milliseconds; returns what prevents that. */
export type Timer = (ms: number, call: () => void) => () => void;

export const realTimer: Timer = (ms, call) => {
  const id = setTimeout(call, ms);
  return () => clearTimeout(id);
};

/** Where tasks run: a lane (net/lanes.ts). */
export interface Runner {
  run<T>(task: (ask: Ask) => Promise<T>, onProgress?: (progress: Progress) => void): Promise<Outcome<T>>;
  cancel(): void;
}

export class Follower<T> {
  readonly #shown = signal<Shown<T> | undefined>(undefined);
  readonly #wait = signal<Wait | undefined>(undefined);
  readonly #exact: Runner;
  readonly #rough: Runner | undefined;
  readonly #timer: Timer;
  readonly #known: Known<T> | undefined;
  #task: Task<T> | undefined; // the exact one that was asked last
  #next: Task<T> | undefined; // the rough one that is asked once the one before is answered
  #roughRuns = false;
  #generation = 0; // of exact tasks
  #stopTimers: () => void = () => {};

  /**
   * @param rough where rough tasks run; undefined: this part does not follow drags
   * @param known answers that need not be asked for again
   */
  constructor(exact: Runner, rough?: Runner, timer: Timer = realTimer, known?: Known<T>) {
    this.#exact = exact;
    this.#rough = rough;
    this.#timer = timer;
    this.#known = known;
  }

  get shown(): ReadonlySignal<Shown<T> | undefined> {
    return this.#shown;
  }

  get wait(): ReadonlySignal<Wait | undefined> {
    return this.#wait;
  }

  /** Asks roughly, while the selection still changes. One task runs at a time: answers come in a steady flow. */
  follow(task: Task<T>): void {
    if (!this.#rough || this.#shown.value?.task.key === task.key) return;
    this.#stopExact();
    this.#task = undefined;
    this.#next = task;
    if (!this.#roughRuns) void this.#runRough(this.#rough);
  }

  async #runRough(lane: Runner): Promise<void> {
    this.#roughRuns = true;
    for (let task = this.#next; task; task = this.#next) {
      this.#next = undefined;
      const begin = performance.now();
      const outcome = await lane.run((ask) => task.run(ask));
      // A fault of a rough answer is not shown: the exact one has it, too.
      if (!outcome || !("value" in outcome) || this.#task) continue;
      this.#show({ value: outcome.value, task, rough: true, tookMs: performance.now() - begin });
    }
    this.#roughRuns = false;
  }

  /** Asks exactly. What was asked before is dropped. */
  settle(task: Task<T>): void {
    const before = this.#task;
    if (before?.key === task.key && before.base === task.base && this.#wait.value?.phase !== "cancelled") return;
    this.#start(task);
  }

  /** Asks again, after a failure. */
  retry(): void {
    if (this.#task) this.#start(this.#task);
  }

  #start(task: Task<T>): void {
    this.#next = undefined;
    this.#rough?.cancel();
    this.#stopTimers();
    this.#task = task;
    const generation = ++this.#generation;
    const current = () => generation === this.#generation;
    batch(() => {
      this.#wait.value = undefined;
      const shown = this.#shown.value;
      if (shown && shown.task.base !== task.base) this.#shown.value = undefined;
    });
    const shown = this.#shown.value;
    if (shown && !shown.rough && shown.task.key === task.key) {
      this.#exact.cancel();
      return;
    }
    const known = this.#known?.get(task);
    if (known) {
      this.#exact.cancel();
      this.#show(known);
    } else void this.#runExact(task, current);
  }

  async #runExact(task: Task<T>, current: () => boolean): Promise<void> {
    const begin = performance.now();
    let progress: Progress = { share: null, doing: "" };
    let late = false; // whether progress is shown
    const busy = () => (this.#wait.value = { phase: "busy", progress: late ? progress : undefined });
    const stopBusy = this.#timer(busyMs, busy);
    const stopProgress = this.#timer(progressMs, () => {
      late = true;
      busy();
    });
    const stop = () => {
      stopBusy();
      stopProgress();
    };
    this.#stopTimers = stop;
    const outcome = await this.#exact.run(
      (ask) => task.run(ask),
      (p) => {
        progress = p;
        if (late && current()) busy();
      },
    );
    stop();
    if (!current()) return;
    if (!outcome) this.#wait.value = { phase: "cancelled" };
    else if ("fault" in outcome) {
      const { fault } = outcome;
      batch(() => {
        this.#wait.value = { phase: "failed", fault };
        this.#shown.value = undefined; // it belongs to another selection
      });
    } else {
      const shown = { value: outcome.value, task, rough: false, tookMs: performance.now() - begin };
      this.#known?.put(shown);
      this.#show(shown);
    }
  }

  #show(shown: Shown<T>): void {
    batch(() => {
      this.#wait.value = undefined;
      this.#shown.value = shown;
    });
  }

  /** Stops waiting. What is shown stays. */
  cancel(): void {
    this.#next = undefined;
    this.#rough?.cancel();
    this.#exact.cancel();
  }

  /** Drops what is shown and what was asked: nothing is asked for now. */
  clear(): void {
    this.#stopExact();
    this.#next = undefined;
    this.#rough?.cancel();
    this.#task = undefined;
    batch(() => {
      this.#wait.value = undefined;
      this.#shown.value = undefined;
    });
  }

  #stopExact(): void {
    this.#generation++;
    this.#stopTimers();
    this.#wait.value = undefined;
    this.#exact.cancel();
  }
}
