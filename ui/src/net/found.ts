// What the palette finds in a recording.
import type { Top } from "../api.ts";
import { cleanPath } from "../model/details.ts";
import type { Filters } from "../model/filters.ts";
import { base } from "../model/names.ts";
import type { Item } from "../model/palette.ts";
import { put } from "./ask.ts";
import type { Ask } from "./lanes.ts";

const most = 20;

/** The functions, files and modules whose names contain a text; those with the most bytes come first. */
export async function askFound(ask: Ask, recording: string, filters: Filters, text: string): Promise<Item[]> {
  const asked = { ...filters, match: text, metric: ["bytes" as const], limit: most };
  const found: Item[] = [];
  for (const kind of ["function", "file", "module"] as const) {
    found.push(...itemsOf(await put(ask, recording, "top", { ...asked, by: kind }), kind));
  }
  return found;
}

function itemsOf({ rows }: Top, kind: "function" | "file" | "module"): Item[] {
  const { group } = rows;
  const items = new Map<string, Item>();
  for (let i = 0; i < rows.rows; i++) {
    const [name, module] = [group.function.at(i), group.module.at(i)];
    const id = kind === "function" ? name : kind === "file" ? cleanPath(group.file.at(i)) : module;
    if (id === "" || items.has(id)) continue;
    const note = kind === "function" ? base(module) : id;
    items.set(id, { kind, id, name: kind === "function" ? id : base(id), note });
  }
  return [...items.values()];
}
