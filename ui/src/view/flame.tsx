// A flame graph: shows a picture that was laid out, and reports what the reader does with it. It knows nothing of the
// app: everything comes as props.
import { useEffect, useId, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { Frames } from "../model/flame/frames.ts";
import { count, percent, plural } from "../model/format.ts";
import { hintStyle } from "../model/hint.ts";
import { rowHeight } from "./flame-paint.ts";
import { Shown, type FlameProps } from "./flame-shown.ts";
import { Menu } from "./menu.tsx";
import { Name } from "./name.tsx";
import { themeChanges } from "./theme.tsx";

export function FlameGraph(props: FlameProps) {
  const place = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const latest = useRef(props);
  latest.current = props;
  const shown = useMemo(() => new Shown(latest), []);
  const { laid } = props;
  const id = useId();
  useLayoutEffect(() => {
    if (!canvas.current || !place.current) return;
    return shown.attach(place.current, canvas.current);
  }, []);
  const theme = themeChanges.value;
  useLayoutEffect(() => shown.look(), [theme]);
  useLayoutEffect(() => shown.setPicture(), [laid, props.colour, props.longest, props.root, props.format]);
  useLayoutEffect(() => shown.setMatch(), [laid, props.match]);
  useLayoutEffect(() => shown.setPicked(), [laid, props.picked.join("\0")]);
  useEffect(() => {
    props.handle(shown);
    return () => props.handle(undefined);
  }, []);

  return (
    <div class={props.upwards ? "flame upwards" : "flame"}>
      <div
        class="flame-picture"
        ref={place}
        tabIndex={0}
        role="tree"
        aria-label={props.title}
        aria-activedescendant={id}
        onPointerDown={shown.down}
        onPointerMove={shown.move}
        onPointerUp={shown.up}
        onPointerCancel={shown.up}
        onPointerLeave={shown.leave}
        onDblClick={shown.double}
        onContextMenu={shown.context}
      >
        <canvas ref={canvas} aria-hidden="true" />
        <Current shown={shown} id={id} />
      </div>
      <p class="unseen" role="status">
        {shown.said}
      </p>
      <Hint shown={shown} props={props} />
      {shown.zoomed.value && (
        <button
          type="button"
          class="flame-whole"
          title="leave the zoom: Escape goes one step back"
          onClick={() => shown.reset()}
        >
          whole graph
        </button>
      )}
      {shown.menuAt.value && (
        <Menu
          {...shown.menuAt.value}
          label="what to do with this frame"
          close={() => {
            shown.menuAt.value = undefined;
            place.current?.focus({ preventScroll: true });
          }}
        />
      )}
    </div>
  );
}

/** The current frame, for those who do not see the canvas: its name, its value and its share. */
function Current({ shown, id }: { shown: Shown; id: string }) {
  const at = shown.currentPlace.value;
  const text = shown.currentText.value;
  return (
    <div
      id={id}
      role="treeitem"
      aria-selected="true"
      aria-level={(at?.row ?? 0) + 1}
      aria-label={text}
      class="flame-current"
      style={at && { left: `${at.x}px`, top: `${at.y}px`, width: `${at.width}px`, height: `${rowHeight - 1}px` }}
    />
  );
}

/** What is under the pointer, in full. */
function Hint({ shown, props }: { shown: Shown; props: FlameProps }) {
  const hint = shown.hint.value;
  if (!hint || shown.menuAt.value) return null;
  const { laid, frames } = props;
  const { tree } = laid;
  const style = hintStyle({ ...hint, bottom: hint.top + rowHeight });
  if (hint.count > 1) {
    return (
      <div class="hint" style={style}>
        <p>{count(hint.count)} frames too narrow to be drawn</p>
        <p class="quiet">{props.format(hint.sum)} together · zoom in to see them</p>
      </div>
    );
  }
  const node = laid.layout.node[hint.box]!;
  const frame = tree.frame[node]!;
  const before = tree.second && props.colour === "growth" ? tree.second[node]! : undefined;
  const value = tree.total[node]!;
  const parent = tree.parent[node]!;
  const within = laid.within[node]!;
  return (
    <div class="hint" style={style}>
      <p>
        {within > 0 && `${plural(within, "library frame")}: click to open`}
        {within === 0 && <Name text={shown.nameOf(node)} limit={600} />}
      </p>
      {Frames.real(frame) && (frames.details[frame] || frames.modules[frame]) && (
        <p class="quiet">
          <Name text={[frames.details[frame], frames.modules[frame]].filter(Boolean).join(" · ")} limit={200} />
        </p>
      )}
      <p>
        <b>{props.format(value)}</b> {percent(value, tree.total[0]!)}
        {parent > 0 && <span class="quiet"> · {percent(value, tree.total[parent]!)} of its caller</span>}
      </p>
      {before !== undefined && <p>{shown.changeOf(node)}</p>}
      <p class="quiet">
        itself {props.format(tree.self[node]!)}
        {tree.folded[node]! > 0 && ` · ${plural(tree.folded[node]!, "small callee")} not loaded`}
      </p>
    </div>
  );
}
