// Answers that a page asks for one by one, as the reader opens rows: the callers of a function, the rest of a tree.
import { effect, signal, untracked, type ReadonlySignal } from "@preact/signals";
import type { Fault } from "../net/fault.ts";
import type { Follower, Task } from "./follower.ts";

/** An answer, or why there is none. */
export type Extra<T> = { value: T } | { fault: Fault } | "cancelled";

/** Puts questions one after the other: two at once would replace each other in their lane. */
export class Extras<T> {
  readonly #answers = signal<ReadonlyMap<string, Extra<T>>>(new Map());
  readonly #part: Follower<T>;
  #waiting: Task<T>[] = [];
  #running: Task<T> | undefined;

  constructor(part: Follower<T>) {
    this.#part = part;
  }

  /** By the keys of their tasks. */
  get answers(): ReadonlySignal<ReadonlyMap<string, Extra<T>>> {
    return this.#answers;
  }

  /** Watches for answers, until the returned function is called. */
  start(): () => void {
    const stop = effect(() => {
      const shown = this.#part.shown.value;
      const wait = this.#part.wait.value;
      untracked(() => {
        const { key } = this.#running ?? {};
        if (key === undefined) return;
        if (wait?.phase === "failed") this.#keep(key, { fault: wait.fault });
        else if (wait?.phase === "cancelled") this.#keep(key, "cancelled");
        else if (shown && shown.task.key === key && wait === undefined) this.#keep(key, { value: shown.value });
      });
    });
    return () => {
      stop();
      this.clear();
    };
  }

  /** Asks, if that was not asked yet. */
  ask(task: Task<T>): void {
    const asked = (other: Task<T> | undefined) => other?.key === task.key;
    if (this.#answers.value.has(task.key) || asked(this.#running) || this.#waiting.some(asked)) return;
    this.#waiting.push(task);
    if (!this.#running) this.#next();
  }

  /** Drops all answers, and what was asked. */
  clear(): void {
    this.#waiting = [];
    this.#running = undefined;
    this.#part.clear();
    if (this.#answers.value.size > 0) this.#answers.value = new Map();
  }

  #keep(key: string, answer: Extra<T>): void {
    this.#running = undefined;
    this.#answers.value = new Map(this.#answers.value).set(key, answer);
    this.#next();
  }

  #next(): void {
    this.#running = this.#waiting.shift();
    if (this.#running) this.#part.settle(this.#running);
  }
}
