// A call stack in a page: its own frames as links to the source, and those of libraries as their number. If it was
// asked, also how much of the thread's stack each takes.
import { useSignal } from "@preact/signals";
import type { App } from "../app.ts";
import { count, exactSize, plural, size } from "../model/format.ts";
import { sumOfFrames } from "../model/frame-sizes.ts";
import type { Frame } from "../model/group.ts";
import { visible } from "../model/names.ts";
import { goOf } from "./go-of.ts";
import { GoLink } from "./go.tsx";
import { Name } from "./name.tsx";

/** What frames from one to another take of the stack. */
function Bytes({ bytes, from, to }: { bytes: Float64Array; from: number; to: number }) {
  const { known, unknown } = sumOfFrames(bytes, from, to);
  const rest = unknown > 0 ? `${known > 0 ? " and " : ""}${plural(unknown, "frame")} of unknown size` : "";
  const title = (known > 0 || unknown === 0 ? exactSize(known) : "") + rest;
  const text = known > 0 ? `${size(known)}${unknown > 0 ? " +" : ""}` : unknown > 0 ? "unknown" : "inlined";
  return (
    <span class={known > 0 ? "bytes" : "bytes quiet"} title={text === "inlined" ? "part of the next one" : title}>
      {text}
    </span>
  );
}

/**
 * @param stack leaf first
 * @param bytes what each takes of the thread's stack. 0: it is inlined into the next one; NaN: not known
 */
export function FrameList(props: { app: App; stack: readonly Frame[]; label: string; bytes?: Float64Array }) {
  const { app, stack, label, bytes } = props;
  const open = useSignal(false);
  const folds = !open.value && !app.place.value.unfolded && stack.some(({ kind }) => kind === "own");
  const items = [];
  for (let i = 0; i < stack.length; i++) {
    let end = i;
    while (folds && stack[end]?.library) end++;
    if (end > i) {
      const names = stack.slice(i, end).map(({ name }) => visible(name)).join("\n");
      items.push(
        <li key={i}>
          {bytes && <Bytes bytes={bytes} from={i} to={end} />}
          <button type="button" class="fold" aria-expanded="false" title={names.slice(0, 2000)}
            onClick={() => (open.value = true)}>
            {plural(end - i, "library frame")}
          </button>
        </li>,
      );
      i = end - 1;
      continue;
    }
    const frame = stack[i];
    if (!frame) continue;
    const { name, file, line, place, module, kind, key } = frame;
    // A function that calls itself is there once.
    let times = 1;
    while (stack[i + times]?.key === key) times++;
    items.push(
      <li key={i}>
        {bytes && <Bytes bytes={bytes} from={i} to={i + times} />}
        <span class={kind === "own" ? "strong" : ""}>
          <Name text={name} limit={100} />
        </span>{" "}
        {file !== "" ? (
          <GoLink go={goOf(app, { page: "source", file, line: line > 0 ? String(line) : undefined, picked: [] })}
            title={visible(file).slice(0, 1000)}>
            <Name text={place} limit={40} />
          </GoLink>
        ) : (
          <span class="quiet">
            <Name text={module} limit={60} />
          </span>
        )}
        {times > 1 && <span class="quiet"> × {count(times)}</span>}
      </li>,
    );
    i += times - 1;
  }
  return (
    <ol class={bytes ? "frames sized" : "frames"} aria-label={label}>
      {items}
    </ol>
  );
}
