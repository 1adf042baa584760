import assert from "node:assert/strict";
import { test } from "node:test";
import type { GroupColumns } from "../src/api.ts";
import { decode } from "../src/columns.ts";
import { groupsOf, hash } from "../src/model/group.ts";
import { columns } from "./encode.mjs";

const nowhere = { file: "", line: 0, module: "", offset: "", region: "", kind: "" };
const none = { by: "function", unknown: false, function: "", ...nowhere };

function groups(...rows: object[]) {
  const { answer } = decode<{ rows: GroupColumns }>(columns({ rows: rows.map((row) => ({ ...none, ...row })) }));
  return groupsOf(answer.rows, undefined);
}

test("groups are named as the API names them in below", () => {
  const rows = groups(
    { function: "parse", file: "/src/json.c", line: 12, module: "/bin/app", by: "line" },
    { module: "/bin/app", offset: "0x12" },
    { by: "module", module: "/lib/libc.so.6" },
    { by: "file", file: "/src/json.c" },
    { by: "region", region: "event/7" },
    { by: "region", unknown: true },
    { unknown: true },
    {},
  );
  assert.deepEqual(
    rows.map(({ text, name, note }) => [text, name, note]),
    [
      ["parse /src/json.c:12 /bin/app", "parse", "json.c:12 app"],
      ["0x12 /bin/app", "app+0x12", ""],
      ["/lib/libc.so.6", "libc.so.6", "/lib/libc.so.6"],
      ["/src/json.c", "json.c", "/src/json.c"],
      ["event/7", "event/7", ""],
      ["(no region)", "(no region)", ""],
      ["(no call stack)", "libraries alone, or unknown", ""],
      ["(outside of any file)", "unknown function", ""],
    ],
  );
});

test("whose code it is: what runs before main is nobody's", () => {
  const rows = groups(
    { function: "main", kind: "own" },
    { function: "_start", kind: "own" },
    { function: "clone3@GLIBC_2.34", kind: "library" },
    { function: "clone3_of_mine", kind: "own" },
    { function: "malloc", kind: "wrapper" },
    { by: "thread" },
  );
  assert.deepEqual(
    rows.map(({ kind }) => kind),
    ["own", "start", "start", "own", "wrapper", ""],
  );
});

test("a pattern finds the name, and nothing else", () => {
  for (const name of ["a(b[c]*)$", "std::vector<int>::operator[](unsigned long) const", "a|b\\c.{2}^?+"]) {
    const [group] = groups({ function: name });
    assert.ok(new RegExp(group?.pattern ?? "").test(name), name);
    assert.ok(!new RegExp(group?.pattern ?? "").test(`x${name}`));
  }
  const [nameless] = groups({ module: "/bin/app", offset: "0x12" });
  assert.equal(nameless?.pattern, undefined);
});

test("hashes of different paths differ", () => {
  const seen = new Set<number>();
  for (let before = 0; before < 100; before++) {
    for (let i = 0; i < 1000; i++) seen.add(hash(`name ${i}`, hash(`${before}`)));
  }
  assert.equal(seen.size, 100_000);
  for (const key of seen) assert.ok(Number.isSafeInteger(key) && key >= 0);
});
