// Fuzzy matching: the letters of what was typed occur in a name, in this order. Better matches are those at the
// beginnings of words, next to each other, and in short names.

export interface Match {
  /** The higher, the better. */
  score: number;
  /** Where the letters are, in order. */
  at: readonly number[];
}

/** Names and what is typed are read up to here: the cost grows with the product. */
const longestName = 160;
const longestText = 24;

const consecutive = 16;
const wordStart = 24;
const nameStart = 12;
const sameCase = 1;
const gap = -1;
const mostGap = -12;

/** Matches a name with what was typed; undefined: it does not match. Spaces in what was typed mean nothing. */
export function fuzzy(typed: string, name: string): Match | undefined {
  const text = Array.from(typed.slice(0, longestText)).filter((c) => c.trim() !== "");
  if (text.length === 0) return { score: 0, at: [] };
  const letters = Array.from(name.slice(0, longestName));
  const lower = letters.map((c) => c.toLowerCase());
  const wanted = text.map((c) => c.toLowerCase());
  if (!isWithin(wanted, lower)) return undefined;

  const worth = letters.map((_, j) => value(letters, j));
  // best[j]: the score of the letters so far, the last one being at j. For each letter, where the one before was.
  const width = letters.length;
  let best = new Float64Array(width).fill(-Infinity);
  const from: Int32Array[] = [];
  wanted.forEach((c, i) => {
    const next = new Float64Array(width).fill(-Infinity);
    const origin = new Int32Array(width).fill(-1);
    let reach = -Infinity; // the best score of a letter before j - 1, less the gap up to j
    let reachAt = -1;
    for (let j = 0; j < width; j++) {
      if (i > 0 && j > 1) {
        const jumped = (best[j - 2] ?? -Infinity) + gap;
        reach = Math.max(reach + gap, jumped);
        if (reach === jumped) reachAt = j - 2;
      }
      if (lower[j] !== c) continue;
      const here = (worth[j] ?? 0) + (letters[j] === text[i] ? sameCase : 0);
      if (i === 0) next[j] = here + Math.max(mostGap, gap * j);
      else {
        const beside = (best[j - 1] ?? -Infinity) + consecutive;
        const apart = reach === -Infinity ? -Infinity : Math.max(reach, (best[reachAt] ?? -Infinity) + mostGap);
        next[j] = here + Math.max(beside, apart);
        origin[j] = beside >= apart ? j - 1 : reachAt;
      }
    }
    best = next;
    from.push(origin);
  });
  let end = 0;
  for (let j = 1; j < width; j++) if ((best[j] ?? -Infinity) > (best[end] ?? -Infinity)) end = j;
  const score = best[end] ?? -Infinity;
  if (score === -Infinity) return undefined;
  const at: number[] = [];
  for (let i = from.length - 1, j = end; i >= 0; i--) {
    at.unshift(j);
    j = from[i]?.[j] ?? -1;
  }
  // Of equally good ones, the shorter name is nearer to what was typed.
  return { score: score - Math.min(width, 100) / 100, at };
}

function isWithin(wanted: readonly string[], letters: readonly string[]): boolean {
  let i = 0;
  for (const letter of letters) if (letter === wanted[i]) i++;
  return i === wanted.length;
}

/** What a letter is worth at a place: beginnings of words count more. */
function value(letters: readonly string[], j: number): number {
  if (j === 0) return wordStart + nameStart;
  const [before = "", here = ""] = [letters[j - 1], letters[j]];
  if (!/[\p{L}\p{N}]/u.test(before) && /[\p{L}\p{N}]/u.test(here)) return wordStart;
  if (/\p{Lu}/u.test(here) && !/\p{Lu}/u.test(before)) return wordStart;
  return 0;
}

export interface Ranked<T> extends Match {
  item: T;
}

/** What a letter of a match must be worth: letters that are scattered all over a name are no match for a reader. */
const least = 4;

/** The items that match, the best first; equal ones in their order. */
export function rank<T>(typed: string, items: readonly T[], nameOf: (item: T) => string, most = 50): Ranked<T>[] {
  const found: Ranked<T>[] = [];
  for (const item of items) {
    const match = fuzzy(typed, nameOf(item));
    if (match && (match.at.length < 3 || match.score >= least * match.at.length)) found.push({ ...match, item });
  }
  return found.sort((a, b) => b.score - a.score).slice(0, most);
}

/** A name in parts: those that match, and those between them. */
export function parts(name: string, at: readonly number[]): { text: string; hit: boolean }[] {
  const hits = new Set(at);
  const list: { text: string; hit: boolean }[] = [];
  Array.from(name).forEach((c, i) => {
    const last = list.at(-1);
    const hit = hits.has(i);
    if (last?.hit === hit) last.text += c;
    else list.push({ text: c, hit });
  });
  return list;
}
