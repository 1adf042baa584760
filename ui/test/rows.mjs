// Drives the pages Table, Tree and Leaks through Chromium, by keyboard and mouse, with a server that answers about made
// up functions as the real one does.
//
//   node test/rows.mjs CHROMIUM [FOLDER [PART]]
//
// Pictures of what it looked at go into the folder, if there is one. With PART, only tests run whose names contain it.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { columns } from "./encode.mjs";
import { camera, tabs, themes } from "./tab.mjs";

const [executablePath, pictures = "", part = ""] = process.argv.slice(2);
const dist = join(dirname(fileURLToPath(import.meta.url)), "..", "dist");
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; " +
  "worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
  "require-trusted-types-for 'script'; trusted-types heaptap";
const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" };

const program = {
  pid: 10, parent: -1, name: "server", label: "", exe: "/bin/server", executed: false, running: false, exit_known: true,
  exit_code: 0, signal: 0, started_ns: 0, ended_ns: 20e9, peak_live_bytes: 1e6, peak_resident_bytes: 2e6,
  lost_events: 0,
};
const run = {
  run: "/rec/server.htap", command: ["server"], folder: "/", started_ns: 1.7e18, damage: "", matters: "a", why: "",
  programs: [program], recordings: [{ id: "a" }],
};
const session = { version: "1", read_only: false, no_source: false, runs: [run] };
const about = { events: 1e6, stacks: 3000, end_ns: 20e9, sampled: false, merged: false, lacks: [] };

/** An answer, of which the columns are written as the API does. */
class Answer {
  texts = [""];
  paths = [[-1, -1]]; // parent and frame of each call stack
  text(t) {
    const known = this.texts.indexOf(t);
    return known >= 0 ? known : this.texts.push(t) - 1;
  }
  path(frames) {
    return frames.reduceRight((parent, frame) => this.paths.push([parent, frame]) - 1, 0);
  }
  groups(by, names, stacks = names.map(() => [])) {
    const none = { text: this.text("") };
    const nothing = (fields) => ({ row: -1, of: { rows: 0, columns: fields } });
    return {
      by: { text: this.text(by) }, unknown: { flag: 0 }, function: { text: names.map((n) => this.text(n)) },
      kind: { text: this.text("own") }, file: { text: this.text("/src/a.cc") }, line: 7,
      module: { text: this.text("/bin/server") }, offset: none,
      inlined: { flag: 0 }, stack: { path: stacks.map((frames) => this.path(frames)) },
      thread: nothing({ index: [], tid: [], name: { text: [] } }), size: nothing({ min: [], max: [] }), call: none,
      region: none,
    };
  }
  envelope(answer) {
    const [parent, frame] = [0, 1].map((i) => this.paths.map((row) => row[i]));
    return { answer, paths: { rows: parent.length, columns: { parent, frame } }, texts: this.texts };
  }
}

const units = {
  peak: "bytes", live: "bytes", leaked: "bytes", bytes: "bytes", "leaked-blocks": "count", allocations: "count",
};
function head(a, metrics) {
  const text = (list) => ({ text: list.map((t) => a.text(t)) });
  const of = { name: text(metrics), unit: text(metrics.map((m) => units[m] ?? "count")), sums: { flag: 1 } };
  return {
    plan: "tally", range: { from_event: 0, to_event: 1, begin_ns: 0, span_ns: 20e9, at_event: 1 },
    metrics: { rows: metrics.length, columns: of }, total: Object.fromEntries(metrics.map((m) => [m, 3e6])),
  };
}
const record = (metrics, values) => ({ record: Object.fromEntries(metrics.map((m) => [m, values(m)])) });

/** 3,000 functions: f0 has the most at the peak, f2999 leaked the most. */
const all = 3000;
function top(query) {
  const a = new Answer();
  const metrics = query.getAll("metric");
  if (query.get("by") === "stack") return leaks();
  const [skip, limit] = ["skip", "limit"].map((name) => Number(query.get(name) ?? 0));
  const value = (i, m) => (m === "leaked" ? i * 1000 : (all - i) * 1000);
  const sort = query.get("sort") ?? metrics[0];
  const part = query.get("focus") === "nothing" ? "nothing" : (query.get("match") ?? "");
  const found = Array.from({ length: all }, (_, i) => i).filter((i) => `f${i}`.includes(part));
  found.sort((x, y) => value(y, sort) - value(x, sort));
  const rows = found.slice(skip, skip + limit);
  const table = {
    group: { fields: a.groups(query.get("by"), rows.map((i) => `f${i}`)) },
    self: record(metrics, (m) => rows.map((i) => value(i, m) / 10)),
    total: record(metrics, (m) => rows.map((i) => value(i, m))),
  };
  const more = found.length - skip - rows.length;
  return a.envelope({ ...head(a, metrics), by: query.get("by"), rows: { rows: rows.length, columns: table }, more });
}

/** A tree: name, depth, value, and how many children are not sent. */
function nodes(a, metrics, list) {
  const parent = list.map(([, depth], i) => list.slice(0, i).findLastIndex(([, d]) => d === depth - 1));
  const of = { rows: list.length - 1, columns: a.groups("function", list.slice(1).map(([name]) => name)) };
  const values = record(metrics, () => list.map(([, , value]) => value));
  const self = record(metrics, () => list.map(() => 0));
  const group = { row: list.map((_, i) => i - 1), of };
  return { rows: list.length, columns: { parent, group, self, total: values, folded: list.map((n) => n[3] ?? 0) } };
}
function tree(query) {
  const a = new Answer();
  const metrics = query.getAll("metric");
  const answer = { ...head(a, metrics), by: "function", shape: "top-down" };
  if (query.has("of")) {
    const callers = nodes(a, metrics, [["", 0, 900], ["caller", 1, 900]]);
    const callees = nodes(a, metrics, [["", 0, 900], ["callee", 1, 500], ["other", 1, 400]]);
    const groups = { rows: 1, columns: a.groups("function", ["f0"]) };
    return a.envelope({ ...answer, groups, self: {}, totals: {}, callers, callees });
  }
  const below = query.getAll("below");
  if (query.get("focus") === "nothing") return a.envelope({ ...answer, nodes: nodes(a, metrics, [["", 0, 0]]) });
  const list = below.length > 0
    ? [["", 0, 300], ["late", 1, 300]]
    : [["", 0, 1000], ["main", 1, 1000], ["hot", 2, 700], ["inner", 3, 700], ["leaf", 4, 600], ["cold", 2, 300, 4]];
  return a.envelope({ ...answer, nodes: nodes(a, metrics, list) });
}

function leaks() {
  const a = new Answer();
  const metrics = ["leaked", "leaked-blocks", "allocations"];
  const names = ["operator new(unsigned long)", "app::load(int)", "main", "app::save()"];
  const text = (list) => ({ text: list.map((t) => a.text(t)) });
  const frames = {
    function: text(names), kind: text(["library", "own", "own", "own"]), file: { text: a.text("/src/a.cc") },
    line: [0, 12, 99, 31],
    module: text(["/lib/libstdc++.so.6", "/bin/server", "/bin/server", "/bin/server"]), inlined: { flag: 0 },
    address: { text: a.text("0x1") }, offset: { text: a.text("0x1") },
  };
  const stacks = [[0, 1, 2], [0, 3, 2]];
  const rows = (of) => ({
    group: { fields: a.groups("stack", of.map(() => ""), of) },
    self: record(metrics, () => [2e6, 1e6]), total: record(metrics, () => [2e6, 1e6]),
  });
  const suspects = {
    group: { fields: a.groups("stack", [""], [stacks[0]]) }, begin_bytes: 0, end_bytes: 2e6, bytes_per_second: 1e5,
    confidence: 0.97,
  };
  return a.envelope({
    ...head(a, metrics), by: "stack", frames: { rows: 4, columns: frames },
    rows: { rows: 2, columns: rows(stacks) }, more: 0,
    suppressed: { rows: 0, columns: { pattern: { text: [] }, count: [], bytes: [], call_stacks: [] } },
    suspects: { rows: 1, columns: suspects }, runtime: { count: 0, bytes: 0 },
  });
}

const asked = []; // questions with their queries
let slow = 0; // how long answers take, in milliseconds
const refused = { error: "failed", what: "not made up here", where: "", do: "" };
const server = createServer(async (request, response) => {
  const { pathname, searchParams: query } = new URL(request.url, "http://x");
  response.setHeader("Content-Security-Policy", policy);
  const json = (status, body) =>
    response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));
  if (pathname === "/auth") return json(200, { token: "token" });
  if (!pathname.startsWith("/api/")) {
    const name = pathname === "/" ? "/index.html" : pathname;
    const content = await readFile(join(dist, name)).catch(() => undefined);
    if (!content) return response.writeHead(404).end();
    return response.writeHead(200, { "Content-Type": types[extname(name)] ?? "text/plain" }).end(content);
  }
  const [, question = "session"] = /\/r\/\w+\/(\w+)/.exec(pathname) ?? [];
  asked.push(`${question}?${query}`);
  const answers = { session: () => columns(session), about: () => columns(about), top, tree, leaks };
  if (slow > 0) await new Promise((resolve) => setTimeout(resolve, slow));
  const answer = answers[question]?.(query);
  return answer ? json(200, answer) : json(500, refused);
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const origin = `http://127.0.0.1:${server.address().port}`;
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const faults = []; // violations of the policy, and errors in scripts
const tab = tabs(browser, faults, (context) => context.grantPermissions(["clipboard-read", "clipboard-write"]));
const picture = camera(pictures);

async function open(query) {
  const page = await tab();
  await page.goto(`${origin}/?recording=a&${query}#code=GOOD`);
  await page.locator("[role=row][data-row]").first().waitFor();
  asked.length = 0;
  return page;
}

/** The names of the first rows in view, with what is beside them. */
const names = (page, count) =>
  page.locator("[role=row][data-row]").evaluateAll(
    (rows, n) =>
      rows
        .sort((a, b) => a.ariaRowIndex - b.ariaRowIndex)
        .slice(0, n)
        .map((row) => row.querySelector(".grid-text .name, .grid-text bdi").textContent),
    count,
  );
/** The name of the row that a screen reader would read. */
const current = (page) =>
  page.evaluate(() => {
    const id = document.querySelector("[role=treegrid]").getAttribute("aria-activedescendant");
    return document.getElementById(id)?.querySelector(".grid-text .name, .grid-text bdi")?.textContent;
  });

async function until(what, condition) {
  let seen;
  for (let i = 0; i < 300; i++) {
    seen = await condition();
    if (seen === true) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`waited too long: ${what}: ${JSON.stringify(seen)}`);
}
const shows = (page, want) =>
  until(`rows ${want}`, async () => {
    const got = await names(page, want.length);
    return got.join() === want.join() || got;
  });
/** What the right side explains: the names of its path. */
const picks = (page, want) =>
  until(`${want} is picked`, () => {
    const got = new URL(page.url()).searchParams.getAll("picked").join(" < ");
    return got === want || got;
  });
const isAt = (page, want) => until(want, async () => (await current(page)) === want || current(page));

const tests = {
  async "rows are reached by keys, and only those in view exist"() {
    const page = await open("page=table");
    await shows(page, ["f0", "f1", "f2"]);
    const grid = page.getByRole("treegrid");
    assert.equal(await grid.getAttribute("aria-rowcount"), "3001");
    await grid.focus();
    for (const [key, want] of [["ArrowDown", "f1"], ["ArrowDown", "f2"], ["ArrowUp", "f1"], ["Home", "f0"]]) {
      await page.keyboard.press(key);
      await isAt(page, want);
    }
    await page.keyboard.press("PageDown");
    await until("a page further", async () => Number((await current(page)).slice(1)) > 10);
    await page.keyboard.press("End");
    await isAt(page, "f999");
    await until("more rows are asked for", () => asked.some((url) => url.includes("skip=1000")) || asked);
    await until("and are there", async () => {
      await page.keyboard.press("End");
      return (await current(page)) === "f2999" || current(page);
    });
    const count = await page.locator("[role=row]").count();
    assert.ok(count < 100, `${count} rows exist`);
  },

  async "columns sort; all rows are sorted where they are"() {
    const page = await open("page=table&match=f1");
    await shows(page, ["f1", "f10", "f11"]);
    await until("all rows are here", async () => {
      await page.locator("[role=treegrid]").focus();
      await page.keyboard.press("End");
      return (await current(page)) === "f1999" || current(page);
    });
    asked.length = 0;
    await page.getByRole("columnheader", { name: "leaked total" }).getByRole("button").click();
    await page.getByRole("treegrid").focus();
    await page.keyboard.press("Home");
    await isAt(page, "f1999");
    assert.match(page.url(), /sort=leaked/);
    assert.deepEqual(asked.filter((url) => /^top.*limit=1000/.test(url)), []); // the right side asks other things
    await page.getByRole("columnheader", { name: "leaked total" }).getByRole("button").click();
    await page.getByRole("treegrid").focus();
    await page.keyboard.press("Home");
    await isAt(page, "f1");
    await page.getByRole("columnheader", { name: "function" }).getByRole("button").click();
    await shows(page, ["f1", "f10", "f100"]);
    const sorted = page.getByRole("columnheader", { name: "function" });
    assert.equal(await sorted.getAttribute("aria-sort"), "ascending");
  },

  async "columns are chosen and moved, and the address keeps them"() {
    const page = await open("page=table");
    const metrics = () => new URL(page.url()).searchParams.getAll("metric").join();
    await page.getByRole("columnheader", { name: "peak total" }).getByRole("button").focus();
    await page.keyboard.press("Alt+ArrowRight");
    await until("moved by keys", () => metrics() === "leaked,peak,bytes" || metrics());
    // The columns are where they will stay.
    const first = () => page.locator("[role=columnheader] [aria-label]").first().getAttribute("aria-label");
    await until("drawn", async () => (await first()).startsWith("leaked ") || first());
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    const head = (name) => page.getByRole("columnheader", { name }).getByRole("button");
    await head("allocated total").dragTo(head("leaked total"));
    await until("moved by the mouse", () => metrics() === "bytes,leaked,peak" || metrics());
    await page.getByRole("button", { name: "Columns" }).click();
    await page.getByRole("checkbox", { name: "allocations", exact: true }).check();
    await until("one more", () => metrics() === "bytes,leaked,peak,allocations" || metrics());
    await page.keyboard.press("Escape");
    await page.reload();
    await page.getByRole("columnheader", { name: "allocations total" }).waitFor();
  },

  async "a row opens to its callers and callees, and its menu is reached by keys"() {
    const page = await open("page=table");
    await page.getByRole("treegrid").focus();
    await page.keyboard.press("ArrowRight");
    await shows(page, ["f0", "callers", "caller", "callees", "callee", "other", "f1"]);
    await picks(page, "f0");
    assert.ok(asked.some((url) => url.includes(`of=${encodeURIComponent("^f0$")}`)), asked.join("\n"));
    await picture(page, "table");
    await page.keyboard.press("Shift+F10");
    const item = (name) => page.getByRole("menuitem", { name });
    await item("Open in the flame graph").waitFor();
    assert.equal(await page.evaluate(() => document.activeElement.role), "menuitem");
    await page.keyboard.press("Escape");
    assert.equal(await item("Open in the flame graph").count(), 0);
    assert.equal(await page.evaluate(() => document.activeElement.role), "treegrid");
    await page.keyboard.press("ArrowLeft");
    await shows(page, ["f0", "f1"]);
    await page.locator("[role=row][data-row] .grid-turn").nth(2).click();
    await shows(page, ["f0", "f1", "f2", "callers"]);
    await picks(page, "f2");
    await page.locator("[role=row][data-row] .grid-turn").nth(2).click();
    await page.getByText("f1", { exact: true }).click({ button: "right" });
    await item("Charge f1 to its callers").click();
    await until("the filter", () => new URL(page.url()).searchParams.get("hide") === "^f1$" || page.url());
    // The next filter is one more word; each is removed by itself.
    for (const name of ["f2", "f3"]) {
      await page.getByText(name, { exact: true }).first().click({ button: "right" });
      await item(`Focus on ${name}`).click();
    }
    const focus = () => new URL(page.url()).searchParams.getAll("focus").join();
    await until("both", () => focus() === "^f2$,^f3$" || page.url());
    await until("both are asked", () => asked.some((url) => /^top.*focus=%5Ef2%24&focus=%5Ef3%24/.test(url)) || asked);
    await page.getByRole("button", { name: "focus f2" }).click();
    await until("one is removed", () => focus() === "^f3$" || page.url());
  },

  async "opened rows are asked as they are shown: without the frames that are folded"() {
    const page = await open("page=table");
    await page.getByRole("treegrid").focus();
    await page.keyboard.press("ArrowRight");
    await shows(page, ["f0", "callers", "caller"]);
    const folds = () => asked.filter((url) => url.startsWith("tree")).map((url) => /fold=true/.test(url)).join();
    await until("folded", () => folds() === "true" || folds());
    asked.length = 0;
    await page.getByRole("button", { name: "library functions folded" }).click();
    await until("unfolded", () => folds() === "false" || folds());
  },

  async "nodes of the tree are merged, dropped and collapsed, and each is undone by itself"() {
    const page = await open("page=tree");
    const item = (name) => page.getByRole("menuitem", { name });
    const menu = (name) => page.getByText(name, { exact: true }).first().click({ button: "right" });
    await shows(page, ["all", "main", "hot", "inner", "leaf", "cold"]);
    await menu("inner");
    await item("Merge into its caller").click();
    await shows(page, ["all", "main", "hot", "leaf", "cold"]);
    await menu("cold");
    await item("Drop this subtree").click();
    await shows(page, ["all", "main", "hot", "leaf"]);
    const value = (i) => page.locator("[role=row][data-row]").nth(i).locator(".number").first().textContent();
    await until("what is dropped counts nowhere", async () => (await value(0)) === "700" || value(0));
    await picture(page, "tree-edited");
    await page.getByRole("button", { name: "merged inner" }).click();
    await shows(page, ["all", "main", "hot", "inner", "leaf"]);
    await page.getByRole("button", { name: "dropped cold" }).click();
    await shows(page, ["all", "main", "hot", "inner", "leaf", "cold"]);
    await menu("hot");
    await item("Collapse library server").click();
    await shows(page, ["all", "server"]);
    assert.match(page.url(), /collapse=module\+\/bin\/server/);
    await page.goBack();
    await shows(page, ["all", "main", "hot", "inner", "leaf", "cold"]);
  },

  async "rows are saved and copied"() {
    const page = await open("page=table");
    const saved = page.waitForEvent("download");
    await page.getByRole("button", { name: "Save as CSV" }).click();
    const lines = (await readFile(await (await saved).path(), "utf8")).split("\r\n");
    const numbers = "peak total,peak self,leaked total,leaked self,bytes total,bytes self";
    assert.equal(lines[0], `level,name,in full,${numbers}`);
    assert.equal(lines[1], "1,f0,f0 /src/a.cc:7 /bin/server,3000000,300000,0,0,3000000,300000");
    await page.getByRole("treegrid").focus();
    await page.keyboard.press("Control+c");
    await page.getByText("row copied").waitFor();
    const text = await page.evaluate(() => navigator.clipboard.readText());
    assert.match(text, /^\|  \| at the peak, total MiB \|.*\n.*\n\| `f0` \| 2\.86 \|/);
  },

  async "nothing that matches: why, and the way back"() {
    const page = await open("page=table");
    await page.keyboard.press("/");
    await page.keyboard.type("nothing");
    await page.getByText("No name contains").waitFor();
    await page.getByRole("button", { name: "Show all rows" }).click();
    await shows(page, ["f0", "f1"]);
  },

  async "where nothing is selected, buttons lead back"() {
    for (const name of ["table", "tree"]) {
      const page = await open(`page=${name}`);
      await page.goto(`${origin}/?recording=a&page=${name}&from=1s&focus=nothing&metric=bytes`);
      const ways = page.getByRole("main").locator(".state button");
      await until("all ways", async () => {
        const got = (await ways.allTextContents()).join();
        return got === "Show live at the peak,Clear the range,Remove the filters" || got;
      });
      await picture(page, `empty-${name}`);
      await ways.filter({ hasText: "filters" }).click();
      await page.locator("[role=row][data-row]").first().waitFor();
      const { searchParams: now } = new URL(page.url());
      assert.deepEqual([now.get("focus"), now.get("from"), now.get("metric")], [null, "1s", "bytes"]);
    }
  },

  async "in a range, what was live at its end counts first, on every page"() {
    for (const name of ["table", "tree"]) {
      const page = await open(`page=${name}&from=1s&to=2s`);
      await page.getByRole("columnheader", { name: "live total" }).waitFor();
      assert.equal(await page.getByRole("columnheader", { name: "at the peak" }).count(), 0);
    }
  },

  async "rows stay while the next answer is on its way, and it can be cancelled"() {
    const page = await open("page=table");
    const before = await page.locator("[role=row][data-row]").first().boundingBox();
    slow = 3000;
    await page.locator(".tools select").selectOption("line");
    await page.getByRole("button", { name: "Cancel" }).waitFor();
    assert.deepEqual(await page.locator("[role=row][data-row]").first().boundingBox(), before);
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByText("Cancelled.").waitFor();
    slow = 0;
    await page.getByRole("button", { name: "Ask again" }).click();
    await shows(page, ["f0", "f1"]);
  },

  async "the tree opens its hottest path, and asks for what it lacks"() {
    const page = await open("page=tree");
    await shows(page, ["all", "main", "hot", "inner", "leaf", "cold"]); // at first, the hottest path is open
    await page.keyboard.press("h");
    await shows(page, ["all", "main", "hot", "inner", "leaf", "cold"]);
    await isAt(page, "leaf");
    await picks(page, "main < hot < inner < leaf");
    await picture(page, "tree");
    await page.getByText("cold", { exact: true }).click();
    await page.getByRole("treegrid").focus();
    await page.keyboard.press("ArrowRight");
    await shows(page, ["all", "main", "hot", "inner", "leaf", "cold", "late"]);
    await picks(page, "main < cold");
    const url = asked.find((one) => /below=cold.*a\.cc/.test(one));
    const below = new URLSearchParams(url?.split("?")[1]).getAll("below");
    assert.deepEqual(below, ["main", "cold"].map((name) => `${name} /src/a.cc:7 /bin/server`));
  },

  async "the first leak is open, and its suppression is copied"() {
    const page = await open("page=leaks");
    const folded = "1 library frame: press Enter to show it";
    await shows(page, ["app::load(int)", folded, "app::load(int)", "main", "app::save()"]);
    await page.getByText(folded).click();
    await shows(page, ["app::load(int)", "operator new(unsigned long)", "app::load(int)", "main", "app::save()"]);
    await page.getByText("97.7 KiB per second").waitFor();
    const path = "main < app::load(int) < operator new(unsigned long)";
    await picks(page, path);
    await picture(page, "leaks");
    await page.getByRole("treegrid").focus();
    await page.keyboard.press("Home");
    const button = page.locator(".grid-menu").first();
    const at = await button.boundingBox();
    await button.click();
    const menu = await page.getByRole("menu").boundingBox();
    const beside = Math.abs(menu.x - at.x) < 8 && menu.y < at.y + 40 && menu.y + menu.height > at.y;
    assert.ok(beside, JSON.stringify({ at, menu }));
    const titles = await page.getByRole("menuitem").allTextContents();
    assert.match(titles.join("; "), /^Open in the flame graph; Open the source; .*Copy the call stack.*Suppress it/);
    await page.keyboard.press("Escape");
    await page.keyboard.press("Shift+F10");
    await page.keyboard.type("copy a s");
    await page.keyboard.press("Enter");
    await page.getByText("suppression copied").waitFor();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), "leak:^app::load(int)$\n");
    await page.keyboard.press("Shift+F10");
    await page.getByRole("menuitem", { name: "Suppress it here" }).click();
    await shows(page, ["app::save()"]);
    await page.getByText("1.91 MiB in 2,000,000 blocks at 1 call stack").waitFor();
    await page.getByRole("button", { name: "show again" }).click();
    await until("both are back", async () => (await names(page, 9)).includes("app::load(int)"));
    // Whichever row is opened, in whichever view, it is the one that is explained.
    await page.locator("[role=row][data-row] .grid-turn").last().click();
    await picks(page, "main < app::save() < operator new(unsigned long)");
    await page.getByRole("button", { name: "by growth" }).click();
    const first = page.locator("[role=row][data-row] .grid-turn").first();
    while ((await first.textContent()) !== "▸") await first.click();
    await first.click();
    await picks(page, path);
  },

  async "nothing is wider than the page, in three widths and two themes"() {
    for (const name of ["table", "tree", "leaks"]) {
      const page = await open(`page=${name}`);
      for (const colorScheme of themes(pictures)) {
        await page.emulateMedia({ colorScheme });
        for (const width of [360, 900, 1440]) {
          await page.setViewportSize({ width, height: 900 });
          const wide = await page.evaluate(() => document.documentElement.scrollWidth);
          assert.ok(wide <= width, `${name} is ${wide} wide in a window of ${width}`);
          await picture(page, `${name}-${colorScheme}-${width}`);
        }
      }
    }
  },
};

let failed = 0;
for (const [name, test] of Object.entries(tests)) {
  if (!name.includes(part)) continue;
  try {
    await test();
    console.log(`ok: ${name}`);
  } catch (error) {
    failed++;
    console.log(`FAILED: ${name}\n${error.stack}`);
  }
}
if (faults.length > 0) console.log(`FAILED: faults in the page:\n${faults.join("\n")}`);
await browser.close();
server.closeAllConnections();
server.close();
process.exitCode = failed > 0 || faults.length > 0 ? 1 : 0;
