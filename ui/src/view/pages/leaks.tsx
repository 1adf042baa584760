import type { App } from "../../app.ts";

export function Leaks(_: { app: App }) {
  return null;
}
