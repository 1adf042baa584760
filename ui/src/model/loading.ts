// What a part of the page shows while an answer is on its way. An answer within 100 ms replaces the one before without
// a flicker; after that a skeleton says that something comes, and after 500 ms how far it is.
import { signal, type ReadonlySignal } from "@preact/signals";
import type { Fault } from "../net/fault.ts";
import type { Outcome } from "../net/lanes.ts";
import type { Progress } from "../api.ts";

export type Loading<T> =
  | { phase: "blank" } // nothing was asked yet, or less than 100 ms ago
  | { phase: "skeleton" }
  | { phase: "progress"; progress: Progress }
  | { phase: "done"; value: T }
  | { phase: "failed"; fault: Fault }
  | { phase: "cancelled" };

export const skeletonMs = 100;
export const progressMs = 500;

/** Calls a function after some milliseconds; returns what prevents that. */
export type Timer = (ms: number, call: () => void) => () => void;

export const realTimer: Timer = (ms, call) => {
  const id = setTimeout(call, ms);
  return () => clearTimeout(id);
};

export class Loader<T> {
  readonly #state = signal<Loading<T>>({ phase: "blank" });
  readonly #timer: Timer;
  #stopTimers: () => void = () => {};
  #generation = 0;

  constructor(timer: Timer = realTimer) {
    this.#timer = timer;
  }

  get state(): ReadonlySignal<Loading<T>> {
    return this.#state;
  }

  /**
   * Shows the states of a request until its outcome is there. A newer call replaces an older one, whose outcome is
   * dropped.
   */
  async show(request: (onProgress: (progress: Progress) => void) => Promise<Outcome<T>>): Promise<void> {
    this.#stopTimers();
    const generation = ++this.#generation;
    const current = () => generation === this.#generation;
    let progress: Progress = { share: null, doing: "" };
    let late = false; // whether progress is shown
    const stopSkeleton = this.#timer(skeletonMs, () => (this.#state.value = { phase: "skeleton" }));
    const stopProgress = this.#timer(progressMs, () => {
      late = true;
      this.#state.value = { phase: "progress", progress };
    });
    const stop = () => {
      stopSkeleton();
      stopProgress();
    };
    this.#stopTimers = stop;

    const outcome = await request((p) => {
      progress = p;
      if (late && current()) this.#state.value = { phase: "progress", progress };
    });
    stop();
    if (!current()) return;
    late = false;
    if (!outcome) this.#state.value = { phase: "cancelled" };
    else if ("fault" in outcome) this.#state.value = { phase: "failed", fault: outcome.fault };
    else this.#state.value = { phase: "done", value: outcome.value };
  }
}
