// A link that the page follows itself. It is a real one: it can be copied, and opened in another tab.
import type { ComponentChildren } from "preact";

/** Where a link leads, and what does it here. */
export interface Go {
  href: string;
  follow: () => void;
}

export function GoLink(props: { go: Go; class?: string; title?: string; children: ComponentChildren }) {
  const follow = (event: MouseEvent) => {
    if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    props.go.follow();
  };
  return (
    <a class={props.class} title={props.title} href={props.go.href} onClick={follow}>
      {props.children}
    </a>
  );
}
