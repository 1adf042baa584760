// Names come from anyone: they are text, with acting characters shown, and their direction stays theirs.
import { shorten, visible } from "../model/names.ts";

/** The most of a name that a hint shows. */
const hintLimit = 2000;

export function Name({ text, limit }: { text: string; limit?: number }) {
  const full = visible(text);
  const short = shorten(full, limit);
  return (
    <bdi class="name" title={short === full ? undefined : shorten(full, hintLimit)}>
      {short}
    </bdi>
  );
}
