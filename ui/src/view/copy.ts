// Copying, and what says that it was done: the bottom line, and by it those who have pages read out.
import { signal } from "@preact/signals";

/** What was copied last, in words, for as long as it takes to read. */
export const copied = signal("");

const shownMs = 2000;
let timer: ReturnType<typeof setTimeout> | undefined;

/** @param what what the text is: "link" */
export async function copyText(text: string, what: string): Promise<void> {
  // Pages that come from another machine without HTTPS have no clipboard.
  const done = await navigator.clipboard?.writeText(text).then(() => true, () => false);
  copied.value = done ? `${what} copied` : "this browser does not let pages copy";
  clearTimeout(timer);
  timer = setTimeout(() => (copied.value = ""), shownMs);
}
