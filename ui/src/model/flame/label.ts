// What is written into a frame: as much of its name as there is room for.
import { visible } from "../names.ts";

/**
 * Shortens a name as `shorten` of names.ts does, in time that is linear in its length: template arguments first, the
 * innermost before others, then the middle, unless it is to stay `uncut`.
 */
export function elide(name: string, limit: number, uncut = false): string {
  if (name.length <= limit) return name;
  // How deep within template arguments each character is, and how many there are of each depth; the characters that
  // open arguments, behind which an ellipsis stands for them.
  const depths = new Uint8Array(name.length);
  const counts = new Int32Array(deepest + 2);
  const opens = new Int32Array(deepest + 2);
  let level = 0;
  for (let i = 0; i < name.length; i++) {
    const c = name.charCodeAt(i);
    if (c === close && level > 0 && encloses(name, i)) level--;
    const depth = Math.min(level, deepest + 1);
    depths[i] = depth;
    counts[depth]!++;
    if (c === open && encloses(name, i)) {
      depths[i] = depth | opening;
      opens[depth]!++;
      level++;
    }
  }
  let length = name.length;
  let depth = deepest + 1;
  while (depth > 0 && length > limit) {
    length -= counts[depth]! + (depth <= deepest ? opens[depth]! : 0);
    depth--;
    length += opens[depth]!;
  }
  const short = depth > deepest ? name : without(name, depths, depth);
  if (short.length <= limit || uncut) return short;
  if (limit < 2) return limit === 1 ? "…" : "";
  const tail = Math.floor((limit - 1) / 3);
  return `${whole(short, 0, limit - 1 - tail)}…${whole(short, short.length - tail, short.length)}`;
}

const deepest = 8;
const opening = 128;
const [open, close] = [60, 62]; // < and >

/** A name without what is deeper within arguments. */
function without(name: string, depths: Uint8Array, most: number): string {
  let result = "";
  let from = 0;
  for (let i = 0; i < name.length; i++) {
    const at = depths[i]!;
    if ((at & ~opening) > most) {
      if (from >= 0) result += name.slice(from, i);
      from = -1;
      continue;
    }
    if (from < 0) from = i;
    if (at !== (most | opening)) continue;
    result += `${name.slice(from, i + 1)}…`;
    from = i + 1;
  }
  return from < 0 ? result : result + name.slice(from);
}

/** The arrows of operator<, operator->, and of -> before a return type, enclose nothing. */
function encloses(text: string, at: number): boolean {
  if (text.charCodeAt(at - 1) === 45) return false;
  let from = at;
  while (from > Math.max(0, at - 3) && "<>=-".includes(text.charAt(from - 1))) from--;
  return !text.slice(Math.max(0, from - 8), from).endsWith("operator");
}

/** A slice that does not divide a surrogate pair. */
function whole(text: string, from: number, to: number): string {
  const low = (i: number) => text.charCodeAt(i) >= 0xdc00 && text.charCodeAt(i) <= 0xdfff;
  return text.slice(low(from) ? from + 1 : from, low(to) ? to - 1 : to);
}

/** A name of more characters may be cut to so many, to leave room for a figure. */
const nameRoom = 20;

/**
 * The figures that stand beside a name, each whole: as many, from the first on, as leave room for the name.
 * @param room in characters, for all of it
 */
export function figuresIn(room: number, name: number, figures: readonly string[]): string {
  for (let n = figures.length; n > 0; n--) {
    const text = figures.slice(0, n).join(" ");
    if (Math.min(name, nameRoom) + 2 + text.length <= room) return text;
  }
  return "";
}

/**
 * A name in fewer and fewer characters, without cutting words: without template arguments, then without parameters,
 * return type and scopes. The last part of a name says most: that of std::vector<int>::push_back(int&&), push_back.
 */
function forms(name: string): string[] {
  const bare = elide(name, 0, true);
  // The parenthesis of parameters follows a name; that of (anonymous namespace), operator() and Go's (*T) does not.
  const parameters = /(?<!operator)(?<=[\w>~\]=]|operator\(\))\(/.exec(bare)?.index ?? bare.length;
  const called = bare.slice(0, parameters);
  const type = /^(?!.*\boperator\b)[^(]*? (?=[^ ]*::)/.exec(called)?.[0].length ?? 0;
  const plain = called.slice(type);
  const scopes = plain.split(/::|\/(?=[^/]+$)/);
  const list = [bare];
  if (parameters < bare.length) list.push(`${called}(…)`);
  list.push(called, plain);
  if (scopes.length > 2) list.push(scopes.slice(-2).join("::"));
  const last = scopes.at(-1) ?? "";
  if (scopes.length > 1 && last !== "") list.push(last);
  const offset = /(?<=.\+)0x[0-9a-f]+$/.exec(last)?.[0]; // of a function without a name
  if (offset !== undefined) list.push(offset);
  return list;
}

/** Labels that were made already. A picture has a few hundred, and needs them again for each frame of an animation. */
export class Labels {
  readonly #made = new Map<number, string>();
  readonly #names: { name: string; forms: string[] }[] = []; // by frame

  /** As much of a name as there is room for; empty if that would say nothing. */
  at(frame: number, names: readonly string[], room: number): string {
    const key = frame * 512 + Math.min(511, room);
    let label = this.#made.get(key);
    if (label === undefined) {
      if (this.#made.size > 20_000) this.#made.clear();
      label = this.#make(frame, names, Math.min(511, room));
      this.#made.set(key, label);
    }
    return label;
  }

  #make(frame: number, names: readonly string[], room: number): string {
    if (room < 3) return "";
    let known = this.#names[frame];
    if (!known) {
      const name = visible(elide(names[frame] ?? "", 511)); // no frame has room for more
      this.#names[frame] = known = { name, forms: forms(name) };
    }
    if (known.name.length <= room) return known.name;
    if ((known.forms[0]?.length ?? 0) <= room) return elide(known.name, room);
    const fits = known.forms.find((form) => form.length <= room);
    return fits ?? `${whole(known.forms.at(-1) ?? "", 0, room - 1)}…`;
  }
}
