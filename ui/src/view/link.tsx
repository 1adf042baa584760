import type { ComponentChildren } from "preact";
import type { App } from "../app.ts";
import type { Place } from "../model/place.ts";
import { PlaceLink } from "./place-link.tsx";

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
