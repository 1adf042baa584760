// How much of a thread's stack frames take.

/** The sum of the known sizes of frames from one to another (excluded), and how many sizes are not known. */
export function sumOfFrames(bytes: Float64Array, from: number, to: number): { known: number; unknown: number } {
  let [known, unknown] = [0, 0];
  for (let i = from; i < to; i++) {
    const size = bytes[i] ?? NaN;
    if (Number.isNaN(size)) unknown++;
    else known += size;
  }
  return { known, unknown };
}
