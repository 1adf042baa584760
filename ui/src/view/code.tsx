// Source text in colours.
import { visible } from "../model/names.ts";
import type { Token } from "../model/highlight.ts";

/** The most characters of a line that are shown: more is not source that anybody reads. */
const mostCharacters = 2000;
/** As editors show them by default. */
const tabWidth = 8;

/** Where a line has what was searched for: begin and end of each, in order. */
export type Marks = readonly (readonly [number, number])[];

/** A line of source. Acting characters are shown as what they are: source can lie about its order, too. */
export function Code({ text, tokens, marks = [] }: { text: string; tokens: readonly Token[]; marks?: Marks }) {
  const shown = text.slice(0, mostCharacters);
  let column = 0;
  let begin = 0;
  const parts = [];
  for (const { kind, end } of tokens) {
    if (begin >= shown.length) break;
    // A token is cut where a mark begins or ends.
    const cuts = marks.flat().filter((cut) => cut > begin && cut < end);
    for (const to of [...cuts, end]) {
      const part = expand(shown.slice(begin, to), column);
      column = part.column;
      const at = begin;
      const marked = marks.some(([from, until]) => at >= from && at < until);
      const inner = marked ? <mark>{part.text}</mark> : part.text;
      parts.push(kind === "" ? inner : <span class={kind}>{inner}</span>);
      begin = to;
    }
  }
  const rest = text.length - shown.length;
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
