// Asks of what the resident set consisted, and how that changed.
import type { FrameColumns, Memory } from "../api.ts";
import type { Filters } from "../model/filters.ts";
import type { Task } from "../model/follower.ts";
import { base } from "../model/names.ts";
import { residentOf, type Resident, type ResidentChange, type ResidentPart } from "../model/resident.ts";
import { pathOf, put, type Question } from "./ask.ts";
import { placeOf } from "./questions.ts";

/** @param at the moment; undefined: that of the largest resident set */
export function memoryQuestion(at: string | undefined): Question<"memory", Resident | undefined> {
  return { name: "memory", parameters: at === undefined ? {} : { at }, read: residentOfMemory };
}

export function residentOfMemory(memory: Memory): Resident | undefined {
  if (memory.time_ns === null) return undefined;
  const parts = new Map<string, number>();
  for (let i = 0; i < memory.parts.rows; i++) {
    parts.set(memory.parts.kind.at(i), memory.parts.resident_bytes[i] ?? 0);
  }
  const { mappings, files, frames } = memory;
  const mapped = Array.from({ length: mappings.rows }, (_, i) => ({
    ...mapperOf(frames, mappings.heap.at(i), mappings.frames.frames(i)),
    hint: mappings.hint.at(i),
    function: mappings.heap.at(i) === "" && hasFunction(frames, mappings.frames.frames(i)),
    bytes: mappings.resident_bytes[i] ?? 0,
  }));
  const named = Array.from({ length: files.rows }, (_, i) => ({
    name: base(files.file.at(i)) || "several files",
    hint: "",
    function: false,
    file: "",
    line: 0,
    bytes: files.resident_bytes[i] ?? 0,
  }));
  const of = new Map<string, ResidentPart["of"]>();
  of.set("mapped", mapped.filter(({ bytes }) => bytes > 0));
  of.set("files", named.filter(({ bytes }) => bytes > 0));
  return residentOf(memory.time_ns, memory.resident_bytes, parts, of);
}

/** Who has mapped memory: a heap of its own, or the innermost function of the call stack that has a name. */
function mapperOf(frames: FrameColumns, heap: string, stack: number[]): { name: string; file: string; line: number } {
  const frame = stack.find((f) => frames.function.at(f) !== "");
  const [file, line] = frame === undefined ? ["", 0] : [frames.file.at(frame), frames.line[frame] ?? 0];
  if (heap !== "") return { name: heap, file: "", line: 0 };
  if (frame !== undefined) return { name: frames.function.at(frame), file, line };
  const first = stack[0];
  const name = first === undefined ? "several call stacks" : placeOf(frames.module.at(first), frames.offset.at(first));
  return { name, file, line };
}

function hasFunction(frames: FrameColumns, stack: number[]): boolean {
  return stack.some((frame) => frames.function.at(frame) !== "");
}

/** Asks for the readings that are nearest to the ends of a range; undefined: it was never read. */
export function residentChangeTask(
  recording: string,
  { from = "start", to = "end" }: Filters,
): Task<ResidentChange | undefined> {
  return {
    base: recording,
    key: pathOf(recording, "memory", { from, to }),
    run: async (ask) => {
      const begin = residentOfMemory(await put(ask, recording, "memory", { at: from }));
      const end = begin && residentOfMemory(await put(ask, recording, "memory", { at: to }));
      return begin && end && { begin, end };
    },
  };
}
