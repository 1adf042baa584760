import assert from "node:assert/strict";
import { test } from "node:test";
import { Fault } from "../src/net/fault.ts";
import { Client, type Outcome } from "../src/net/lanes.ts";
import { Session } from "../src/net/session.ts";
import { claimPolicy } from "../src/net/trusted.ts";
import { fakeBrowser, fakeFetch, json, stream, type Call } from "./fakes.ts";

async function connect(answer: (call: Call) => Response | Promise<Response>) {
  const browser = fakeBrowser({});
  browser.storage?.setItem("heaptap.token", "secret");
  const session = new Session(browser);
  await session.start();
  const server = fakeFetch(answer);
  return { client: new Client(session, server.fetch, "tab-1"), session, calls: server.calls };
}

function faultIn(outcome: Outcome<unknown>): Fault {
  assert.ok(outcome && "fault" in outcome);
  return outcome.fault;
}

test("a request carries the token, its tab and its lane", async () => {
  const { client, calls } = await connect(() => json({ n: 1 }));
  const outcome = await client.lane("view/tree").run((ask) => ask("session"));
  assert.deepEqual(outcome, { value: { n: 1 } });
  assert.equal(calls[0]?.url, "/api/v1/session");
  assert.deepEqual(calls[0]?.init.headers, {
    Authorization: "Bearer secret",
    "X-Heaptap-Tab": "tab-1",
    "X-Heaptap-Lane": "view/tree",
  });
});

test("the newest task of a lane wins; other lanes go on", async () => {
  const waiting = new Map<string, (response: Response) => void>();
  const { client, calls } = await connect(({ url }) => new Promise((resolve) => waiting.set(url, resolve)));
  const view = client.lane("view/tree");
  const old = view.run((ask) => ask("old"));
  const background = client.lane("background/x").run((ask) => ask("slow"));
  const fresh = view.run((ask) => ask("fresh"));
  assert.equal(client.running.value, 3);
  assert.equal(calls[0]?.init.signal?.aborted, true);
  assert.equal(calls[1]?.init.signal?.aborted, false);
  waiting.get("/api/v1/old")?.(json("old"));
  waiting.get("/api/v1/fresh")?.(json("fresh"));
  waiting.get("/api/v1/slow")?.(json("slow"));
  assert.equal(await old, undefined);
  assert.deepEqual(await fresh, { value: "fresh" });
  assert.deepEqual(await background, { value: "slow" });
  assert.equal(client.running.value, 0);
});

test("a request that an older one has overtaken is sent again, a few times", async () => {
  const superseded = { error: "superseded", what: "a newer request of the same lane came in", do: "use its answer" };
  let refused = 2;
  const { client, calls } = await connect(() => (refused-- > 0 ? json(superseded, 499) : json("there")));
  const view = client.lane("view/tree");
  assert.deepEqual(await view.run((ask) => ask("fresh")), { value: "there" });
  assert.equal(calls.length, 3);
  refused = 9;
  const fault = faultIn(await view.run((ask) => ask("fresh")));
  assert.deepEqual([fault.kind, fault.retriable, calls.length], ["replaced", true, 6]);
  refused = 1;
  const old = view.run((ask) => ask("old"));
  view.cancel();
  assert.equal(await old, undefined, "what was replaced here stays so");
  assert.equal(calls.length, 7);
});

test("a task that was replaced between two questions asks no second one", async () => {
  const { client, calls } = await connect(({ url }) => json(url));
  const view = client.lane("view/tree");
  const old = view.run(async (ask) => {
    const first = await ask("a");
    void view.run((ask) => ask("newer"));
    return [first, await ask("b")];
  });
  assert.equal(await old, undefined);
  assert.ok(calls.filter(({ url }) => url.endsWith("/b")).every(({ init }) => init.signal?.aborted));
});

test("a cancelled task ends without an outcome", async () => {
  const { client } = await connect(() => new Promise(() => {}));
  const view = client.lane("view/tree");
  const running = view.run((ask) => ask("forever"));
  view.cancel();
  assert.equal(await running, undefined);
});

test("a stream reports progress, then answers", async () => {
  const { client } = await connect(() =>
    stream('{"progress":{"share":0.5,"doing":"reading events"}}\n{"prog', 'ress":{}}\n{"n":', "2}\n"),
  );
  const progress: unknown[] = [];
  const outcome = await client.lane("view/tree").run((ask) => ask("top"), (p) => progress.push(p));
  assert.deepEqual(outcome, { value: { n: 2 } });
  assert.deepEqual(progress, [
    { share: 0.5, doing: "reading events" },
    { share: null, doing: "" },
  ]);
});

test("faults say what, where and what to do", async () => {
  const error = { error: "bad-parameter", what: "bad regexp", where: "focus", do: "escape it" };
  const busy = { error: "busy", what: "64 requests are waiting", where: "", do: "repeat it" };
  const line = (message: object) => `${JSON.stringify(message)}\n`;
  const cut = "the answer ended before it was complete";
  const strange = "the answer is not what this version of the app expects";
  for (const [name, answer, kind, what] of [
    ["an error of the API", () => json(error, 400), "refused", "bad regexp"],
    ["an error of the server", () => json({ error: "not your name" }, 403), "refused", "not your name"],
    ["too many requests", () => json(busy, 503), "broken", "64 requests are waiting"],
    ["a crash", () => new Response("oops", { status: 500 }), "broken", "the server answered with status 500"],
    ["a cut answer", () => new Response('{"a":'), "broken", cut],
    ["a stream without its end", () => stream('{"progress":{}}\n'), "broken", cut],
    ["an empty stream", () => stream(), "broken", cut],
    ["a stream cut in a line", () => stream('{"n"'), "broken", cut],
    ["a stream of junk", () => stream("[1]\n"), "broken", strange],
    ["an error in a stream", () => stream(line(error)), "refused", "bad regexp"],
    ["a server that ends", () => stream(line({ ...busy, error: "closed" })), "broken", "64 requests are waiting"],
    ["no atlas yet", () => stream(line({ ...busy, error: "not-ready" })), "broken", "64 requests are waiting"],
    ["no server", () => Promise.reject(new TypeError("x")), "unreachable", "heaptap does not answer"],
  ] as const) {
    const { client } = await connect(answer);
    const fault = faultIn(await client.lane("view/tree").run((ask) => ask("top")));
    assert.equal(fault.kind, kind, name);
    assert.equal(fault.message, what, name);
    assert.equal(fault.retriable, kind !== "refused", name);
    assert.ok(fault.where.startsWith("GET /api/v1/top"), name);
  }
});

test("a connection that breaks while an answer arrives is a fault", async () => {
  for (const type of ["application/x-ndjson", "application/json"]) {
    const { client } = await connect(() => {
      const body = new ReadableStream<Uint8Array>({
        start: (controller) => controller.enqueue(new TextEncoder().encode('{"progress":{}}\n{"n"')),
        pull: (controller) => controller.error(new TypeError("network error")),
      });
      return new Response(body, { headers: { "Content-Type": type } });
    });
    const fault = faultIn(await client.lane("view/tree").run((ask) => ask("top")));
    assert.equal(fault.message, "the answer ended before it was complete", type);
  }
});

test("a mistake in a task is a fault of the answer, not of the network", async () => {
  const { client } = await connect(() => json({}));
  const outcome = await client.lane("view/tree").run(async () => {
    throw new TypeError("columns differ in length");
  });
  assert.equal(faultIn(outcome).kind, "broken");
});

test("a refused token closes the session", async () => {
  const { client, session } = await connect(() => json({ error: "no token" }, 401));
  assert.equal(faultIn(await client.lane("view/tree").run((ask) => ask("session"))).kind, "unauthorized");
  await Promise.resolve();
  assert.equal(session.token, undefined);
  assert.equal(faultIn(await client.lane("view/tree").run((ask) => ask("session"))).kind, "unauthorized");
});

test("the policy passes workers of heaptap and nothing else", () => {
  let check: (url: string) => string = (url) => url;
  let name = "";
  claimPolicy(
    {
      createPolicy(n, rules) {
        name = n;
        check = rules.createScriptURL;
      },
    },
    ["/layout.js"],
  );
  assert.equal(name, "heaptap");
  assert.equal(check("/layout.js"), "/layout.js");
  for (const url of ["", "/Layout.js", "/layout.js?x", "//evil/layout.js", "data:text/javascript,1"]) {
    assert.throws(() => check(url), TypeError);
  }
  claimPolicy(undefined); // a browser without Trusted Types
});
