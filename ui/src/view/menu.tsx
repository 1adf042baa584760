// A menu at a place of its parent: of a frame or a row. Arrows move in it; a letter leads to the next entry that begins
// with it.
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { shorten, visible } from "../model/names.ts";

export interface Entry {
  title: string;
  hint?: string;
  /** The key that does the same, as it is labelled. */
  keys?: string;
  run: () => void;
}

export function Menu(props: { x: number; y: number; label: string; entries: readonly Entry[]; close: () => void }) {
  const { x, y, label, entries, close } = props;
  const list = useRef<HTMLDivElement>(null);
  const items = () => [...(list.current?.querySelectorAll<HTMLElement>("[role=menuitem]") ?? [])];
  useLayoutEffect(() => {
    const menu = list.current;
    if (!menu) return;
    // Within the window, whatever the place.
    const around = menu.parentElement?.getBoundingClientRect() ?? new DOMRect();
    const { width, height } = menu.getBoundingClientRect();
    menu.style.left = `${Math.max(8, Math.min(x + around.left, innerWidth - width - 8))}px`;
    menu.style.top = `${Math.max(8, Math.min(y + around.top, innerHeight - height - 8))}px`;
    items()[0]?.focus({ preventScroll: true });
  }, [x, y]);
  useEffect(() => {
    const outside = (event: Event) => {
      if (event.target instanceof Node && !list.current?.contains(event.target)) close();
    };
    addEventListener("pointerdown", outside, true);
    addEventListener("resize", close);
    return () => {
      removeEventListener("pointerdown", outside, true);
      removeEventListener("resize", close);
    };
  }, []);

  const key = (event: KeyboardEvent) => {
    const all = items();
    const at = all.indexOf(document.activeElement as HTMLElement);
    const to = (i: number) => all[(i + all.length) % all.length]?.focus({ preventScroll: true });
    if (event.key === "ArrowDown") to(at + 1);
    else if (event.key === "ArrowUp") to(at - 1);
    else if (event.key === "Home") to(0);
    else if (event.key === "End") to(-1);
    else if (event.key === "Escape" || event.key === "Tab") close();
    else if (event.key.length === 1 && !event.ctrlKey && !event.metaKey && event.key !== " ") {
      const letter = event.key.toLowerCase();
      const next = [...all.slice(at + 1), ...all].find((item) => item.textContent?.toLowerCase().startsWith(letter));
      next?.focus({ preventScroll: true });
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div
      class="menu"
      role="menu"
      aria-label={label}
      ref={list}
      onKeyDown={key}
      onContextMenu={(event) => event.preventDefault()}
    >
      {entries.map(({ title, hint, keys, run }, i) => (
        <button
          key={i}
          type="button"
          role="menuitem"
          tabIndex={-1}
          title={visible(shorten(title, 500))}
          onClick={() => {
            close();
            run();
          }}
        >
          <bdi>{shorten(visible(title), 48)}</bdi>
          {keys && <kbd>{keys}</kbd>}
          {hint && <span class="quiet">{hint}</span>}
        </button>
      ))}
    </div>
  );
}
