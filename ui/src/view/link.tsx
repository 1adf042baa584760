import type { ComponentChildren } from "preact";
import type { App } from "../app.ts";
import { formatPlace, type Place } from "../model/place.ts";

/** A link to a place of the app. */
export function Link(props: {
  app: App;
  to: Place;
  class?: string;
  current?: boolean;
  title?: string;
  children: ComponentChildren;
}) {
  const { app, ...rest } = props;
  return <PlaceLink {...rest} go={(to) => app.go(to)} />;
}

/** A link to a place. It is a real one: it can be copied, and opened in another tab. */
export function PlaceLink(props: {
  to: Place;
  go: (to: Place) => void;
  class?: string | undefined;
  current?: boolean | undefined;
  title?: string | undefined;
  label?: string | undefined;
  children: ComponentChildren;
}) {
  const follow = (event: MouseEvent) => {
    if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    props.go(props.to);
  };
  return (
    <a
      class={props.class}
      title={props.title}
      href={formatPlace(props.to)}
      aria-label={props.label}
      aria-current={props.current ? "page" : undefined}
      onClick={follow}
    >
      {props.children}
    </a>
  );
}
