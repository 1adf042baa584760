// The rise around a moment of a curve: what a double click on a slope selects.
//
// A rise begins at its lowest and ends at its highest value, and nowhere in between does the curve fall by more than a
// fifth of the climb. Of the rises that contain the moment, the one that climbs most is taken.

/** How far a curve may fall within a rise, as a share of its climb. */
const mostFall = 0.2;

/** A rise that climbs less than this share of the highest value is noise. */
const leastClimb = 0.02;

/** Where values differ by less than this share of the climb, a rise begins late and ends early; see `settle`. */
const tolerance = 0.04;

/** What a delay of the whole curve is worth, as a share of the climb; see `settle`. */
const worthOfTime = 0.5;

/** The first and the last index of a rise. */
export interface Rise {
  from: number;
  to: number;
}

/**
 * Finds the rise around an index. The reader points with a hand: the rises around up to `reach` indexes before and
 * after it count, too. Undefined: the curve does not rise there.
 */
export function riseAround(values: Float64Array, index: number, reach = 0): Rise | undefined {
  let best: Rise | undefined;
  const climb = (rise: Rise | undefined) => (rise ? (values[rise.to] ?? 0) - (values[rise.from] ?? 0) : 0);
  const last = values.length - 1;
  for (let at = Math.max(0, index - reach); at <= Math.min(last, index + reach); at++) {
    if (best && at > best.from && at < best.to) continue; // it would be found again
    const found = largestRise(values, at);
    if (found && climb(found) > climb(best)) best = found;
  }
  let top = 0;
  for (const value of values) top = Math.max(top, value);
  if (!best || climb(best) < leastClimb * top) return undefined;
  return settle(values, best);
}

/** An end of a rise: an index, its value, and the deepest fall between it and the moment. */
interface End {
  index: number;
  value: number;
  fall: number;
}

function largestRise(values: Float64Array, at: number): Rise | undefined {
  const begins = lows(values, at);
  const ends = highs(values, at);
  let best: Rise | undefined;
  let most = 0;
  // Going left, values fall, and falls deepen; to the right, values rise, and falls deepen.
  for (const begin of begins) {
    for (let k = ends.list.length - 1; k >= 0; k--) {
      const end = ends.list[k];
      if (!end) continue;
      const climb = end.value - begin.value;
      if (climb <= most) break; // earlier ends are lower
      // The deepest fall across the moment is from the highest value before it to the lowest one after it.
      const across = begin.highest - end.lowest;
      const fall = Math.max(begin.fall, end.fall, across);
      if (begin.highest > end.value || end.lowest < begin.value || fall > mostFall * climb) continue;
      most = climb;
      best = { from: begin.index, to: end.index };
    }
  }
  return best;
}

/** Where a rise may begin: the values before a moment that are lower than all between them and it. */
function lows(values: Float64Array, at: number): (End & { highest: number })[] {
  const found: (End & { highest: number })[] = [];
  let highest = -Infinity;
  let lowest = Infinity;
  let fall = 0;
  for (let i = at; i >= 0; i--) {
    const value = values[i] ?? 0;
    fall = Math.max(fall, value - lowest);
    highest = Math.max(highest, value);
    if (value < lowest) {
      lowest = value;
      found.push({ index: i, value, fall, highest });
    }
  }
  return found;
}

/** Where a rise may end: the values after a moment that are higher than all between it and them. */
function highs(values: Float64Array, at: number): { list: (End & { lowest: number })[] } {
  const list: (End & { lowest: number })[] = [];
  let highest = -Infinity;
  let lowest = Infinity;
  let fall = 0;
  for (let i = at; i < values.length; i++) {
    const value = values[i] ?? 0;
    fall = Math.max(fall, highest - value);
    lowest = Math.min(lowest, value);
    if (value > highest) {
      highest = value;
      list.push({ index: i, value, fall, lowest });
    }
  }
  return { list };
}

/**
 * On a plateau with noise, the lowest value may be anywhere, but the rise begins where the plateau ends. Values that
 * differ from the lowest by no more than what the curve falls elsewhere, and by little of the climb, are as good: among
 * them, time decides against the difference. The same goes for the highest. A curve that does not fall is taken
 * literally.
 */
function settle(values: Float64Array, rise: Rise): Rise {
  const low = values[rise.from] ?? 0;
  const high = values[rise.to] ?? 0;
  const climb = high - low;
  let fall = 0;
  let highest = low;
  for (let i = rise.from; i <= rise.to; i++) {
    const value = values[i] ?? 0;
    highest = Math.max(highest, value);
    fall = Math.max(fall, highest - value);
  }
  const near = Math.min(fall, tolerance * climb);
  const worth = (worthOfTime * climb) / values.length;
  let [from, to] = [rise.from, rise.to];
  let [fromScore, toScore] = [0, 0];
  for (let i = rise.from; i <= rise.to; i++) {
    const value = values[i] ?? 0;
    const beginScore = worth * (i - rise.from) - (value - low);
    if (value <= low + near && beginScore >= fromScore) [from, fromScore] = [i, beginScore];
    const j = rise.to - (i - rise.from);
    const endValue = values[j] ?? 0;
    const endScore = worth * (rise.to - j) - (high - endValue);
    if (endValue >= high - near && endScore >= toScore) [to, toScore] = [j, endScore];
  }
  return from < to ? { from, to } : rise;
}
