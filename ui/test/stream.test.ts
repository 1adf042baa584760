import assert from "node:assert/strict";
import { test } from "node:test";
import { lines } from "../src/net/stream.ts";
import { chunked } from "./fakes.ts";

async function read(...chunks: Uint8Array[]): Promise<string[]> {
  const found: string[] = [];
  const broken = (thrown: unknown): never => assert.fail(String(thrown));
  for await (const line of lines(chunked(...chunks), broken)) found.push(line);
  return found;
}

test("lines are the same however the bytes arrive", async () => {
  const text = "eins\n\nzwö 😀\nlast";
  const bytes = new TextEncoder().encode(text);
  const want = text.split("\n");
  assert.deepEqual(await read(bytes), want);
  for (let size = 1; size < bytes.length; size++) {
    const chunks: Uint8Array[] = [];
    for (let i = 0; i < bytes.length; i += size) chunks.push(bytes.slice(i, i + size));
    assert.deepEqual(await read(...chunks), want, `chunks of ${size}`);
  }
  assert.deepEqual(await read(), []);
  assert.deepEqual(await read(new TextEncoder().encode("a\n")), ["a"]);
});
