// The page's side of the worker that lays out flame graphs. Of each picture one job is under way at a time; of those
// that come meanwhile, the newest is next.
import { Workshop, type Job, type Laid } from "../model/flame/job.ts";

type Order = Omit<Job, "id">;

/** What this needs of a worker. */
export interface Port {
  postMessage(message: unknown): void;
  onmessage: ((event: MessageEvent<{ picture: string; laid: Laid }>) => void) | null;
  onerror: ((event: ErrorEvent) => void) | null;
}

export class Drawer {
  readonly #start: () => Port;
  #port: Port | undefined;
  readonly #pictures = new Map<string, { done: (laid: Laid) => void; under: Job | undefined; next: Job | undefined }>();
  #inline: Map<string, Workshop> | undefined; // without a worker
  #count = 0;

  constructor(start: () => Port) {
    this.#start = start;
  }

  /** Lays out a picture. `done` is called for it, unless a newer one of the same name comes before it is begun. */
  lay(picture: string, order: Order, done: (laid: Laid) => void): void {
    const job: Job = { id: ++this.#count, ...order };
    const known = this.#pictures.get(picture);
    if (known?.under) {
      known.next = job;
      known.done = done;
      return;
    }
    this.#pictures.set(picture, { done, under: job, next: undefined });
    this.#send(picture, job);
  }

  /** Starts the worker, if it does not run yet: so its code comes while the first tree is asked for. */
  start(): void {
    if (this.#inline || this.#port) return;
    try {
      this.#port = this.#start();
      this.#port.onmessage = ({ data }) => this.#finish(data.picture, data.laid);
      this.#port.onerror = () => this.#fall();
    } catch {
      this.#inline = new Map(); // the browser has no workers, or refuses this one
    }
  }

  #send(picture: string, job: Job): void {
    this.start();
    if (!this.#inline) return this.#port?.postMessage({ picture, job });
    let workshop = this.#inline.get(picture);
    if (!workshop) this.#inline.set(picture, (workshop = new Workshop()));
    const laid = workshop.do(job);
    queueMicrotask(() => this.#finish(picture, laid));
  }

  #finish(picture: string, laid: Laid): void {
    const known = this.#pictures.get(picture);
    if (!known || known.under?.id !== laid.id) return;
    const { next, done } = known;
    known.under = next;
    known.next = undefined;
    if (next) this.#send(picture, next);
    done(laid);
  }

  /** The worker has failed: what it had to do is done here. */
  #fall(): void {
    this.#port = undefined;
    this.#inline = new Map();
    for (const [picture, { under }] of this.#pictures) if (under) this.#send(picture, under);
  }
}
