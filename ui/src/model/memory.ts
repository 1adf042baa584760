// The last answers, so that a page to which the reader comes back is there at once.
import type { Shown, Task } from "./follower.ts";

/** Answers to the questions of one part. */
export interface Known<T> {
  get(task: Task<T>): Shown<T> | undefined;
  put(shown: Shown<T>): void;
}

/** Enough for all pages with one selection. */
const most = 40;

/** How many of them may be films of the heap: one has some 20 MB. */
const mostFilms = 2;

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
    const names = [...this.#kept.keys()];
    const films = names.filter((one) => one.startsWith("heap "));
    if (films.length > mostFilms) this.#kept.delete(films[0]!);
    else if (names.length > most) this.#kept.delete(names[0]!);
  }

  clear(): void {
    this.#kept.clear();
  }
}
