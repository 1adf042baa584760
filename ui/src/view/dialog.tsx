// A dialog over the page. The browser keeps the focus in it, makes the rest inert, and closes it with Esc.
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

export function Dialog(props: { label: string; class: string; close: () => void; children: ComponentChildren }) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = element.current;
    const before = document.activeElement;
    dialog?.showModal();
    return () => {
      dialog?.close();
      if (before instanceof HTMLElement) before.focus({ preventScroll: true });
    };
  }, []);
  return (
    <dialog
      ref={element}
      class={props.class}
      aria-label={props.label}
      onCancel={(event) => {
        event.preventDefault();
        props.close();
      }}
      // A click on the dialog itself, and on nothing in it, is one beside it.
      onPointerDown={(event) => event.target === event.currentTarget && props.close()}
      // Keys of the page mean nothing here.
      onKeyDown={(event) => event.stopPropagation()}
    >
      <div class="dialog">{props.children}</div>
    </dialog>
  );
}
