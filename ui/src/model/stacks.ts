// Call stacks of answers that have no groups: as the groups that they are.
import type { FrameColumns, GroupColumns } from "../api.ts";
import { PathColumn, Texts } from "../columns.ts";
import { Group } from "./group.ts";

/** The call stacks of a column. */
export function stackGroups(stacks: PathColumn, frames: FrameColumns | undefined): Group[] {
  const rows = stacks.ids.length;
  const none = new Texts(new Int32Array(rows).fill(-1), []);
  const zeros = new Float64Array(rows);
  const flags = new Uint8Array(rows);
  const shared = { row: new Int32Array(rows).fill(-1) };
  const columns: GroupColumns = {
    rows,
    by: new Texts(new Int32Array(rows), ["stack"]),
    unknown: Uint8Array.from(stacks.ids, (id) => (id === 0 ? 1 : 0)),
    function: none,
    kind: none,
    file: none,
    line: zeros,
    module: none,
    offset: none,
    inlined: flags,
    stack: stacks,
    thread: { ...shared, of: { rows: 0, index: zeros, tid: new Float64Array(), name: none } },
    size: { ...shared, of: { rows: 0, min: new Float64Array(), max: new Float64Array() } },
    call: none,
    region: none,
  };
  return Array.from({ length: rows }, (_, i) => new Group(columns, frames, i));
}
