// The colours of frames. A module has the same colour in every recording: its name decides. The reader's own code is
// warm, libraries are cool and pale; who cannot tell hues apart sees that from how strong the colours are. The more a
// frame has itself, the stronger its colour.
import { base } from "../names.ts";
import { own, rootFrame, runFrame, type Frames } from "./frames.ts";
import type { Laid } from "./job.ts";

/** Lightness, chroma and hue, as CSS's oklch() has them: of the same lightness means as light to the eye. */
type Lch = readonly [number, number, number];

/** A colour as #rrggbb. What the screen cannot show is moved towards grey. */
export function hex([l, c, h]: Lch): string {
  for (let chroma = c; ; chroma -= 0.005) {
    const a = chroma * Math.cos((h * Math.PI) / 180);
    const b = chroma * Math.sin((h * Math.PI) / 180);
    const [x, y, z] = [
      (l + 0.3963377774 * a + 0.2158037573 * b) ** 3,
      (l - 0.1055613458 * a - 0.0638541728 * b) ** 3,
      (l - 0.0894841775 * a - 1.291485548 * b) ** 3,
    ];
    const linear = [
      4.0767416621 * x - 3.3077115913 * y + 0.2309699292 * z,
      -1.2684380046 * x + 2.6097574011 * y - 0.3413193965 * z,
      -0.0041960863 * x - 0.7034186147 * y + 1.707614701 * z,
    ];
    if (chroma > 0 && linear.some((v) => v < -0.001 || v > 1.001)) continue;
    const byte = (v: number) => {
      const s = v <= 0.0031308 ? 12.92 * v : 1.055 * Math.max(0, v) ** (1 / 2.4) - 0.055;
      return Math.min(255, Math.max(0, Math.round(s * 255)));
    };
    return `#${linear.map((v) => byte(v).toString(16).padStart(2, "0")).join("")}`;
  }
}

export const modes = ["module", "growth", "age", "thread"] as const;
export type ColourMode = (typeof modes)[number];

/** How many steps of strength a hue has. */
const steps = 4;
const warm = [60, 72, 66, 78];
const cool = [250, 230, 285, 240, 262, 298, 270, 278];
/** Of threads, which are neither own nor foreign: apart in hue, and alternately light and dark. */
const threads = [60, 250, 150, 320, 90, 215, 20, 285];
/** From shrunk by all that moved to grown by all that moved. */
const growthSteps = 4;
const ageSteps = 6;

// Where each kind of colour begins in the list.
const rootAt = 0;
const runAt = 1;
const ownAt = 2;
const libraryAt = ownAt + warm.length * steps;
const threadAt = libraryAt + cool.length * steps;
const growthAt = threadAt + threads.length;
const ageAt = growthAt + 2 * growthSteps + 1;

export interface Palette {
  /** The colours of frames, and of the text in each. */
  fills: string[];
  /** The same, of frames that do not match what is searched. */
  faded: string[];
  text: string;
  /** The two colours of hatched frames, which stand for many. */
  hatch: [string, string];
  /** Frames that match, whatever they are, and a line below them. */
  found: string;
  match: string;
}

export function palette(dark: boolean): Palette {
  // In both themes frames are lighter than their text; in the dark less so, and there what is stronger is lighter.
  const at = (light: number, darkness: number) => (dark ? darkness : light);
  const strength = (share: number) => at(0.9 - 0.12 * share, 0.7 + 0.13 * share);
  const fills = [hex([at(0.86, 0.64), 0.004, 260]), hex([at(0.94, 0.62), 0.03, 250])];
  for (const hue of warm) {
    for (let s = 0; s < steps; s++) {
      const share = s / (steps - 1);
      fills.push(hex([strength(share), at(0.075 + 0.045 * share, 0.115 + 0.025 * share), hue]));
    }
  }
  for (const hue of cool) {
    for (let s = 0; s < steps; s++) {
      const share = s / (steps - 1);
      fills.push(hex([strength(0.7 * share) - at(-0.02, 0.03), at(0.028, 0.055), hue]));
    }
  }
  threads.forEach((hue, i) => fills.push(hex([strength(i % 2), 0.085, hue])));
  for (let s = -growthSteps; s <= growthSteps; s++) {
    const share = Math.abs(s) / growthSteps;
    fills.push(hex([at(0.91 - 0.15 * share, 0.62 + 0.1 * share), 0.13 * share, s < 0 ? 250 : 55]));
  }
  for (let s = 0; s < ageSteps; s++) {
    const share = s / (ageSteps - 1);
    fills.push(hex([at(0.94 - 0.24 * share, 0.62 + 0.24 * share), 0.02 + 0.09 * share, 310]));
  }
  return {
    fills,
    faded: fills.map((fill) => (dark ? mixed(fill, "#8b939d", 0.15) : mixed(fill, "#f7f7f5", 0.3))),
    text: at(1, 0) === 1 ? "#1b1f24" : "#0e1116",
    hatch: dark ? ["#8b939d", "#5d6772"] : ["#e4e7eb", "#8b949f"],
    found: dark ? "#f2c94c" : "#ffd966",
    match: dark ? "#1a1030" : "#7a3fd0",
  };
}

/** A share of one colour over another. */
function mixed(over: string, under: string, share: number): string {
  const part = (colour: string, i: number) => parseInt(colour.slice(1 + 2 * i, 3 + 2 * i), 16);
  const parts = [0, 1, 2].map((i) => Math.round(share * part(over, i) + (1 - share) * part(under, i)));
  return `#${parts.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}

/** A colour for each node of a picture: indexes into the palette's. `longest` is the age of the strongest colour. */
export function colourNodes(laid: Laid, frames: Frames, mode: ColourMode, longest = 1): Uint8Array {
  const { tree } = laid;
  const count = tree.parent.length;
  const found = new Uint8Array(count);
  const branch = mode === "thread" ? new Int32Array(count) : undefined; // the node below the root that it is in
  for (let i = 0; i < count; i++) {
    const frame = tree.frame[i]!;
    const total = tree.total[i]!;
    if (branch) branch[i] = i === 0 ? 0 : branch[tree.parent[i]!]! || i;
    if (mode === "growth" && tree.second) {
      const moved = tree.weight[i]!;
      const share = moved > 0 ? (total - tree.second[i]!) / moved : 0;
      found[i] = growthAt + growthSteps + towards(share * growthSteps);
    } else if (frame === rootFrame) found[i] = rootAt;
    else if (mode === "age" && tree.second) {
      found[i] = ageAt + ageStep(total > 0 ? tree.second[i]! / total : 0, longest);
    } else if (branch) found[i] = threadAt + threadColour(frames, tree.frame[branch[i]!]!);
    else if (frame === runFrame) found[i] = runAt;
    else found[i] = moduleColour(frames, frame) + selfStep(tree.self[i]!, total);
  }
  return found;
}

/** Threads that were started one after the other have different colours. */
function threadColour({ details, texts }: Frames, frame: number): number {
  const detail = details[frame] ?? "";
  return (/^\d+$/.test(detail) ? Number(detail) : hash(texts[frame] ?? "")) % threads.length;
}

/** Rounds, but what changed at all is never shown as unchanged. */
function towards(value: number): number {
  const rounded = Math.round(value);
  return rounded !== 0 || Math.abs(value) < 1e-9 ? rounded : Math.sign(value);
}

/** An age by orders of magnitude below the longest. */
export function ageStep(age: number, longest: number): number {
  if (age <= 0 || longest <= 0) return 0;
  return Math.max(0, Math.min(ageSteps - 1, Math.round(ageSteps - 1 + Math.log10(age / longest))));
}

function selfStep(self: number, total: number): number {
  return total > 0 ? Math.max(0, Math.min(steps - 1, Math.floor((self / total) * steps))) : 0;
}

const known = new WeakMap<Frames, Uint8Array>();

/** Where the colours of a frame's module begin. */
function moduleColour(frames: Frames, frame: number): number {
  let list = known.get(frames);
  if (!list || frame >= list.length) {
    const grown = new Uint8Array(2 * frames.count);
    grown.set(list ?? []);
    known.set(frames, (list = grown));
  }
  return (list[frame] ||= firstOf(frames.modules[frame] ?? "", frames.kinds[frame] === own));
}

function firstOf(module: string, isOwn: boolean): number {
  const n = hash(moduleName(module));
  return isOwn ? ownAt + (n % warm.length) * steps : libraryAt + (n % cool.length) * steps;
}

/** The name of a module without folder and version: libc of /lib/libc.so.6. */
function moduleName(module: string): string {
  return base(module).replace(/\.so[.\d]*$/, "");
}

function hash(text: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  return (h ^ (h >>> 15)) >>> 0;
}

/** For a legend: colours with what they mean, strongest last. */
export function legend(mode: ColourMode, { fills }: Palette): { fill: string; means: string }[] {
  const of = (at: number, means: string) => ({ fill: fills[at] ?? "", means });
  switch (mode) {
    case "module":
      return [of(ownAt + 1, "own code"), of(libraryAt + 1, "libraries"), of(ownAt + 3, "stronger: more itself")];
    case "growth":
      return [of(growthAt, "shrank"), of(growthAt + growthSteps, "as before"), of(growthAt + 2 * growthSteps, "grew")];
    case "age":
      return [of(ageAt, "short-lived"), of(ageAt + ageSteps - 1, "lived as long as the run")];
    case "thread":
      return [of(threadAt, "one colour for each thread")];
  }
}

/** Which colours have which meaning, for the test of how they look to whom. */
export const meanings = { ownAt, libraryAt, threadAt, growthAt, ageAt, growthSteps, steps };
