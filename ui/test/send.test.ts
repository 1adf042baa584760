import assert from "node:assert/strict";
import { test } from "node:test";
import { Fault } from "../src/net/fault.ts";
import { Client } from "../src/net/lanes.ts";
import { mostBytes, sendFile } from "../src/net/send.ts";
import { Session } from "../src/net/session.ts";
import { columns } from "./encode.mjs";
import { fakeBrowser, fakeFetch, json } from "./fakes.ts";

async function client(answer: Parameters<typeof fakeFetch>[0]) {
  const browser = fakeBrowser({});
  browser.storage?.setItem("heaptap.token", "t");
  const session = new Session(browser);
  await session.start();
  const { fetch, calls } = fakeFetch(answer);
  return { client: new Client(session, fetch, "tab"), calls };
}

const never = new AbortController().signal;

test("a file is posted as it is, under its name", async () => {
  const { client: c, calls } = await client(() => json(columns({ recordings: ["a", "b"], matters: "b" })));
  const file = new File(["main;f 1\n"], "a b&c#é.folded");
  assert.equal(await sendFile(c, file, never, () => {}), "b");
  const [call] = calls;
  assert.equal(call?.url, "/api/v1/files?name=a%20b%26c%23%C3%A9.folded");
  assert.equal(call.init.method, "POST");
  assert.equal(call.init.body, file);
  const headers = call.init.headers as Record<string, string>;
  assert.deepEqual([headers["Authorization"], headers["X-Heaptap-Lane"]], ["Bearer t", "background/files"]);
});

test("what the server refuses is a fault; what is too large is not sent", async () => {
  const refusal = { error: "unreadable", what: "unknown format", where: "body", do: "see docs" };
  const { client: c, calls } = await client(() => json(refusal, 400));
  const refused = await sendFile(c, new File(["x"], "x"), never, () => {}).catch((thrown: unknown) => thrown);
  assert.ok(refused instanceof Fault && refused.kind === "refused" && refused.where.startsWith("POST /api/v1/files"));
  const large = { name: "large", size: mostBytes + 1 } as File;
  await assert.rejects(sendFile(c, large, never, () => {}), /limited to 256 MiB/);
  assert.equal(calls.length, 1);
});

test("sending can be cancelled", async () => {
  const { client: c } = await client(() => new Promise<Response>(() => {}));
  const controller = new AbortController();
  const sent = sendFile(c, new File(["x"], "x\ud800"), controller.signal, () => {});
  controller.abort();
  await assert.rejects(sent, { name: "AbortError" });
});
