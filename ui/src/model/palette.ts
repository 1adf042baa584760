// What the palette offers: everything that has a name.
import type { Action } from "./keys.ts";
import { parsePlace, type Place } from "./place.ts";
import { rank, type Ranked } from "./search.ts";

/** Something that can be chosen. */
export interface Item {
  kind: "action" | "page" | "function" | "file" | "module" | "mark" | "recording" | "compare" | "link";
  /** Names it among those of its kind. */
  id: string;
  name: string;
  /** What stands beside the name: the section, a place, a time. */
  note: string;
  action?: Action;
}

export interface Group {
  title: string;
  items: readonly Ranked<Item>[];
}

const titles: Record<Item["kind"], string> = {
  action: "Actions",
  page: "Pages",
  function: "Functions",
  file: "Files",
  module: "Modules",
  mark: "Marks",
  recording: "Recordings",
  compare: "Compare with",
  link: "Links",
};

/** So many of each kind are shown, but for pages, which are few: the best of all kinds are in view. */
const mostOfKind = 12;

/** The items of actions. Those that lead to pages are pages. */
export function actionItems(actions: readonly Action[]): Item[] {
  return actions.map((action) => ({
    kind: action.id.startsWith("page.") ? "page" : "action",
    id: action.id,
    name: action.title,
    note: action.id.startsWith("page.") ? "" : action.section,
    action,
  }));
}

/**
 * The groups of what matches, those with the best match first. Without a text, actions and pages are offered.
 * @param found functions, files and modules that the server has found by the same text
 */
export function groups(typed: string, known: readonly Item[], found: readonly Item[]): Group[] {
  const text = typed.trim();
  const links = known.filter(({ kind }) => kind === "link");
  if (links.length > 0) return [{ title: titles.link, items: links.map((item) => ({ item, score: 0, at: [] })) }];
  const byKind = new Map<Item["kind"], Ranked<Item>[]>();
  const ranked = [
    ...rank(text, known, ({ name }) => name, 200),
    // The server found them by a part of their names, so that all of them match.
    ...(text === "" ? [] : rank(text, found, ({ name }) => name, 200)),
  ].sort((a, b) => b.score - a.score);
  for (const match of ranked) {
    const list = byKind.get(match.item.kind);
    if (!list) byKind.set(match.item.kind, [match]);
    else if (list.length < mostOfKind || match.item.kind === "page") list.push(match);
  }
  const first: readonly Item["kind"][] = ["page", "action", "mark", "recording", "compare"];
  const order = text === "" ? first : [...byKind.keys()];
  return order.flatMap((kind) => {
    const items = byKind.get(kind);
    return items ? [{ title: titles[kind], items }] : [];
  });
}

/**
 * The place that a link of this app leads to, whichever server it came from; undefined: the text is none. What it is
 * about may have another name here.
 * @param recordings those that are here
 * @param shown the one on the screen
 */
export function placeOfLink(text: string, recordings: readonly string[], shown: string | undefined): Place | undefined {
  const trimmed = text.trim();
  if (!/^https?:\/\//.test(trimmed) || !URL.canParse(trimmed)) return undefined;
  const place = parsePlace(new URL(trimmed).search);
  if (place.recording === undefined) return undefined;
  return recordings.includes(place.recording) ? place : { ...place, recording: shown ?? recordings[0] };
}
