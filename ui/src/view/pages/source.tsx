import type { App } from "../../app.ts";

export function Source(_: { app: App }) {
  return null;
}
