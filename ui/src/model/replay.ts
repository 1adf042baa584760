// What heaptap replay --save has measured: the recorded calls with several allocators.
import type { Replayed } from "../api.ts";
import { plural, shortCount, size } from "./format.ts";
import { hash } from "./group.ts";
import type { Curve, Listing, Numbered } from "./more.ts";
import { stepPath } from "./threads.ts";

export function replayOf({ replay, why }: Replayed): Listing {
  if (!replay) return { columns: [], items: [], more: 0, sum: "", sorts: [], ...(why !== "" && { why }) };
  const { allocators: a, best } = replay;
  const column = (key: string, title: string, hint: string, unit: Numbered["unit"], values: Float64Array,
    bars = false): Numbered => ({ key, title, hint, unit, values, bars });
  const interval = a.peak_rss_all_bytes.some((bytes) => bytes > 0);
  const upper = column("upper", "peak, all", "the same with all pages of all blocks written to", "bytes",
    a.peak_rss_all_bytes);
  const names = Array.from({ length: a.rows }, (_, i) => a.name.at(i));
  const bestAt = (name: string): string => {
    const list = [
      [best.peak_rss, "peak RSS"],
      [best.mean_rss, "mean RSS"],
      [best.time, "time"],
      [best.p99, "p99"],
    ];
    return list.filter(([winner]) => winner === name).map(([, what]) => what).join(", ");
  };
  return {
    columns: [
      column("peak", "peak RSS", "the largest resident set", "bytes", a.peak_rss_bytes, true),
      ...(interval ? [upper] : []),
      column("mean", "mean RSS", "over the recorded time", "bytes", a.mean_rss_bytes),
      column("freed", "all freed", "resident when all blocks were freed", "bytes", a.freed_rss_bytes),
      column("call", "per call", "processor time of a call", "ns", a.call_ns, true),
      column("p50", "p50", "of the times of single calls: half are shorter", "ns", a.p50_ns),
      column("p99", "p99", "99 % are shorter", "ns", a.p99_ns),
      column("p999", "p99.9", "99.9 % are shorter", "ns", a.p999_ns),
      column("max", "max", "the longest call", "ns", a.max_ns),
      column("cpu", "CPU time", "of the whole process", "ns", a.cpu_ns),
    ],
    items: names.map((name, i) => {
      const wins = a.rows > 1 ? bestAt(name) : "";
      return { key: hash(`${name} ${i}`), name, note: wins && `best: ${wins}`, hint: name, code: false };
    }),
    more: 0,
    sum: [
      replay.verdict,
      `${shortCount(replay.calls)} calls by ${plural(replay.threads, "thread")}`,
      `at most ${size(replay.peak_live_bytes)} live`,
      `median of ${plural(replay.runs, "run")}`,
    ].filter(Boolean).join(" · "),
    sorts: [],
    curves: curvesOf(replay, names),
  };
}

/** What was resident with each allocator, over the recorded time, and what was live; all at one scale. */
function curvesOf({ allocators: a, times_ns, live_bytes }: NonNullable<Replayed["replay"]>, names: string[]): Curve[] {
  const most = [...a.rss_bytes.of, ...live_bytes].reduce((x, y) => Math.max(x, y), 0);
  const back = stepPath(times_ns, live_bytes, most);
  return names.map((name, i): Curve => {
    const part = (list: typeof a.rss_bytes | typeof a.times_ns) => list.of.slice(list.start(i), list.end(i));
    return { name, text: size(a.peak_rss_bytes[i] ?? NaN), path: stepPath(part(a.times_ns), part(a.rss_bytes), most),
      back };
  });
}
