// How moments and ranges of a run are written on the screen: the same in every place. Addresses and commands are exact.
import { parseSpan, parseTime, type Run, type Span } from "./time.ts";
import { momentLabel } from "./timeline-labels.ts";

/** All moments have one unit, and the digits that tell apart what the timeline shows. */
export class Clock {
  readonly #pixel: number;

  /** @param view the part of the run that the timeline shows */
  constructor(
    readonly run: Span,
    view: Span = run,
  ) {
    this.#pixel = Math.max(1, (view.end - view.begin) / 1000);
  }

  /** A moment: 4.20 s, 12:04. */
  moment(ns: number, pixel = this.#pixel): string {
    return momentLabel(ns, pixel, Math.max(1, this.run.end));
  }

  /** A range: 4.20 s – 5.10 s, start – 12:04. A short one has more digits: its ends differ. */
  span({ begin, end }: Span): string {
    const pixel = Math.max(1, Math.min(this.#pixel, (end - begin) / 10));
    const least = begin <= this.run.begin ? "start" : this.moment(begin, pixel);
    return `${least} – ${end > this.run.end - this.#pixel ? "end" : this.moment(end, pixel)}`;
  }

  /** A moment of the address; a name, such as that of a mark, as it is. */
  text(time: string): string {
    const ns = named(time) ? undefined : parseTime(time, this.#named);
    return ns === undefined ? time : this.moment(ns);
  }

  /** A range of the address. */
  range(from = "start", to = "end"): string {
    const [begin, end] = [from, to].map((time) => parseTime(time, this.#named));
    if (begin !== undefined && end !== undefined) return this.span({ begin, end });
    return `${this.text(from)} – ${this.text(to)}`;
  }

  get #named(): Run {
    return { ...this.run, peak: undefined, marks: new Map() };
  }
}

function named(time: string): boolean {
  return time === "start" || time === "end";
}

/**
 * The clock of a run.
 * @param zoom what of it the timeline shows, as the address says it
 */
export function clockOf(end: number, zoom: string | undefined): Clock {
  const run = { begin: 0, end };
  const [from, to] = zoom?.split("..") ?? [];
  const view = parseSpan(from || undefined, to || undefined, { ...run, peak: undefined, marks: new Map() });
  return new Clock(run, view.end > view.begin ? view : run);
}
