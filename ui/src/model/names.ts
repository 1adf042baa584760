// Names of functions, files and programs come from anyone. Here they become text that shows what they contain and
// cannot disturb what stands beside it; the components show it as text, in a <bdi>.

/**
 * The offset of a function without a name, as it is shown: 0x4fea6a of python3.11+0x4fea6a, and of
 * "0x4fea6a /usr/bin/python3.11"; undefined: it has a name.
 */
export function offsetOf(name: string): string | undefined {
  return /^(?:[^\s+]*\+)?(0x[0-9a-f]+)(?: \S*)?$/.exec(name)?.[1];
}

/** Characters that would act instead of being shown: controls, and marks that change the direction of text. */
const acting = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** Replaces each acting character by its code: \u202e. */
export function visible(name: string): string {
  return name.replace(acting, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/**
 * Shortens a name to a number of characters: first the arguments of templates, the innermost first, then the middle.
 * A cut is marked by an ellipsis.
 */
export function shorten(name: string, limit = 120): string {
  let short = name;
  for (let depth = 8; depth >= 0 && short.length > limit; depth--) short = dropArguments(name, depth);
  if (short.length <= limit) return short;
  const tail = Math.floor((limit - 1) / 3);
  return `${cut(short, 0, limit - 1 - tail)}…${cut(short, short.length - tail, short.length)}`;
}

/** Replaces template arguments that are within a number of others by an ellipsis. */
function dropArguments(name: string, depth: number): string {
  let level = 0;
  let result = "";
  for (let i = 0; i < name.length; i++) {
    const c = name.charAt(i);
    // The arrows of operator<, operator->, and of -> before a return type, enclose nothing.
    const encloses = !/(operator[<>=-]*|-)$/.test(name.slice(Math.max(0, i - 11), i));
    if (c === ">" && encloses && level > 0) level--;
    if (level <= depth) result += c;
    if (c === "<" && encloses && level++ === depth) result += "…";
  }
  return result;
}

/** A slice that does not divide a surrogate pair. */
function cut(text: string, from: number, to: number): string {
  const low = (i: number) => text.charCodeAt(i) >= 0xdc00 && text.charCodeAt(i) <= 0xdfff;
  return text.slice(low(from) ? from + 1 : from, low(to) ? to - 1 : to);
}

/** The last part of a path: session.cc of /src/cache/session.cc. */
export function base(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1) || path;
}

/** A place in source code: session.cc:88; empty if it is not known. */
export function location(file: string, line: number): string {
  if (file === "") return "";
  return line > 0 ? `${base(file)}:${line}` : base(file);
}

/** A word as a shell reads it back, in quotes where it needs them. */
export function shellQuote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
