import assert from "node:assert/strict";
import { test } from "node:test";
import { Highlighter, languageOf, read, start, type Language, type Token } from "../src/model/highlight.ts";

const marks = { comment: "c", string: "s", number: "n", keyword: "k", directive: "d", "": "." } as const;

/** Each character of a text as the mark of its token; spaces stay. */
function marked(text: string, language: Language): string {
  const lines = text.split("\n");
  const highlighter = new Highlighter(lines, language);
  return lines
    .map((line, i) => {
      let at = 0;
      let result = "";
      for (const { kind, end } of highlighter.tokens(i)) {
        assert.ok(end > at, `an empty token in ${JSON.stringify(line)}`);
        for (; at < end; at++) result += line[at] === " " ? " " : marks[kind];
      }
      assert.equal(at, line.length, JSON.stringify(line));
      return result;
    })
    .join("\n");
}

test("C and C++", () => {
  for (const [text, want] of [
    ["int x = 0x1F'FFul + 1e-5f;", "kkk . . nnnnnnnnn . nnnnn."],
    ["x = 1'000'000 + 'a' + '\\'';", ". . nnnnnnnnn . sss . ssss."],
    ['p("/* \\" // "); // "y"', "..sss ss ss s.. cc ccc"],
    ["/* a\n // \" ' */ int", "cc c\n cc c c cc kkk"],
    ["/* /* */ x */", "cc cc cc . .."],
    ["// a \\\nstill\nx", "cc c c\nccccc\n."],
    ['auto s = R"x(a)"\n)y" )x" + 1;', "kkkk . . sssssss\nsss sss . n."],
    ['u8R"(")" FOOR"(" x', "ssssssss ....sss ."],
    ['LR"a b(" x', "..ss sss ."], // no delimiter has spaces
    ['"a\\\nb" c', 'sss\nss .'],
    ['"unterminated\nint', "sssssssssssss\nkkk"],
    ["#include <vector> // x", "dddddddd ssssssss cc c"],
    ['#  include "a.h"', "d  ddddddd sssss"],
    ["#define A(x) #x '", "ddddddd .... .. s"],
    ["#error don't", "dddddd ...ss"],
    ["a #b", ". .."],
    ["x.5 .5 1.5e+3 a1", ".nn nn nnnnnn .."],
    ["L'x' u'y' U\"z\" ul\"z\"", "ssss ssss ssss ..sss"],
    ["returned return _return", "........ kkkkkk ......."],
    ["größe 😀 \"😀\"", "..... .. ssss"],
    ["", ""],
  ] as const) {
    assert.equal(marked(text, "c"), want, text);
  }
});

test("Rust, Go and Python", () => {
  for (const [language, text, want] of [
    ["rust", "/* /* */ still */ fn", "cc cc cc ccccc cc kk"],
    ["rust", "fn f<'a>(x: &'a str) { 'x' '\\'' '\\u{1F600}' }", "kk ........ ... kkk. . sss ssss sssssssssss ."],
    ["rust", 'r#"a " b"# r"\\" b"x"', "ssss s sss ssss ssss"],
    ["rust", '"one\ntwo" 1..2', "ssss\nssss n..n"],
    ["go", "x := `a \\\n\" ` + 'x' // c", ". .. ss s\ns s . sss cc c"],
    ["go", "func f() { return 0x_ff, 1_000.5e3 }", "kkkk ... . kkkkkk nnnnn. nnnnnnnnn ."],
    ["python", "def f(): # x \"", "kkk .... c c c"],
    ["python", '"""doc\n\' # "" \\""" end""" x', "ssssss\ns s ss ssss ssssss ."],
    ["python", "@a.b(c)\nrb'\\'' f\"{x}\" 'it", "dddd...\nssssss ssssss sss"],
    ["plain", "int \"x", "... .."],
  ] as const) {
    assert.equal(marked(text, language), want, text);
  }
});

test("files tell their language", () => {
  for (const [file, want] of [
    ["/src/a.cc", "c"],
    ["a.HPP", "c"],
    ["/usr/include/c++/12/vector", "c"],
    ["/usr/include/vector", "plain"],
    ["lib.rs", "rust"],
    ["x.go", "go"],
    ["x.pyx", "python"],
    ["Makefile", "plain"],
    ["x.constructor", "plain"],
    ["", "plain"],
  ] as const) {
    assert.equal(languageOf(file), want, file);
  }
});

test("hostile text takes time in proportion to its length", () => {
  const parts = ['"', "'", "/*", "*/", 'R"(', "\\", "#", "`", '"""', "1'", "r#", "a", "😀", "1e+"];
  for (const language of ["c", "rust", "go", "python"] as const) {
    for (const part of parts) {
      const line = part.repeat(200_000 / part.length);
      const tokens: Token[] = [];
      const begin = process.cpuUsage().user;
      read(line, read(line, start, language), language, tokens);
      assert.ok((process.cpuUsage().user - begin) / 1000 < 8000, `${language}: ${part}`);
      assert.equal(tokens.at(-1)?.end, line.length);
    }
  }
});

test("any line gives tokens that cover it, in any state", () => {
  let seed = 1;
  const random = (n: number) => (seed = (seed * 48271) % 0x7fffffff) % n;
  const parts = ['"', "'", "/*", "*/", "//", 'R"x(', ')x"', "\\", "#", "`", "int", "1'0", " ", "r#\"", '"#', "é"];
  for (const language of ["c", "rust", "go", "python", "plain"] as const) {
    let state = start;
    for (let n = 0; n < 2000; n++) {
      const line = Array.from({ length: random(9) }, () => parts[random(parts.length)]).join("");
      const tokens: Token[] = [];
      const alone = read(line, state, language);
      state = read(line, state, language, tokens);
      assert.deepEqual(alone, state);
      assert.equal(tokens.at(-1)?.end ?? 0, line.length, line);
      tokens.forEach(({ end }, i) => assert.ok(end > (tokens[i - 1]?.end ?? 0), line));
    }
  }
});
