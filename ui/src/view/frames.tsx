// A call stack in a page: its own frames as links to the source, and those of libraries as their number.
import { useSignal } from "@preact/signals";
import type { App } from "../app.ts";
import { count, plural } from "../model/format.ts";
import type { Frame } from "../model/group.ts";
import { visible } from "../model/names.ts";
import { goOf } from "./go-of.ts";
import { GoLink } from "./go.tsx";
import { Name } from "./name.tsx";

/** @param stack leaf first */
export function FrameList({ app, stack, label }: { app: App; stack: readonly Frame[]; label: string }) {
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
    <ol class="frames" aria-label={label}>
      {items}
    </ol>
  );
}
