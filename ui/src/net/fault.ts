// What went wrong with a request, for the person who reads it: what, where, what to do.

/** Kinds of faults that the page treats differently. */
export type FaultKind =
  | "unauthorized" // the token is missing, wrong or revoked
  | "unreachable" // no answer: the server has ended, or the network is down
  | "broken" // the server failed or is busy, or the answer ended early or is not what the API promises
  | "replaced" // by a request that the server takes for newer: they may overtake each other on their way
  | "refused"; // the server says why: a bad parameter, a missing recording, folded events

export class Fault extends Error {
  readonly kind: FaultKind;
  /** Which question or address. */
  readonly where: string;
  /** What the reader can do about it; empty if trying again is all there is. */
  readonly todo: string;
  /** Which byte of what was given is wrong; undefined: that is not known. */
  readonly position: number | undefined;

  constructor(kind: FaultKind, what: string, where: string, todo = "", position?: number) {
    super(what);
    this.name = "Fault";
    this.kind = kind;
    this.where = where;
    this.todo = todo;
    this.position = position;
  }

  /** Whether the same request may succeed later. */
  get retriable(): boolean {
    return this.kind !== "unauthorized" && this.kind !== "refused";
  }
}

/** Which question failed, in words: the address is for those who write programs. */
export function whereInWords(where: string): string {
  const [, name, parameter] = /^(?:GET|POST) \/api\/v1\/(?:r\/[^/]+\/)?([^,]+)(?:, (.+))?$/.exec(where) ?? [];
  if (name === undefined) return where;
  return `asked for: ${name}${parameter === undefined ? "" : `, with ${parameter}`}`;
}

/** Turns what a catch clause holds into a fault. An abort is not a fault: it is thrown again. */
export function faultOf(thrown: unknown, where: string): Fault {
  if (thrown instanceof Fault) return thrown;
  if (isAbort(thrown)) throw thrown;
  return new Fault("broken", thrown instanceof Error ? thrown.message : String(thrown), where);
}

/** The fault of a request that got no answer. */
export function unreachable(thrown: unknown, where: string): never {
  if (isAbort(thrown)) throw thrown;
  throw new Fault("unreachable", "heaptap does not answer", where, "Is `heaptap open` still running in its terminal?");
}

export function isAbort(thrown: unknown): boolean {
  return thrown instanceof Error && thrown.name === "AbortError";
}
