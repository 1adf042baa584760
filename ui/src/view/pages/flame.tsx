import type { App } from "../../app.ts";

export function Flame(_: { app: App }) {
  return null;
}
