import type { App } from "../../app.ts";

export function Tree(_: { app: App }) {
  return null;
}
