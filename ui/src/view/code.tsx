// Source text in colours.
import { visible } from "../model/names.ts";
import type { Token } from "../model/highlight.ts";

/** The most characters of a line that are shown: more is not source that anybody reads. */
const mostCharacters = 2000;
/** As editors show them by default. */
const tabWidth = 8;

/** A line of source. Acting characters are shown as what they are: source can lie about its order, too. */
export function Code({ text, tokens }: { text: string; tokens: readonly Token[] }) {
  let begin = 0;
  let column = 0;
  const parts = [];
  for (const { kind, end } of tokens) {
    const part = expand(text.slice(begin, Math.min(end, mostCharacters)), column);
    column = part.column;
    parts.push(kind === "" ? part.text : <span class={kind}>{part.text}</span>);
    begin = end;
    if (begin >= mostCharacters) break;
  }
  const rest = text.length - mostCharacters;
  return (
    <bdi class="code">
      {parts}
      {rest > 0 && <span class="quiet"> … {rest} more characters</span>}
    </bdi>
  );
}

/** Writes tabs as spaces, up to the next stop, and what would act as its code. */
function expand(text: string, from: number): { text: string; column: number } {
  if (!/[\t\p{C}]/u.test(text)) return { text, column: from + text.length };
  let column = from;
  let result = "";
  for (const part of text.split(/(\t)/)) {
    const shown = part === "\t" ? " ".repeat(tabWidth - (column % tabWidth)) : visible(part);
    column += shown.length;
    result += shown;
  }
  return { text: result, column };
}
