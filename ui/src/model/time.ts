// Times as the API and the command line write them: durations since the start of the recording.

/** A range of time: nanoseconds since the start of the recording. */
export interface Span {
  begin: number;
  end: number;
}

/** What times may refer to. */
export interface Run {
  begin: number;
  end: number;
  peak: number | undefined;
  marks: ReadonlyMap<string, number>;
}

const units: Record<string, number> = { ns: 1, us: 1e3, µs: 1e3, ms: 1e6, s: 1e9, m: 60e9, h: 3600e9 };

/** The moment that a text means, such as 1.5s, 2m30s, 10%, peak, or a mark's name; undefined if it means none. */
export function parseTime(text: string, run: Run): number | undefined {
  if (text === "start") return run.begin;
  if (text === "end") return run.end;
  if (text === "peak") return run.peak;
  const share = /^(\d+(?:\.\d+)?)%$/.exec(text);
  if (share) return run.begin + (Number(share[1]) / 100) * (run.end - run.begin);
  if (/^(\d+(\.\d+)?(ns|us|µs|ms|s|m|h))+$/.test(text)) {
    let sum = 0;
    for (const [, n, unit = ""] of text.matchAll(/(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)/g)) {
      sum += Number(n) * (units[unit] ?? 0);
    }
    return Math.round(sum);
  }
  return run.marks.get(text);
}

/** A moment as the command line reads it back, exactly: 12.0431s, 1.5ms, 0s. */
export function timeText(ns: number): string {
  const whole = Math.round(ns);
  for (const [unit, digits] of [
    ["s", 9],
    ["ms", 6],
    ["us", 3],
  ] as const) {
    if (whole >= 10 ** digits || (whole === 0 && unit === "s")) {
      const text = whole.toString().padStart(digits + 1, "0");
      const fraction = text.slice(-digits).replace(/0+$/, "");
      return `${text.slice(0, -digits)}${fraction && `.${fraction}`}${unit}`;
    }
  }
  return `${whole}ns`;
}

/** Rounds a moment to what a reader can point at: a two-thousandth of the span that is shown, as a round number. */
export function roundTime(ns: number, shown: number): number {
  const step = 10 ** Math.max(0, Math.floor(Math.log10(Math.max(1, shown / 2000))));
  return Math.round(ns / step) * step;
}

/** The span between two texts, in order; an end that is missing or unknown is that of the run. */
export function parseSpan(from: string | undefined, to: string | undefined, run: Run): Span {
  const a = (from === undefined ? undefined : parseTime(from, run)) ?? run.begin;
  const b = (to === undefined ? undefined : parseTime(to, run)) ?? run.end;
  return { begin: Math.min(a, b), end: Math.max(a, b) };
}
