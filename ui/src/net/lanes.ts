// Requests go in lanes. A lane carries one task at a time, and the newest wins: it aborts the one before, here and, by
// the lane's name, on the server. So a drag never waits for answers that nobody will see, nor for the background.
import { signal as makeSignal, type ReadonlySignal } from "@preact/signals";
import type { Progress } from "../api.ts";
import { Fault, faultOf, isAbort, unreachable } from "./fault.ts";
import type { Session } from "./session.ts";
import { cutShort, faultOfError, readStream } from "./stream.ts";

/** A class of lanes, and after a slash the part of the page that asks. Each class has workers of its own. */
export type LaneName = `${"brush" | "view" | "background"}/${string}`;

/** Asks the server one question: the path below /api/v1/ with its query. */
export type Ask = (path: string) => Promise<unknown>;

/** The outcome of a task; undefined if a newer task has replaced it, or it was cancelled. */
export type Outcome<T> = { value: T } | { fault: Fault } | undefined;

export class Lane {
  readonly #name: LaneName;
  readonly #client: Client;
  #running: AbortController | undefined;

  constructor(client: Client, name: LaneName) {
    this.#client = client;
    this.#name = name;
  }

  /**
   * Runs a task instead of the one that runs now. The task asks its questions one after the other: two at once would
   * replace each other on the server.
   */
  async run<T>(
    task: (ask: Ask) => Promise<T>,
    onProgress: (progress: Progress) => void = () => {},
  ): Promise<Outcome<T>> {
    this.cancel();
    const controller = new AbortController();
    const { signal } = controller;
    this.#running = controller;
    this.#client.ran(1);
    const progress = (p: Progress) => {
      if (!signal.aborted) onProgress(p);
    };
    try {
      const value = await task((path) => this.#client.ask(path, this.#name, signal, progress));
      return signal.aborted ? undefined : { value };
    } catch (thrown) {
      if (signal.aborted || isAbort(thrown)) return undefined;
      return { fault: faultOf(thrown, "heaptap") };
    } finally {
      if (this.#running === controller) this.#running = undefined;
      this.#client.ran(-1);
    }
  }

  /** Aborts the task that runs. */
  cancel(): void {
    this.#running?.abort();
    this.#running = undefined;
  }
}

const mostTries = 3;

export class Client {
  readonly #running = makeSignal(0);
  readonly #session: Session;
  readonly #fetch: typeof fetch;
  readonly #tab: string;

  /** @param tab names this tab; a copy of the tab must have another name, so it is not stored */
  constructor(session: Session, doFetch: typeof fetch, tab: string) {
    this.#session = session;
    this.#fetch = doFetch;
    this.#tab = tab;
  }

  /** How many tasks run in all lanes; one whose answer is there, but is still being read, does. */
  get running(): ReadonlySignal<number> {
    return this.#running;
  }

  /** Counts tasks of lanes that begin, or -1 that ends. */
  ran(more: 1 | -1): void {
    this.#running.value = this.#running.peek() + more;
  }

  lane(name: LaneName): Lane {
    return new Lane(this, name);
  }

  async ask(
    path: string,
    lane: LaneName,
    signal: AbortSignal,
    onProgress: (progress: Progress) => void,
    file?: Blob, // is posted
  ): Promise<unknown> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#askOnce(path, lane, signal, onProgress, file);
      } catch (thrown) {
        // This is the newest: one that was replaced is aborted. So an older one came to the server after it.
        const again = thrown instanceof Fault && thrown.kind === "replaced" && tries < mostTries && !file;
        if (!again) throw thrown;
      }
    }
  }

  async #askOnce(
    path: string,
    lane: LaneName,
    signal: AbortSignal,
    onProgress: (progress: Progress) => void,
    file: Blob | undefined,
  ): Promise<unknown> {
    const where = `${file ? "POST" : "GET"} /api/v1/${path.replace(/\?.*/, "")}`; // a query may be long
    const token = this.#session.token;
    if (token === undefined) throw new Fault("unauthorized", "this tab has no token", where);
    try {
      const request = this.#fetch(`/api/v1/${path}`, {
        signal,
        headers: { Authorization: `Bearer ${token}`, "X-Heaptap-Tab": this.#tab, "X-Heaptap-Lane": lane },
        ...(file && { method: "POST", body: file }),
      });
      const response = await request.catch((thrown: unknown) => unreachable(thrown, where));
      if (response.status === 401) void this.#session.drop(token);
      const streamed = response.headers.get("Content-Type")?.startsWith("application/x-ndjson");
      if (response.ok && streamed && response.body) return await readStream(response.body, where, onProgress);
      const body: unknown = await response.json().catch(() => undefined);
      if (!response.ok) throw faultOfError(body, where, response.status);
      if (body === undefined) throw cutShort(where);
      return body;
    } catch (thrown) {
      signal.throwIfAborted();
      throw faultOf(thrown, where);
    }
  }
}
