import assert from "node:assert/strict";
import { test } from "node:test";
import { base, location, offsetOf, shorten, visible } from "../src/model/names.ts";

test("what would act is shown", () => {
  for (const [name, want] of [
    ["main", "main"],
    ["<img src=x onerror=alert(1)>", "<img src=x onerror=alert(1)>"], // text; the components never parse it
    ["a\u202eb", "a\\u202eb"],
    ["tab\there\u0000", "tab\\u0009here\\u0000"],
    ["\u2066x\u2069\u200f", "\\u2066x\\u2069\\u200f"],
    ["naïve 名前 👩‍🚀", "naïve 名前 👩‍🚀"],
  ] as const) {
    assert.equal(visible(name), want);
  }
});

test("names are shortened inside template arguments first", () => {
  for (const [name, limit, want] of [
    ["short<int>", 20, "short<int>"],
    ["std::map<int, std::vector<long long>>::at", 40, "std::map<int, std::vector<…>>::at"],
    ["std::map<int, std::vector<long long>>::at", 20, "std::map<…>::at"],
    ["Stream::operator<<(char)", 24, "Stream::operator<<(char)"],
    ["f(A<B>) -> std::pair<int, long>", 28, "f(A<…>) -> std::pair<…>"],
    ["abcdefghijklmnopqrstuvwxyz", 10, "abcdef…xyz"],
  ] as const) {
    assert.equal(shorten(name, limit), want);
    assert.ok(shorten(name, limit).length <= limit, name);
  }
});

test("hostile names stay short, whole and quick", () => {
  for (const part of ["<", "a<", "x", "<>", ">", "operator<", "😀"]) {
    assert.ok(shorten(part.repeat(10_000)).length <= 120);
  }
  const emoji = shorten("😀".repeat(500));
  assert.doesNotMatch(emoji, /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/);
});

test("places in source code", () => {
  assert.equal(base("/src/cache/session.cc"), "session.cc");
  assert.equal(base("/src/"), "/src/");
  assert.equal(location("/src/session.cc", 88), "session.cc:88");
  assert.equal(location("session.cc", 0), "session.cc");
  assert.equal(location("", 5), "");
});

test("the offsets of functions without a name", () => {
  assert.equal(offsetOf("python3.11+0x4fea6a"), "0x4fea6a");
  assert.equal(offsetOf("0x4fea6a /usr/bin/python3.11"), "0x4fea6a");
  for (const name of ["operator+", "f", "0xyz", "std::plus<int>::operator+(0x1f)", "a b+0x1f"]) {
    assert.equal(offsetOf(name), undefined);
  }
});
