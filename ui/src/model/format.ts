// How quantities are written. Sizes have binary prefixes and three significant digits; the exact value is in the hint
// of each number.

const binary = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"] as const;

/** A number of bytes: 0 B, 1,023 B, 1.50 KiB, 72.7 MiB. */
export function size(bytes: number): string {
  if (Math.abs(bytes) < 1023.5) return `${count(Math.round(bytes))} B`;
  let value = bytes / 1024;
  let i = 0;
  while (Math.abs(value) >= 1023.5 && i < binary.length - 1) {
    value /= 1024;
    i++;
  }
  return `${digits(value)} ${binary[i] ?? ""}`;
}

/** A number of bytes in full, for hints: 23,419,863 bytes. */
export function exactSize(bytes: number): string {
  return bytes === 1 ? "1 byte" : `${count(bytes)} bytes`;
}

/** A count in full: 1,234,567. */
export function count(n: number): string {
  return n.toString().replace(/\B(?=(\d{3})+$)/g, ",");
}

/** A count in few characters: 9,999, 12.3 k, 4.56 M. */
export function shortCount(n: number): string {
  if (n < 10_000) return count(n);
  let value = n / 1000;
  let i = 0;
  while (value >= 999.5 && i < 5) {
    value /= 1000;
    i++;
  }
  return `${digits(value)} ${"kMGTPE"[i] ?? ""}`;
}

/** A count and its noun: 1 block, 2,000 blocks. */
export function plural(n: number, noun: string): string {
  if (n === 1) return `1 ${noun}`;
  return `${count(n)} ${noun}${/(ch|s)$/.test(noun) ? "es" : "s"}`;
}

/** A number with three significant digits: 1.80, 37.1, 999. */
export function digits(value: number): string {
  const magnitude = Math.abs(value);
  return value.toFixed(magnitude < 9.995 ? 2 : magnitude < 99.95 ? 1 : 0);
}

/** A duration in nanoseconds: 12 ns, 3.50 ms, 2 min 05 s. */
export function duration(ns: number): string {
  if (ns < 1e3) return `${ns} ns`;
  if (ns < 1e6) return `${digits(ns / 1e3)} µs`;
  if (ns < 1e9) return `${digits(ns / 1e6)} ms`;
  if (ns < 60e9) return `${digits(ns / 1e9)} s`;
  const seconds = Math.floor(ns / 1e9);
  const two = (n: number) => n.toString().padStart(2, "0");
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${two(seconds % 60)} s`;
  return `${Math.floor(seconds / 3600)} h ${two(Math.floor(seconds / 60) % 60)} min`;
}

/** A part of a whole: 100 %, 45.2 %, <0.1 %; – if the whole is 0. */
export function percent(part: number, whole: number): string {
  if (whole === 0) return "–";
  const p = (100 * part) / whole;
  if (part === 0) return "0 %";
  if (p < 0.1) return "<0.1 %";
  return p >= 99.95 ? "100 %" : `${p.toFixed(1)} %`;
}

/** A moment in local time: 2026-11-25 22:28. */
export function moment(unixNs: number): string {
  const d = new Date(unixNs / 1e6);
  const two = (n: number) => n.toString().padStart(2, "0");
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ${two(d.getHours())}:${two(d.getMinutes())}`;
}
