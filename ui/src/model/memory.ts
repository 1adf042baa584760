// The last answers, so that a page to which the reader comes back is there at once.
import type { Shown, Task } from "./follower.ts";

/** Answers to the questions of one part. */
export interface Known<T> {
  get(task: Task<T>): Shown<T> | undefined;
  put(shown: Shown<T>): void;
}

/** Enough for all pages with one selection. */
const most = 40;

export class Memory {
  readonly #kept = new Map<string, Shown<unknown>>(); // what was needed last comes last
  readonly #lasts: (task: Task<unknown>) => boolean;

  /** @param lasts whether the answer to a task stays what it is */
  constructor(lasts: (task: Task<unknown>) => boolean) {
    this.#lasts = lasts;
  }

  /** What a part knows. Parts make different things of the same answer. */
  of<T>(part: string): Known<T> {
    const nameOf = (task: Task<T>) => `${part} ${task.base} ${task.key}`;
    return {
      get: (task) => {
        const name = nameOf(task);
        const shown = this.#lasts(task) ? this.#kept.get(name) : undefined;
        if (shown) this.#keep(name, shown);
        return shown as Shown<T> | undefined;
      },
      put: (shown) => {
        if (this.#lasts(shown.task)) this.#keep(nameOf(shown.task), shown);
      },
    };
  }

  #keep(name: string, shown: Shown<unknown>): void {
    this.#kept.delete(name);
    this.#kept.set(name, shown);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > most && oldest !== undefined) this.#kept.delete(oldest);
  }

  clear(): void {
    this.#kept.clear();
  }
}
