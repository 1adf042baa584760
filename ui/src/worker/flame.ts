// The worker that lays out flame graphs. It gets numbers only, never a name.
import { buffersOf, Workshop, type Job } from "../model/flame/job.ts";

/** What this needs of a worker's global object. */
interface Scope {
  onmessage: ((event: MessageEvent<{ picture: string; job: Job }>) => void) | null;
  postMessage(message: unknown, transfer: ArrayBuffer[]): void;
}

const scope = globalThis as unknown as Scope;
const workshops = new Map<string, Workshop>(); // by picture: each keeps where its frames were

scope.onmessage = ({ data: { picture, job } }) => {
  let workshop = workshops.get(picture);
  if (!workshop) workshops.set(picture, (workshop = new Workshop()));
  const laid = workshop.do(job);
  scope.postMessage({ picture, laid }, buffersOf(laid));
};
