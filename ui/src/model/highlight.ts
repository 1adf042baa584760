// Colours for source text: comments, strings, numbers, keywords and directives. It reads tokens, not a grammar, line by
// line; what goes on over several lines is its state. Every line takes time in proportion to its length.

export type TokenKind = "" | "comment" | "string" | "number" | "keyword" | "directive";

/** A part of a line, up to its end. */
export interface Token {
  kind: TokenKind;
  end: number;
}

export type Language = "c" | "rust" | "go" | "python" | "plain";

/** What a line begins in. */
export interface State {
  in: "code" | "block" | "line" | "string";
  /** How deeply block comments are nested. */
  depth: number;
  /** What ends a string. */
  end: string;
  /** Whether a backslash in it escapes the next character, and whether it may have more lines without one. */
  escapes: boolean;
  lines: boolean;
}

export const start: State = { in: "code", depth: 0, end: "", escapes: false, lines: false };

const extensions: Record<string, Language> = {};
const extensionsOf: [Language, string][] = [
  ["c", "c h cc cpp cxx c++ hpp hh hxx h++ inc inl ipp tcc tpp txx ixx cu cuh m mm def"],
  ["rust", "rs"],
  ["go", "go"],
  ["python", "py pyi pyx pxd pxi"],
];
for (const [language, list] of extensionsOf) for (const name of list.split(" ")) extensions[name] = language;

/** The language of a file, by its name. The headers of the C++ library have no extension. */
export function languageOf(file: string): Language {
  const name = file.slice(file.lastIndexOf("/") + 1).toLowerCase();
  const dot = name.lastIndexOf(".");
  if (dot < 0) return /\/c\+\+\//.test(file) ? "c" : "plain";
  const extension = name.slice(dot + 1);
  return Object.hasOwn(extensions, extension) ? (extensions[extension] ?? "plain") : "plain";
}

interface Rules {
  keywords: ReadonlySet<string>;
  /** Begins a comment up to the end of the line. */
  line: string;
  /** Block comments: whether there are any, and whether they nest. */
  block: boolean;
  nested: boolean;
  /** A number, from its first digit. */
  number: RegExp;
  /** Whether a backslash at the end of a line joins it with the next one, in comments too. */
  joins: boolean;
}

const words = (text: string) => new Set(text.split(/\s+/));
const plainNumber = /0[xXbBoO][\da-fA-F_.]+\w*|\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][+-]?[\d_]+)?\w*/y;

const rules: Record<Exclude<Language, "plain">, Rules> = {
  c: {
    keywords: words(
      `alignas alignof asm auto bool break case catch char char8_t char16_t char32_t class co_await co_return
      co_yield concept const const_cast consteval constexpr constinit continue decltype default delete do double
      dynamic_cast else enum explicit export extern false final float for friend goto if inline int long mutable
      namespace new noexcept nullptr operator override private protected public register reinterpret_cast requires
      restrict return short signed sizeof static static_assert static_cast struct switch template this thread_local
      throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t while _Alignas
      _Alignof _Atomic _Bool _Complex _Generic _Noreturn _Static_assert _Thread_local`,
    ),
    line: "//",
    block: true,
    nested: false,
    number: /\.?\d(?:[eEpP][+-]|'\w|[\w.])*/y,
    joins: true,
  },
  rust: {
    keywords: words(
      `as async await bool break char const continue crate dyn else enum extern f32 f64 false fn for i8 i16 i32 i64 i128
      if impl in isize let loop macro_rules match mod move mut pub ref return self Self static str struct super trait
      true type u8 u16 u32 u64 u128 union unsafe use usize where while yield`,
    ),
    line: "//",
    block: true,
    nested: true,
    number: plainNumber,
    joins: false,
  },
  go: {
    keywords: words(
      `any bool break byte case chan complex64 complex128 const continue default defer else error fallthrough false
      float32 float64 for func go goto if import int int8 int16 int32 int64 interface iota map nil package range return
      rune select string struct switch true type uint uint8 uint16 uint32 uint64 uintptr var`,
    ),
    line: "//",
    block: true,
    nested: false,
    number: plainNumber,
    joins: false,
  },
  python: {
    keywords: words(
      `and as assert async await break case cdef class continue cpdef def del elif else except False finally for from
      global if import in is lambda match None nonlocal not or pass raise return True try while with yield`,
    ),
    line: "#",
    block: false,
    nested: false,
    number: plainNumber,
    joins: false,
  },
};

/**
 * The tokens of a line, and what the next one begins in.
 * @param tokens undefined: only the state is wanted
 */
export function read(line: string, before: State, language: Language, tokens?: Token[]): State {
  if (language === "plain") {
    if (line !== "") tokens?.push({ kind: "", end: line.length });
    return start;
  }
  return new Scanner(line, language, tokens).read(before);
}

const word = /[\p{L}_$][\p{L}\p{N}_$]*/uy;
const rawPrefix = /^(u8|[uUL])?R$/;
const stringPrefix = /^(u8|[uUL])$/;

class Scanner {
  #at = 0;
  readonly #rules: Rules;

  constructor(
    readonly line: string,
    readonly language: Exclude<Language, "plain">,
    readonly tokens: Token[] | undefined,
  ) {
    this.#rules = rules[language];
  }

  read(before: State): State {
    let state = this.#goOn(before);
    while (state === start && this.#at < this.line.length) state = this.#next();
    return state;
  }

  /** Reads on in what the line before has begun. */
  #goOn(before: State): State {
    switch (before.in) {
      case "block":
        return this.#block(before.depth);
      case "line":
        return this.#comment();
      case "string":
        return this.#string(before.end, before.escapes, before.lines);
      default:
        return start;
    }
  }

  #push(kind: TokenKind): void {
    const { tokens } = this;
    if (!tokens) return;
    const last = tokens.at(-1);
    if (last && last.kind === kind) last.end = this.#at;
    else if (this.#at > (last?.end ?? 0)) tokens.push({ kind, end: this.#at });
  }

  #next(): State {
    const { line, language } = this;
    const r = this.#rules;
    const c = line.charAt(this.#at);
    if (line.startsWith(r.line, this.#at)) return this.#comment();
    if (r.block && line.startsWith("/*", this.#at)) {
      this.#at += 2;
      return this.#block(1);
    }
    if (c === '"') return this.#quote(false, "");
    if (c === "'") return this.#apostrophe();
    if (c === "`" && language === "go") {
      this.#at++;
      return this.#string("`", false, true);
    }
    if ((c >= "0" && c <= "9") || (c === "." && language === "c" && /\d/.test(line.charAt(this.#at + 1)))) {
      r.number.lastIndex = this.#at;
      const number = r.number.exec(line);
      this.#at += number?.[0].length ?? 1;
      this.#push("number");
      return start;
    }
    if (c === "#" && language === "c" && line.slice(0, this.#at).trim() === "") return this.#directive();
    if (c === "@" && language === "python" && line.slice(0, this.#at).trim() === "") return this.#decorator();
    word.lastIndex = this.#at;
    const name = word.exec(line)?.[0];
    if (name === undefined) {
      this.#at += (line.codePointAt(this.#at) ?? 0) > 0xffff ? 2 : 1;
      this.#push("");
      return start;
    }
    return this.#word(name);
  }

  #word(name: string): State {
    const { line, language } = this;
    const after = line.charAt(this.#at + name.length);
    const quoted = after === '"' || after === "'";
    if (language === "c" && after === '"' && rawPrefix.test(name)) {
      const open = /"([^\s()\\"]{0,16})\(/y;
      open.lastIndex = this.#at + name.length;
      const raw = open.exec(line);
      if (raw) {
        this.#at = open.lastIndex;
        return this.#string(`)${raw[1] ?? ""}"`, false, true);
      }
    }
    if (language === "c" && quoted && stringPrefix.test(name)) {
      this.#at += name.length;
      return after === '"' ? this.#quote(false, "") : this.#apostrophe();
    }
    if (language === "rust" && /^(b|c)?r$/.test(name) && (after === '"' || after === "#")) {
      const open = /(#*)"/y;
      open.lastIndex = this.#at + name.length;
      const raw = open.exec(line);
      if (raw) {
        this.#at = open.lastIndex;
        return this.#string(`"${raw[1] ?? ""}`, false, true);
      }
    }
    if (language === "rust" && quoted && /^[bc]$/.test(name)) {
      this.#at += 1;
      return after === '"' ? this.#quote(false, "") : this.#apostrophe();
    }
    if (language === "python" && quoted && /^([rbuft]|[rbft]{2})$/i.test(name)) {
      this.#at += name.length;
      return after === '"' ? this.#quote(true, '"') : this.#quote(true, "'");
    }
    this.#at += name.length;
    this.#push(this.#rules.keywords.has(name) ? "keyword" : "");
    return start;
  }

  /** A string in quotes. Those of Python may be tripled. */
  #quote(triple: boolean, quote: string): State {
    const { language } = this;
    const q = quote || '"';
    if ((triple || language === "python") && this.line.startsWith(q.repeat(3), this.#at)) {
      this.#at += 3;
      return this.#string(q.repeat(3), true, true);
    }
    this.#at++;
    return this.#string(q, true, language === "rust");
  }

  #apostrophe(): State {
    const { line, language } = this;
    if (language === "python") return this.#quote(true, "'");
    if (language === "rust") {
      const character = /'(?:\\(?:u\{[^}']*\}|x\w\w|.)|[^\\'])'/uy;
      character.lastIndex = this.#at;
      const found = character.exec(line);
      if (!found) {
        this.#at++; // a lifetime
        this.#push("");
        return start;
      }
      this.#at += found[0].length;
      this.#push("string");
      return start;
    }
    this.#at++;
    return this.#string("'", true, false);
  }

  /** Reads on to the end of a string or of the line. */
  #string(end: string, escapes: boolean, lines: boolean): State {
    const { line } = this;
    for (let at = this.#at; ; ) {
      const close = line.indexOf(end, at);
      const escape = escapes ? line.indexOf("\\", at) : -1;
      if (escape >= 0 && (close < 0 || escape < close)) {
        if (escape + 1 >= line.length) {
          this.#at = line.length;
          this.#push("string");
          return { in: "string", depth: 0, end, escapes, lines }; // the line is joined with the next one
        }
        at = escape + 2;
        continue;
      }
      this.#at = close < 0 ? line.length : close + end.length;
      this.#push("string");
      return close < 0 && lines ? { in: "string", depth: 0, end, escapes, lines } : start;
    }
  }

  #block(depth: number): State {
    const { line } = this;
    let level = depth;
    for (let at = this.#at; ; ) {
      const close = line.indexOf("*/", at);
      const open = this.#rules.nested ? line.indexOf("/*", at) : -1;
      if (open >= 0 && (close < 0 || open < close)) {
        level++;
        at = open + 2;
        continue;
      }
      if (close >= 0 && --level > 0) {
        at = close + 2;
        continue;
      }
      this.#at = close < 0 ? line.length : close + 2;
      this.#push("comment");
      return close < 0 ? { ...start, in: "block", depth: level } : start;
    }
  }

  /** A comment up to the end of the line. */
  #comment(): State {
    this.#at = this.line.length;
    this.#push("comment");
    return this.#rules.joins && this.line.endsWith("\\") ? { ...start, in: "line" } : start;
  }

  /** A directive of the preprocessor: its name and, of an include, the file. */
  #directive(): State {
    const found = /#\s*(\w*)\s*(<[^>]*>)?/y;
    found.lastIndex = this.#at;
    const [all = "#", name, file] = found.exec(this.line) ?? [];
    const include = file !== undefined && /^(include|include_next|import|embed)$/.test(name ?? "");
    this.#at += file === undefined ? all.trimEnd().length : all.length - file.length;
    this.#push("directive");
    if (include) {
      this.#at += file.length;
      this.#push("string");
    }
    return start;
  }

  #decorator(): State {
    const found = /@[\w.]*/y;
    found.lastIndex = this.#at;
    this.#at += found.exec(this.line)?.[0].length ?? 1;
    this.#push("directive");
    return start;
  }
}

/** Reads a file from its beginning, as far as lines are wanted, and keeps what each line begins in. */
export class Highlighter {
  readonly #states: State[] = [start];

  constructor(
    readonly lines: readonly string[],
    readonly language: Language,
  ) {}

  /** The tokens of a line, by its index. */
  tokens(index: number): Token[] {
    const line = this.lines[index];
    if (line === undefined) return [];
    const tokens: Token[] = [];
    read(line, this.#stateAt(index), this.language, tokens);
    return tokens;
  }

  #stateAt(index: number): State {
    const states = this.#states;
    if (this.language === "plain") return start;
    for (let i = states.length; i <= index; i++) {
      states.push(read(this.lines[i - 1] ?? "", states[i - 1] ?? start, this.language));
    }
    return states[index] ?? start;
  }
}
