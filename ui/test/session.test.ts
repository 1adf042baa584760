import assert from "node:assert/strict";
import { test } from "node:test";
import { codeIn, Session } from "../src/net/session.ts";
import { fakeBrowser, fakeChannels, fakeFetch, json } from "./fakes.ts";

test("the code of the address becomes a token and leaves the address", async () => {
  const server = fakeFetch(() => json({ token: "t1" }));
  const browser = fakeBrowser({ fetch: server.fetch, fragment: () => "#code=K3VX-9Q2M" });
  const session = new Session(browser);
  await session.start();
  assert.equal(session.token, "t1");
  assert.equal(browser.dropped, 1);
  assert.equal(browser.storage?.getItem("heaptap.token"), "t1");
  assert.equal(server.calls[0]?.url, "/auth");
  assert.equal(server.calls[0]?.init.method, "POST");
  assert.equal(server.calls[0]?.init.body, '{"code":"K3VX-9Q2M"}');
});

test("a refused code says why", async () => {
  const error = { error: "expired", what: "the code has expired", where: "", do: "press Enter" };
  for (const [answer, kind, what, todo] of [
    [() => json(error, 403), "refused", "the code has expired", "press Enter"],
    [() => new Response("<html>", { status: 502 }), "broken", "the server answered with status 502", ""],
    [() => json({}), "broken", "the server sent no token", ""],
    [() => Promise.reject(new TypeError("fetch failed")), "unreachable", "heaptap does not answer", undefined],
  ] as const) {
    const session = new Session(fakeBrowser({ fetch: fakeFetch(answer).fetch, fragment: () => "#code=x" }));
    await session.start();
    const state = session.state.value;
    assert.equal(state.phase, "closed");
    const fault = state.phase === "closed" ? state.fault : undefined;
    assert.equal(fault?.kind, kind);
    assert.equal(fault?.message, what);
    if (todo !== undefined) assert.equal(fault?.todo, todo);
    assert.equal(session.token, undefined);
  }
});

test("a reloaded tab keeps its token", async () => {
  const browser = fakeBrowser({});
  browser.storage?.setItem("heaptap.token", "kept");
  const session = new Session(browser);
  await session.start();
  assert.equal(session.token, "kept");
});

test("a new tab gets the token of a sibling, without a request", async () => {
  const connect = fakeChannels();
  const sibling = new Session(
    fakeBrowser({ channel: connect(), fetch: fakeFetch(() => json({ token: "t" })).fetch, fragment: () => "#code=c" }),
  );
  await sibling.start();
  const fresh = new Session(fakeBrowser({ channel: connect() }));
  await fresh.start();
  assert.equal(fresh.token, "t");
});

test("without code, token and siblings the session is closed; a late token opens it", async () => {
  const connect = fakeChannels();
  const fresh = new Session(fakeBrowser({ channel: connect() }));
  await fresh.start();
  assert.deepEqual(fresh.state.value, { phase: "closed", fault: undefined });
  connect().postMessage({ token: "late" });
  assert.equal(fresh.token, "late");
  connect().postMessage({ token: "other" });
  assert.equal(fresh.token, "late");
});

test("a browser that keeps nothing still works", async () => {
  const server = fakeFetch(() => json({ token: "t" }));
  const session = new Session(fakeBrowser({ storage: undefined, fetch: server.fetch, fragment: () => "#code=c" }));
  await session.start();
  assert.equal(session.token, "t");
});

test("a refused token is forgotten and not taken again", async () => {
  const connect = fakeChannels();
  const browser = fakeBrowser({ channel: connect() });
  browser.storage?.setItem("heaptap.token", "old");
  const session = new Session(browser);
  await session.start();
  const sibling = connect(); // which still has the old token
  sibling.onmessage = ({ data }) => {
    if ((data as { ask?: boolean }).ask) sibling.postMessage({ token: "old" });
  };
  await session.drop("old");
  assert.equal(session.state.value.phase, "closed");
  assert.equal(browser.storage?.getItem("heaptap.token"), null);
  sibling.postMessage({ token: "new" });
  assert.equal(session.token, "new");
  await session.drop("old"); // the answer to an older request
  assert.equal(session.token, "new");
});

test("junk on the channel is ignored", async () => {
  const connect = fakeChannels();
  const session = new Session(fakeBrowser({ channel: connect() }));
  await session.start();
  const other = connect();
  for (const junk of [null, 1, "token", [], { token: 5 }, { token: "" }, { ask: "yes" }]) other.postMessage(junk);
  assert.equal(session.token, undefined);
});

test("codes in fragments", () => {
  for (const [fragment, want] of [
    ["", ""],
    ["#", ""],
    ["#code=AB-12", "AB-12"],
    ["#x=1&code=a%20b", "a b"],
    ["#code=", ""],
    ["#section", ""],
  ] as const) {
    assert.equal(codeIn(fragment), want);
  }
});
