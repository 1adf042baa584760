// Opens every page of the app about recordings of a real server, and prints what it sees as JSON.
//
//   node pages.mjs '{"chromium": PATH, "app": ADDRESS WITH CODE, "other": THAT OF ANOTHER SERVER,
//                    "recordings": {NAME: ID}, "looked": [NAMES]}'
import { readFile } from "node:fs/promises";
import { createServer, request as ask } from "node:http";
import { chromium } from "../../ui/node_modules/playwright-core/index.mjs";
import { settled, signIn } from "./app.mjs";

const options = JSON.parse(process.argv[2]);
/** The pages, and the key of each. */
const keys = {
  overview: "1", flame: "2", table: "3", tree: "4", leaks: "5", source: "6", generations: "7", timeline: "8",
  sizes: "9", threads: "0", blocks: "b", events: "e", more: "g", sql: "q", heap: "o",
};
const pages = Object.keys(keys);
const browser = await chromium.launch({ executablePath: options.chromium, args: ["--no-sandbox"] });
const problems = []; // of scripts, and violations of the policy
let where = "";

/** A tab of a server, signed in by the code of its address or, without one, by what another tab has stored. */
async function open(address, more = {}, stored = {}) {
  const context = await browser.newContext({
    viewport: { width: 1440, height: 900 },
    permissions: ["clipboard-read", "clipboard-write"],
    reducedMotion: "reduce",
    ...more,
  });
  const page = await context.newPage();
  const note = (text) => problems.push(`${where}: ${text}`);
  page.on("pageerror", (error) => note(error.message));
  page.on("console", (message) => {
    // The browser logs answers that the page knows how to show: that there is no such function, that a recording of
    // sums has no time, that another question has replaced this one, that the curves are not ready.
    const { url } = message.location();
    const known = /status of (404|409|499|503)/.test(message.text()) && url.includes("/api/");
    if (/status of 400/.test(message.text()) && url.includes("/top?focus=one")) return; // it is meant to be wrong
    if (message.type() === "error" && !known) note(`${message.text()} ${url}`);
  });
  await context.addInitScript((entries) => {
    for (const [key, value] of entries) sessionStorage.setItem(key, value);
  }, Object.entries(stored));
  await context.addInitScript(() => {
    addEventListener("securitypolicyviolation", (e) => {
      console.error(`policy: ${e.effectiveDirective} ${e.blockedURI} ${e.sourceFile}:${e.lineNumber}`);
    });
  });
  await signIn(page, address);
  return page;
}

/** Opens a page of a recording by its address. */
async function go(page, query) {
  await page.goto(new URL(query, options.app).href);
  await settled(page);
}

/** Goes to another page by its key. */
async function turn(page, at) {
  await page.keyboard.press(keys[at]);
  const shown = (at) => (new URLSearchParams(location.search).get("page") ?? "overview") === at;
  await page.waitForFunction(shown, at);
  await settled(page);
}

/** What the page says, as far as commands say it too. Numbers are the exact ones, which are the hints of cells. */
function look() {
  const text = (element) => element?.textContent.trim() ?? "";
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const hint = (element) => (element.querySelector("[title]") ?? element).title || text(element);
  const name = (element) => text(element.querySelector("bdi") ?? element);
  const figures = Object.fromEntries(
    all("dl.figures > div").map((one) => [text(one.querySelector("dt")), hint(one.querySelector("dd"))]),
  );
  const most = all(".most tbody tr").map((row) => ({
    name: text(row.querySelector("td bdi")),
    numbers: all("td.number", row).map(hint),
  }));
  const columns = all("[role=treegrid] [role=columnheader] [aria-label]").map((one) => one.ariaLabel);
  const rows = all("[role=treegrid] [role=row][data-row]")
    .sort((a, b) => a.ariaRowIndex - b.ariaRowIndex)
    .map((row) => {
      const cells = all("[role=gridcell]", row).map(hint);
      return {
        level: Number(row.ariaLevel),
        name: name(row.querySelector(".grid-text")),
        hint: row.querySelector(".grid-text").title,
        numbers: Object.fromEntries(cells.map((cell, i) => [columns[i], cell])),
      };
    });
  const lines = all(".lines [role=row][id]").map((row) => ({
    line: Number(row.id.slice("line-".length)),
    numbers: all(".numbers > span:first-child", row).map((one) => one.title),
  }));
  const bars = all("table.bars tbody tr").map((row) => ({
    of: row.closest("section").className,
    name: text(row.querySelector("th")),
    numbers: all("td.number", row).map(hint),
  }));
  const cells = all("[role=grid]").map((grid) => ({
    of: grid.ariaLabel,
    cell: grid.querySelector("[role=gridcell]").ariaLabel,
  }));
  return {
    text: document.querySelector("main").innerText,
    command: text(document.querySelector(".bottom .command")),
    how: text(document.querySelector(".bottom .how")),
    faults: all("main .state[role=alert]").map(text),
    empty: all("main .state:not([role])").map(text),
    warnings: all(".warnings li").map(text),
    count: document.querySelector("main .count")?.title ?? "",
    figures, most, rows, lines, bars, cells,
    stack: all(".frames.sized .bytes").map(hint),
    rest: hint(document.querySelector(".stacks .rest") ?? document.createElement("p")),
    result: all(".sql-page tbody td").map(text),
    wide: document.documentElement.scrollWidth - innerWidth,
  };
}

/** What a screen reader finds: role, name and value of every node that has a name. */
async function spoken(page) {
  const session = await page.context().newCDPSession(page);
  const { nodes } = await session.send("Accessibility.getFullAXTree");
  await session.detach();
  const property = (node, key) => node.properties?.find(({ name }) => name === key)?.value.value;
  return nodes
    .filter((node) => !node.ignored && ["tree", "treeitem", "slider", "grid", "gridcell"].includes(node.role?.value))
    .map((node) => ({
      role: node.role.value,
      name: node.name?.value ?? "",
      value: String(node.value?.value ?? ""),
      words: String(property(node, "valuetext") ?? ""),
      focusable: property(node, "focusable") === true,
      selected: property(node, "selected") === true,
    }));
}

/** Moves through the flame graph by its keys, to a frame that is not of folded ones and back, and says where it was. */
async function walk(page) {
  await page.getByRole("tree").last().focus();
  const press = async (key) => {
    await page.keyboard.press(key);
    await settled(page);
    return (await spoken(page)).filter(({ role }) => role === "treeitem").at(-1)?.name ?? "";
  };
  let down = 0;
  let name;
  do {
    name = await press("ArrowDown");
    down++;
  } while (/^\d+ library frames/.test(name) && down < 3);
  let back = name;
  for (; down > 0; down--) back = await press("ArrowUp");
  return [name, back];
}

/** The triangle as it is read out, where its current cell leads, and its rows as a table. */
async function generations(page) {
  const picture = page.getByRole("grid");
  if ((await picture.count()) === 0) return {};
  const heard = await spoken(page);
  const { href } = new URL(page.url());
  await picture.focus();
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => location.search.includes("page=flame"));
  await settled(page);
  const { command } = await page.evaluate(look);
  await page.goBack();
  await page.waitForFunction((href) => location.href === href, href);
  await settled(page);
  await page.getByRole("button", { name: "as table" }).click();
  await page.locator("[role=treegrid] [data-row]").first().waitFor();
  const { rows } = await page.evaluate(look);
  return { spoken: heard, walk: [command], rows };
}

/** The current cell of the heap, opened: what its blocks are, where it leads, and how it is zoomed down to blocks. */
async function heap(page) {
  const picture = page.getByRole("grid");
  if ((await picture.count()) === 0) return {};
  await picture.focus();
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => location.search.includes("address="));
  await settled(page);
  const beside = page.getByRole("complementary", { name: /^blocks of/ });
  const blocks = await beside.locator(".heap-blocks code").allInnerTexts();
  const address = new URL(page.url()).searchParams.get("address");
  await picture.focus();
  const bars = page.getByRole("img", { name: /^blocks to scale/ });
  for (let i = 0; i < 40 && (await bars.count()) === 0; i++) {
    await page.keyboard.press("+");
    await settled(page);
  }
  const scale = [];
  // From bar to bar, and no further than the last.
  await bars.focus();
  for (let i = 0; i <= Math.min(blocks.length, 20); i++) {
    scale.push(/ at (0x[0-9a-f]+):/.exec(await bars.getAttribute("aria-label"))?.[1] ?? "");
    await page.keyboard.press("ArrowRight");
    await settled(page);
  }
  await page.keyboard.press("Escape");
  await page.getByRole("grid").waitFor();
  await beside.locator(".heap-blocks button").first().click();
  await beside.getByRole("link", { name: "only this call stack" }).click();
  await settled(page);
  const only = await beside.locator(".heap-blocks code").allInnerTexts();
  const focus = new URL(page.url()).searchParams.getAll("focus");
  return { opened: { address, blocks, scale, only, focus } };
}

/** What axe-core finds that is serious or critical. It needs a tab without a policy: it is a script from elsewhere. */
async function inspect(page, axe) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) => nodes.slice(0, 3).map((node) => `${id}: ${node.target}: ${node.failureSummary}`));
}

/** Presses the keys of the sheet of keys that are a character alone, and what moves; returns how many. */
async function pressAll(page, query) {
  await page.keyboard.press("?");
  await page.locator("dialog kbd").first().waitFor();
  const chords = await page.locator("dialog .keys > span").evaluateAll((all) =>
    all.map((chord) => [...chord.querySelectorAll("kbd")].map((key) => key.textContent)),
  );
  await page.keyboard.press("Escape");
  const single = [...new Set(chords.filter(({ length }) => length === 1).flat())].filter(
    (key) => /^[!-~]$/.test(key) && !Object.values(keys).includes(key.toLowerCase()),
  );
  const others = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Enter", "Home", "End", "PageDown", "Escape"];
  for (const key of [...single, ...others]) {
    where = `${query} key ${key}`;
    await page.keyboard.press(key);
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done))));
    if (!(await page.locator("main, dialog").first().isVisible())) problems.push(`${where}: the page is gone`);
    await page.keyboard.press("Escape");
    const [now, before] = [page.url(), query].map((url) => new URLSearchParams(url.split("?")[1]).get("page"));
    if (now !== before) await go(page, query);
  }
  await settled(page);
  return single.length;
}

/** Selects step by step, goes back and forward, and says which of these lead elsewhere than before. */
async function wander(page, id) {
  const seen = [];
  const state = () => page.evaluate(() => ({
    url: location.href,
    page: document.querySelector("nav [aria-current]")?.textContent.trim(),
    words: [...document.querySelectorAll(".left .words li")].map((one) => one.textContent.trim()),
    picked: document.querySelector(".right h2")?.textContent.trim() ?? "",
  }));
  const note = async () => {
    await settled(page);
    seen.push(await state());
  };
  await go(page, `/?recording=${id}`);
  await note();
  await page.locator(".most .function").first().click();
  await note();
  await page.keyboard.press("3");
  await note();
  await page.keyboard.press("5");
  await note();
  const wrong = [];
  const check = async (i, how) => {
    await settled(page);
    const now = await state();
    if (JSON.stringify(now) !== JSON.stringify(seen[i])) wrong.push([how, now, seen[i]]);
  };
  for (let i = seen.length - 2; i >= 0; i--) {
    await page.goBack();
    await check(i, `back to ${i}`);
  }
  for (let i = 1; i < seen.length; i++) {
    await page.goForward();
    await check(i, `forward to ${i}`);
  }
  return { moves: new Set(seen.map(({ url }) => url)).size, wrong };
}

/** Compares two ranges, and says what that is called; then gives a filter that is none, and copies. */
async function compare(page, id) {
  await go(page, `/?recording=${id}`);
  const picture = await page.locator(".timeline .picture").boundingBox();
  const drag = async (from, to) => {
    const y = picture.y + 40;
    await page.mouse.move(picture.x + picture.width * from, y);
    await page.mouse.down();
    await page.mouse.move(picture.x + picture.width * to, y, { steps: 5 });
    await page.mouse.up();
    await settled(page);
  };
  const words = () => page.locator(".left .words li").allInnerTexts();
  await drag(0.5, 0.8);
  await drag(0.6, 0.7); // within the range: another one
  const one = await words();
  await page.keyboard.press("c");
  await page.getByRole("group", { name: "Compared" }).waitFor();
  await settled(page);
  const two = await words();
  const { searchParams } = new URL(page.url());
  const seconds = (name) => {
    const [, n, unit] = /^([\d.]+)([a-z]+)$/.exec(searchParams.get(name) ?? "") ?? [];
    return Number(n) * { ns: 1e-9, us: 1e-6, ms: 1e-3, s: 1 }[unit];
  };
  const [from, to, from2, to2] = ["from", "to", "from2", "to2"].map(seconds);
  const shape = searchParams.has("compare") ? "compare" : "";
  const command = await page.locator(".bottom .command").innerText();
  await page.keyboard.press("c");
  await settled(page);
  const after = await words();

  await page.locator(".add input").fill("one(two");
  await page.keyboard.press("Enter");
  await page.locator(".add .wrong", { hasText: "regular expression" }).waitFor();
  const refused = await page.locator(".add .wrong").innerText();
  const kept = await page.locator(".add input").inputValue();
  const filters = new URL(page.url()).searchParams.getAll("focus");
  await page.getByRole("button", { name: "copy link" }).click();
  await page.locator(".bottom [role=status]", { hasText: "link copied" }).waitFor();
  const link = await page.evaluate(() => navigator.clipboard.readText());
  return { one, two, after, from, to, from2, to2, shape, command, refused, kept, filters, copied: link === page.url() };
}

/** A hidden tab asks nothing, and asks once it is seen again. */
async function hide(page, id) {
  await go(page, `/?recording=${id}&page=table`);
  const asked = [];
  const listen = (request) => /\/api\//.test(request.url()) && asked.push(request.url());
  page.on("request", listen);
  const show = (hidden) => page.evaluate((hidden) => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
    const state = hidden ? "hidden" : "visible";
    Object.defineProperty(document, "visibilityState", { configurable: true, get: () => state });
    document.dispatchEvent(new Event("visibilitychange"));
  }, hidden);
  await show(true);
  // The place changes while nobody looks.
  await page.evaluate(() => {
    history.pushState(null, "", `${location.pathname}${location.search}&by=line`);
    dispatchEvent(new PopStateEvent("popstate"));
  });
  await page.waitForTimeout(500); // nothing comes: there is no condition to wait for
  const hidden = asked.splice(0);
  await show(false);
  await page.waitForFunction(() => /--by line/.test(document.querySelector(".bottom .command")?.textContent ?? ""));
  await settled(page);
  page.off("request", listen);
  return { hidden, shown: asked.filter((url) => url.includes("by=line")).length };
}

/** What pages say about a time whose events were folded. */
async function folded(page, id) {
  const said = {};
  for (const at of pages) {
    where = `folded ${at}`;
    await go(page, `/?recording=${id}&page=${at}&from=10%25&to=20%25&order=regions&sql=SELECT+*+FROM+stacks`);
    said[at] = await page.locator("main .state[role=alert]").allInnerTexts();
  }
  return said;
}

/** What the bottom line says on each page right after the flame graph, which says its question in its own way. */
async function afterFlame(page, id) {
  const said = {};
  await go(page, `/?recording=${id}`);
  for (const at of pages.filter((name) => name !== "flame" && name !== "sql")) {
    await turn(page, "flame");
    await turn(page, at);
    said[at] = await page.locator(".bottom .command").textContent();
  }
  return said;
}

/** What the page More says of a saved replay. */
async function replayed(page, id) {
  await go(page, `/?recording=${id}&page=more&order=replay`);
  const { text, rows, faults } = await page.evaluate(look);
  const paths = page.locator(".curves li path.curve:not(.back)");
  const drawn = await paths.evaluateAll((list) => list.map((path) => path.getAttribute("d").length));
  return { text, rows, faults, drawn };
}

/**
 * Starts a server that passes on to another one what it is asked, but holds what matches: it says nothing of that, then
 * how far it is, and passes it on when it is told to.
 */
async function holding(app) {
  const to = new URL(app);
  const all = { match: () => false, held: [] };
  const server = createServer((request, response) => {
    const headers = { ...request.headers, host: to.host, "accept-encoding": "identity" };
    if (headers.origin) headers.origin = to.origin;
    const { method, url: path } = request;
    const pass = (then) => {
      // A connection of its own: one that is reused may be closed by the server just then.
      const onward = ask({ host: to.hostname, port: to.port, method, path, headers, agent: false }, then);
      onward.on("error", () => response.destroy());
      request.pipe(onward);
    };
    if (!all.match(path)) {
      return pass((answer) => answer.pipe(response.writeHead(answer.statusCode, answer.headers)));
    }
    const one = {
      closed: false,
      progress(share, doing) {
        response.writeHead(200, { "content-type": "application/x-ndjson" });
        response.write(`${JSON.stringify({ progress: { share, doing } })}\n`);
      },
      answer: () =>
        pass((answer) => {
          if (!response.headersSent) response.writeHead(answer.statusCode, answer.headers);
          answer.pipe(response);
        }),
    };
    response.on("close", () => (one.closed = true));
    all.held.push(one);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return Object.assign(all, { server, origin: `http://127.0.0.1:${server.address().port}` });
}

async function until(what, condition) {
  for (const end = Date.now() + 60_000; !condition(); ) {
    if (Date.now() > end) throw new Error(`never: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** What a page shows while an answer takes long, after it was cancelled, and when another one comes too late. */
async function wait(page, proxy, id) {
  const seen = {};
  const { held } = proxy;
  const main = page.getByRole("main");
  const cancel = main.getByRole("button", { name: "Cancel" });
  const asking = (by) => (path) => path.includes("/top?") && path.includes(`by=${by}&`) && path.includes("limit=1000");
  const rows = () => page.locator("[role=row][data-row] .grid-text").allInnerTexts();
  proxy.match = asking("line");
  await page.goto(`${proxy.origin}/?recording=${id}&page=table&by=line`);
  await main.locator(".skeleton").first().waitFor();
  seen.skeleton = true;
  seen.early = await cancel.isVisible();
  await until("a question", () => held.length > 0);
  for (const one of held) one.progress(0.25, "reading events");
  seen.progress = (await main.locator("label", { has: page.locator("progress") }).innerText()).trim();
  await cancel.click();
  seen.cancelled = (await main.getByText("Cancelled.").innerText()).trim();
  await until("the end of the request", () => held.every(({ closed }) => closed));
  seen.aborted = true;
  const before = held.length;
  await main.getByRole("button", { name: "Ask again" }).click();
  await until("the question again", () => held.length > before);
  seen.asked = held.length;
  held.at(-1).progress(0.5, "reading events");
  held.at(-1).answer();
  await page.locator("[role=row][data-row]").first().waitFor();

  proxy.match = asking("module");
  const first = held.length;
  await page.locator(".tools select").selectOption("module");
  await until("a question about modules", () => held.length > first);
  await page.locator(".tools select").selectOption("function");
  await page.waitForFunction(() => /--by function/.test(document.querySelector(".bottom .command")?.textContent ?? ""));
  await until("the end of the other one", () => held.slice(first).every(({ closed }) => closed));
  seen.dropped = true;
  await settled(page);
  seen.rows = await rows();
  for (const one of held.slice(first)) one.answer();
  await settled(page);
  seen.late = await rows();
  return seen;
}

/**
 * Opens each page by a link, and has it known late what the recording can answer. The result has what such a page shows
 * if it is not what it shows otherwise.
 */
async function lateAbout(page, proxy, id) {
  const different = {};
  for (const at of pages) {
    const seen = [];
    for (const late of [false, true]) {
      const begun = proxy.held.length;
      proxy.match = (path) => late && /[/]about([?]|$)/.test(path);
      await page.goto(`${proxy.origin}/?recording=${id}&page=${at}`);
      if (late) {
        await page.locator("main").waitFor();
        await until("the question what can be answered", () => proxy.held.length > begun);
        await page.waitForTimeout(200); // the page is there, and has asked what it asks by then
        proxy.match = () => false;
        for (const one of proxy.held.slice(begun)) one.answer();
      }
      await settled(page);
      const { text, command, rows } = await page.evaluate(look);
      seen.push(JSON.stringify({ text, command, rows }));
    }
    different[at] = seen[0] === seen[1] ? "" : seen.join("\nand late ");
  }
  return different;
}

try {
  const [first] = options.looked; // it is looked at in full
  const result = { views: {}, axe: {}, keys: {}, links: {} };
  // Both at once: codes expire.
  const [page, elsewhere] = await Promise.all([open(options.app), open(options.other)]);
  const stored = await page.evaluate(() => ({ ...sessionStorage }));
  where = "list";
  result.list = await page.locator("main").innerText();
  for (const [name, id] of Object.entries(options.recordings)) {
    result.views[name] = {};
    await go(page, `/?recording=${id}`);
    for (const at of pages) {
      where = `${name} ${at}`;
      await turn(page, at);
      if (at === "sql") {
        await page.getByRole("button", { name: "What are the totals?" }).click();
        await settled(page);
      }
      const view = await page.evaluate(look);
      if (at === "overview" || at === "flame") view.spoken = await spoken(page);
      if (at === "flame" && name === first) {
        if (view.spoken.some(({ role }) => role === "tree")) view.walk = await walk(page);
      }
      if (at === "generations") Object.assign(view, await generations(page));
      if (at === "heap") Object.assign(view, await heap(page));
      result.views[name][at] = view;
    }
  }
  const id = options.recordings[first];
  where = "back and forward";
  result.wander = await wander(page, id);
  where = "comparing";
  result.compare = await compare(page, id);
  where = "hidden";
  result.hide = await hide(page, id);

  where = "waiting";
  const proxy = await holding(options.app);
  const patient = await open(proxy.origin, {}, stored);
  result.waits = await wait(patient, proxy, id);
  where = "known late";
  result.late = await lateAbout(patient, proxy, id);
  await patient.context().close();
  proxy.server.closeAllConnections();
  proxy.server.close();
  result.folded = await folded(page, options.recordings.folded);
  where = "after the flame graph";
  result.afterFlame = await afterFlame(page, id);
  where = "replay";
  result.replayed = await replayed(page, options.recordings.sqlite);

  where = "link";
  for (const at of pages) {
    const query = `/?recording=${id}&page=${at}&from=20%25&to=80%25&metric=leaked`;
    const both = [];
    for (const [tab, server] of [[page, options.app], [elsewhere, options.other]]) {
      await tab.goto(new URL(query, server).href);
      await settled(tab);
      const { text, command, rows } = await tab.evaluate(look);
      both.push({ text, command, rows, spoken: await spoken(tab) });
    }
    result.links[at] = JSON.stringify(both[0]) === JSON.stringify(both[1]) ? "" : JSON.stringify(both);
  }
  await elsewhere.context().close();

  for (const at of pages) {
    const query = `/?recording=${id}${at === "overview" ? "" : `&page=${at}`}`;
    await go(page, query);
    result.keys[at] = await pressAll(page, query);
  }
  await page.context().close();

  const axe = await readFile(new URL("../../ui/node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
  const bare = await open(new URL("/", options.app).href, { bypassCSP: true }, stored);
  for (const name of options.looked) {
    for (const at of pages) {
      where = `axe ${name} ${at}`;
      await go(bare, `/?recording=${options.recordings[name]}&page=${at}`);
      for (const colorScheme of ["light", "dark"]) {
        await bare.emulateMedia({ colorScheme, reducedMotion: "reduce" });
        result.axe[`${name} ${at} ${colorScheme}`] = await inspect(bare, axe);
      }
    }
  }
  console.log(JSON.stringify({ ...result, problems }));
} catch (thrown) {
  for (const page of browser.contexts().flatMap((context) => context.pages())) {
    const text = await page.evaluate(() => document.body.innerText).catch(String);
    console.error(`${where}: ${page.url()}\n${text}\n`);
  }
  console.error(problems.join("\n"));
  throw thrown;
} finally {
  await browser.close();
}
