// A menu at a place of its parent: of a frame or a row. Arrows move in it; letters lead to the next entry that begins
// with them. It takes the focus, and gives it back.
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { shorten, visible } from "../model/names.ts";

export interface Entry {
  title: string;
  hint?: string;
  /** The key that does the same, as it is labelled. */
  keys?: string;
  run: () => void;
}

export interface MenuProps {
  x: number;
  y: number;
  /** What it is about, read out. */
  label: string;
  entries: readonly Entry[];
  close: () => void;
}

/** How long letters belong to one word, in milliseconds. */
const wordMs = 700;

export function Menu({ x, y, label, entries, close: closed }: MenuProps) {
  const list = useRef<HTMLDivElement>(null);
  const items = () => [...(list.current?.querySelectorAll<HTMLElement>("[role=menuitem]") ?? [])];
  const before = useRef<Element | null>(null);
  const typed = useRef({ text: "", at: -Infinity });
  const close = () => {
    // Before an entry acts, which may move the focus elsewhere.
    if (before.current instanceof HTMLElement) before.current.focus({ preventScroll: true });
    closed();
  };
  useLayoutEffect(() => {
    const menu = list.current;
    if (!menu) return;
    before.current ??= document.activeElement;
    if (!menu.matches(":popover-open")) menu.showPopover();
    // Within the window, whatever the place.
    const around = menu.parentElement?.getBoundingClientRect() ?? new DOMRect();
    // The bottom line is always on top.
    const end = document.querySelector(".bottom")?.getBoundingClientRect().top ?? innerHeight;
    menu.style.maxHeight = `${end - 16}px`;
    const { width, height } = menu.getBoundingClientRect();
    menu.style.left = `${Math.max(8, Math.min(x + around.left, innerWidth - width - 8))}px`;
    menu.style.top = `${Math.max(8, Math.min(y + around.top, end - height - 8))}px`;
    items()[0]?.focus({ preventScroll: true });
  }, [x, y]);
  useEffect(() => {
    const outside = (event: Event) => {
      if (event.target instanceof Node && !list.current?.contains(event.target)) closed();
    };
    addEventListener("pointerdown", outside, true);
    addEventListener("wheel", outside, { capture: true, passive: true });
    addEventListener("resize", closed);
    return () => {
      removeEventListener("pointerdown", outside, true);
      removeEventListener("wheel", outside, true);
      removeEventListener("resize", closed);
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
    else if (event.key.length === 1 && !event.ctrlKey && !event.metaKey) {
      const again = event.timeStamp - typed.current.at < wordMs;
      if (event.key === " " && !again) return; // it presses the button
      const text = (again ? typed.current.text : "") + event.key.toLowerCase();
      typed.current = { text, at: event.timeStamp };
      const from = [...all.slice(again ? at : at + 1), ...all];
      from.find((item) => item.textContent?.toLowerCase().startsWith(text))?.focus({ preventScroll: true });
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div
      class="menu"
      role="menu"
      popover="manual"
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
