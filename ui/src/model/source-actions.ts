// What keys and the palette do on the page Source: apart from the rest of it, which other pages do not load.
import type { Action } from "./keys.ts";

/** What can be done on the source page. */
export const sourceActions: readonly Action[] = [
  { id: "source.next", keys: ["n"], title: "Next match" },
  { id: "source.previous", keys: ["N"], title: "Previous match" },
  { id: "source.line", keys: ["g"], title: "Go to a line" },
  { id: "source.hottest", keys: ["h"], title: "Go to the line with the most, then to the next one" },
  { id: "source.select", keys: [], title: "Select the line: everything else is then about it" },
  { id: "source.editor", keys: ["e"], title: "Open the line in the editor" },
].map((action) => ({ ...action, section: "Source", page: "source" }));
