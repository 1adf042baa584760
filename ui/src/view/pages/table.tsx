import type { App } from "../../app.ts";

export function Table(_: { app: App }) {
  return null;
}
