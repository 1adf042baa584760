// The frames that trees are made of. Every frame that any answer names gets a number, which it keeps while the page is
// open: so trees of different answers are compared by numbers, and a frame keeps its colour and its place.
import type { GroupColumns } from "../../api.ts";
import { isStart } from "../group.ts";
import { base } from "../names.ts";

/**
 * Whose code a frame is, as the server says. Other people's libraries are "other": they are not folded, since what a
 * program asks of them is often the answer.
 */
export const own = 0;
export const library = 1;
export const wrapper = 2;
export const other = 3;
/** What runs before main is nobody's: it has the colour of libraries, as elsewhere, and counts for its callers. */
export const start = 4;
export type Kind = typeof own | typeof library | typeof wrapper | typeof other | typeof start;
const kindNames: readonly string[] = ["own", "library", "wrapper", "other"];

/** The frame of every tree's root, and the one that stands for a run of library frames. */
export const rootFrame = 0;
export const runFrame = 1;
const specialFrames = 2;

export class Frames {
  /** What is written into a frame. */
  readonly names: string[] = ["", ""];
  /** What stands behind the name elsewhere: a source line, a thread's number. */
  readonly details: string[] = ["", ""];
  readonly modules: string[] = ["", ""];
  /** The names by which `tree --below` finds the node: a function's name, or all that is shown of it. */
  readonly texts: string[] = ["", ""];
  /** Functions by name, as --focus, --ignore and --hide find them; empty where a frame is none. */
  readonly functions: string[] = ["", ""];
  readonly kinds: Kind[] = [own, library];
  /** By what frames are grouped: function, line, module, thread ... */
  readonly groupings: string[] = ["", ""];
  readonly #known = new Map<string, number>();

  get count(): number {
    return this.names.length;
  }

  /** The numbers of an answer's groups, by row. */
  number(groups: GroupColumns): Int32Array {
    const numbers = new Int32Array(groups.rows);
    for (let row = 0; row < groups.rows; row++) numbers[row] = this.#row(groups, row);
    return numbers;
  }

  #row(groups: GroupColumns, row: number): number {
    const by = groups.by.at(row);
    const name = groups.function.at(row);
    const file = groups.file.at(row);
    const line = groups.line[row] || 0;
    const module = groups.module.at(row);
    const offset = groups.offset.at(row);
    const more = groups.region.at(row) || groups.call.at(row);
    const thread = groups.thread.row[row] ?? -1;
    const size = groups.size.row[row] ?? -1;
    let special = groups.unknown[row] === 1 ? (by.startsWith("region") ? "(no region)" : "(no call stack)") : more;
    let detail = "";
    if (thread >= 0) {
      detail = `${groups.thread.of.tid[thread] ?? ""}`;
      special = `${groups.thread.of.name.at(thread)} ${detail}`;
    }
    if (size >= 0) special = `${groups.size.of.min[size] ?? 0}-${groups.size.of.max[size] ?? 0}`;
    const key = `${by}\0${name}\0${file}\0${line}\0${module}\0${offset}\0${special}\0${detail}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;

    const place = file && (line > 0 ? `${file}:${line}` : file);
    const text =
      special ||
      [name || offset, place, module].filter((part) => part !== "").join(" ") || "(outside of any file)";
    const shown =
      special ||
      name ||
      (offset && `${base(module)}+${offset}`) ||
      (place && base(place)) ||
      base(module) ||
      "(outside of any file)";
    return this.#add(key, shown, detail || place, module, text, name, kindOf(groups, row), by);
  }

  /** The frame that stands for all of a library: what it is called from is told apart, what it calls within is not. */
  ofModule(module: string): number {
    const key = `collapsed\0${module}`;
    return this.#known.get(key) ?? this.#add(key, `${base(module)} …`, "", module, module, "", library, "");
  }

  #add(
    key: string,
    name: string,
    detail: string,
    module: string,
    text: string,
    function_: string,
    kind: Kind,
    by: string,
  ): number {
    const number = this.names.length;
    this.#known.set(key, number);
    this.names.push(name);
    this.details.push(detail);
    this.modules.push(module);
    this.texts.push(text);
    this.functions.push(function_);
    this.kinds.push(kind);
    this.groupings.push(by);
    return number;
  }

  /** Whether a number stands for one frame of the recording. */
  static real(frame: number): boolean {
    return frame >= specialFrames;
  }

  /** The frames that a name of a path means: `tree --below` finds a function's name, or all that is shown of a node. */
  called(name: string): number[] {
    const found: number[] = [];
    for (let i = specialFrames; i < this.count; i++) {
      if (this.texts[i] === name || (this.functions[i] === name && name !== "")) found.push(i);
    }
    return found;
  }
}

/** Threads, regions and sizes have no kind: they stay as they are. */
function kindOf(groups: GroupColumns, row: number): Kind {
  const kind = Math.max(own, kindNames.indexOf(groups.kind.at(row))) as Kind;
  return isStart(groups.function.at(row)) ? start : kind;
}
