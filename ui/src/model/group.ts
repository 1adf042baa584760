// What a row of a table, or a node of a tree, stands for: a function, a line, a module, a call stack, a thread ...
import type { FrameColumns, GroupColumns } from "../api.ts";
import { literally } from "./filters.ts";
import { base, location, shorten } from "./names.ts";

/** Whose code it is, as design 10 says; start: it runs before main; "": it is no code. */
export type Kind = "" | "own" | "library" | "wrapper" | "other" | "start";

/** A frame of a call stack. */
export interface Frame {
  name: string;
  place: string; // session.cc:88
  file: string;
  line: number;
  module: string;
  kind: Kind;
  /** What the API calls it: the function or, without a name, where its code is. */
  id: string;
  /** It is a function with a name; otherwise the name says where the code is. */
  named: boolean;
  /** Of a library, a wrapper around the allocator, or what runs before main. */
  library: boolean;
  /** A number that equal frames have in all answers. */
  key: number;
}

/** A function's name without its parameters, in few characters. */
function brief(name: string): string {
  return shorten(name.replace(/(?<!operator)\(.*$/s, "") || name, 60);
}

/** A row of the columns that the API sends. What it is called is found when it is asked for. */
export class Group {
  #key: number | undefined;

  constructor(
    readonly columns: GroupColumns,
    readonly frames: FrameColumns | undefined,
    readonly row: number,
  ) {}

  get by(): string {
    return this.columns.by.at(this.row);
  }

  get unknown(): boolean {
    return this.columns.unknown[this.row] === 1;
  }

  get function(): string {
    return this.columns.function.at(this.row);
  }

  get file(): string {
    return this.columns.file.at(this.row);
  }

  get line(): number {
    return this.columns.line[this.row] || 0;
  }

  get module(): string {
    return this.columns.module.at(this.row);
  }

  get offset(): string {
    return this.columns.offset.at(this.row);
  }

  get kind(): Kind {
    return kindAt(this.columns, this.row);
  }

  /** The thread's number in the system; undefined: it is not a thread. */
  get tid(): number | undefined {
    const { row, of } = this.columns.thread;
    return of.tid[row[this.row] ?? -1];
  }

  /** The least and the largest size of a size class. */
  get sizes(): { min: number; max: number } | undefined {
    const { row, of } = this.columns.size;
    const at = row[this.row] ?? -1;
    const [min, max] = [of.min[at], of.max[at]];
    return min === undefined || max === undefined ? undefined : { min, max };
  }

  /** The frames of a call stack, leaf first; of other groups, none. */
  get stack(): Frame[] {
    return [...this.#walk()];
  }

  *#walk(): Generator<Frame> {
    if (this.by !== "stack" || !this.frames) return;
    const all = framesOf(this.frames);
    const { ids, paths } = this.columns.stack;
    for (let at = ids[this.row] ?? 0; at > 0; at = paths.parent[at] ?? 0) {
      const frame = all[paths.frame[at] ?? -1];
      if (frame) yield frame;
    }
  }

  /** All that the API knows it by: as text of `below`, and the same in every answer of a recording. */
  get text(): string {
    if (this.unknown) return /^region/.test(this.by) ? "(no region)" : "(no call stack)";
    switch (this.by) {
      case "thread": {
        const { row, of } = this.columns.thread;
        const at = row[this.row] ?? -1;
        return `${of.name.at(at)} ${of.tid[at] ?? 0}`;
      }
      case "size": {
        const sizes = this.sizes;
        return sizes ? `${sizes.min}-${sizes.max}` : "";
      }
      case "allocator":
        return this.columns.call.at(this.row);
      case "region":
      case "region-name":
        return this.columns.region.at(this.row);
      case "stack":
        return this.stack.map((f) => `${f.name} ${f.file}:${f.line} ${f.module}`).join(";");
    }
    const place = this.file !== "" && this.line > 0 ? `${this.file}:${this.line}` : this.file;
    const parts = [this.function || this.offset, place, this.module].filter((part) => part !== "");
    return parts.length > 0 ? parts.join(" ") : "(outside of any file)";
  }

  /** What is shown of it: the function, or what it is a group of. */
  get name(): string {
    if (this.unknown) return this.by === "stack" || /^region/.test(this.by) ? this.text : foldedAway;
    switch (this.by) {
      case "stack":
        return this.headline?.name ?? "(no call stack)";
      case "file":
        return base(this.file) || "unknown file";
      case "module":
        return base(this.module) || "(outside of any file)";
      case "size": {
        const sizes = this.sizes;
        if (!sizes) return "";
        const grouped = (n: number) => n.toString().replace(/\B(?=(\d{3})+$)/g, ",");
        return sizes.min === sizes.max
          ? `${grouped(sizes.min)} bytes`
          : `${grouped(sizes.min)} to ${grouped(sizes.max)} bytes`;
      }
      case "thread":
      case "allocator":
      case "region":
      case "region-name":
        return this.text;
    }
    return functionName(this.function, this.module, this.offset);
  }

  /** What is shown beside the name, in grey. */
  get note(): string {
    if (this.by === "stack") {
      const stack = this.stack;
      const named = this.headline;
      const at = stack.findIndex((frame) => frame === named);
      const callers = stack.slice(at + 1, at + 3).map(({ name }) => `← ${brief(name)}`);
      // What it calls to allocate tells apart stacks that otherwise look alike.
      const leaf = stack[0];
      const within = at > 0 && leaf ? `(in ${brief(leaf.name)}${at > 1 ? `, ${at} within` : ""})` : "";
      return [named?.place ?? "", within, ...callers].filter((part) => part !== "").join(" ");
    }
    if (this.by === "file") return this.file === this.name ? "" : this.file;
    if (this.by === "module") return this.module === this.name ? "" : this.module;
    return [location(this.file, this.line), this.function === "" ? "" : base(this.module)].filter(Boolean).join(" ");
  }

  /** The frame that names a call stack: the innermost of own code, else the innermost that is not a library's. */
  get headline(): Frame | undefined {
    let [first, other]: (Frame | undefined)[] = [];
    for (const frame of this.#walk()) {
      if (frame.kind === "own") return frame;
      first ??= frame;
      if (!frame.library) other ??= frame;
    }
    return other ?? first;
  }

  /** A number that equal groups have in all answers. */
  get key(): number {
    return (this.#key ??= this.by === "stack" && !this.unknown ? this.#stackKey() : hash(this.text));
  }

  #stackKey(): number {
    let key = 0;
    for (const frame of this.#walk()) key = mix(frame.key, key);
    return key;
  }

  /**
   * The regular expression of `of` and `focus` that finds it; undefined: there is none, because functions without a
   * name and groups that are no functions cannot be found by name.
   */
  get pattern(): string | undefined {
    const name =
      this.by === "module" ? this.module
      : this.by === "file" ? this.file
      : this.by === "stack" ? (this.headline?.named ? this.headline.name : "")
      : this.function;
    return name === "" ? undefined : literally(name);
  }
}

/** The name of what has no frame but those that are folded away, or none at all. */
export const foldedAway = "libraries alone, or unknown";

/** The groups of a table. */
export function groupsOf(columns: GroupColumns, frames: FrameColumns | undefined): Group[] {
  return Array.from({ length: columns.rows }, (_, i) => new Group(columns, frames, i));
}

const tables = new WeakMap<FrameColumns, Frame[]>();

/** The frames of an answer. Its call stacks share them. */
function framesOf(frames: FrameColumns): Frame[] {
  let all = tables.get(frames);
  if (!all) {
    all = Array.from({ length: frames.rows }, (_, i) => frameAt(frames, i));
    tables.set(frames, all);
  }
  return all;
}

function frameAt(frames: FrameColumns, i: number): Frame {
  const [file, line, module] = [frames.file.at(i), frames.line[i] || 0, frames.module.at(i)];
  const function_ = frames.function.at(i);
  const name = functionName(function_, module, frames.offset.at(i));
  const kind = kindAt(frames, i);
  const id = function_ || [frames.offset.at(i), module].filter(Boolean).join(" ");
  const known = { name, id, file, line, module, place: location(file, line), kind, named: function_ !== "" };
  const library = kind === "library" || kind === "wrapper" || kind === "start";
  return { ...known, library, key: hash(`${name}\n${file}:${line}\n${module}`) };
}

/** What stands for a function: its name or, without one, python3.11+0x4fea6a. */
function functionName(name: string, module: string, offset: string): string {
  if (name !== "") return name;
  return module !== "" && offset !== "" ? `${base(module)}+${offset}` : "unknown function";
}

/** Functions that run before main or before a thread's function: the same on every call stack. */
const start = new Set([
  ...["_start", "__libc_start_main", "__libc_start_main_impl", "__libc_start_call_main", "__libc_csu_init"],
  ...["call_init", "_dl_start_user", "clone", "__clone", "clone3", "__clone3", "start_thread", "thread_start"],
]);

/** Whether a function runs before main or before a thread's function. */
export function isStart(name: string): boolean {
  return start.has(name.replace(/@.*/, ""));
}

function kindAt(columns: Pick<GroupColumns, "kind" | "function">, row: number): Kind {
  const kind = columns.kind.at(row);
  if (kind === "own" || kind === "library" || kind === "wrapper" || kind === "other") {
    return isStart(columns.function.at(row)) ? "start" : kind;
  }
  return "";
}

/** A number of 53 bits for a text, mixed with another one: of a path of texts, that of the part before. */
export function hash(text: string, before = 0): number {
  let low = 0xdeadbeef;
  let high = 0x41c6ce57;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    low = Math.imul(low ^ c, 2654435761);
    high = Math.imul(high ^ c, 1597334677);
  }
  return mix(2 ** 32 * (high & 0x1fffff) + (low >>> 0), before);
}

/** One number of two. */
function mix(key: number, before: number): number {
  let low = Math.imul((key >>> 0) ^ Math.imul(before >>> 0, 1597334677), 2654435761);
  let high = Math.imul(Math.floor(key / 2 ** 32) ^ Math.imul(Math.floor(before / 2 ** 32), 2654435761), 1597334677);
  low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909);
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909);
  return 2 ** 32 * (high & 0x1fffff) + (low >>> 0);
}
