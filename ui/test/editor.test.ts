import assert from "node:assert/strict";
import { test } from "node:test";
import { editorLink, editors, keepTemplate, keptTemplate, parseTemplate } from "../src/model/editor.ts";

const vscode = "vscode://file{path}:{line}";

test("only schemes of editors make links", () => {
  for (const { template } of editors) assert.deepEqual(parseTemplate(template), { template });
  for (const text of [
    "",
    "javascript://{path}%0aalert(1)",
    "javascript:{path}",
    "data://text/html,{path}",
    "http://example.com/{path}",
    "file://{path}",
    "ssh://{path}",
    "ms-msdt://{path}",
    "VSCODE://file{path}",
    "vscode:{path}",
    " java\nscript://{path}",
    "vscode://file/x",
    `vscode://file{path}${"x".repeat(300)}`,
    "vscode://file{path} {line}",
    "vscode://file{path}\u202e",
    "{path}",
  ]) {
    assert.ok("why" in parseTemplate(text), text);
    assert.equal(editorLink(text, "/a.c", 1), undefined, text);
  }
});

test("paths cannot leave their place in the link", () => {
  for (const [path, line, want] of [
    ["/src/a.cc", 88, "vscode://file/src/a.cc:88"],
    ["/src/a b#c?d=&e%20.cc", 0, "vscode://file/src/a%20b%23c%3Fd%3D%26e%2520.cc:1"],
    ["/src/{line}.cc", 2, "vscode://file/src/%7Bline%7D.cc:2"],
    ["/src/größe.cc", 2.7, "vscode://file/src/gr%C3%B6%C3%9Fe.cc:2"],
    ["/a\ud800.c", NaN, "vscode://file/a%EF%BF%BD.c:1"],
    ["relative.cc", 1, undefined],
    ["", 1, undefined],
    ["/a\0b", 1, undefined],
  ] as const) {
    assert.equal(editorLink(vscode, path, line), want, path);
  }
});

test("the chosen template is kept, and whatever else is kept is ignored", () => {
  const kept = new Map<string, string>();
  const store = {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
  };
  assert.equal(keptTemplate(undefined), vscode);
  assert.equal(keptTemplate(store), vscode);
  keepTemplate(store, "zed://file{path}:{line}");
  assert.equal(keptTemplate(store), "zed://file{path}:{line}");
  keepTemplate(store, "javascript://{path}");
  assert.equal(keptTemplate(store), vscode);
});
