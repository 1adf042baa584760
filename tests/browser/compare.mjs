// Compares recordings on every page, and prints what it sees as JSON.
//
//   node compare.mjs '{"chromium": PATH, "app": ADDRESS WITH CODE, "other": THAT OF ANOTHER SERVER, "recording": ID,
//                       "with": [IDS], "also": [IDS]}'
import { chromium } from "../../ui/node_modules/playwright-core/index.mjs";
import { settled, signIn } from "./app.mjs";

const options = JSON.parse(process.argv[2]);
const browser = await chromium.launch({ executablePath: options.chromium, args: ["--no-sandbox"] });
const problems = [];
const open = async (address) => {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, reducedMotion: "reduce" });
  const page = await context.newPage();
  page.on("pageerror", (error) => problems.push(error.message));
  await signIn(page, address);
  return page;
};
const page = await open(options.app);
const elsewhere = await open(options.other); // at once: the code in its address is short-lived
const sides = options.with.map((id) => `&with=${id}`).join("");
const base = `/?recording=${options.recording}`;

/** What the page says. Numbers are the exact ones, which are the hints of cells. */
function look() {
  const text = (element) => element?.textContent.trim() ?? "";
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const hint = (element) => (element.querySelector("[title]") ?? element).title || text(element);
  const columns = all("[role=treegrid] [role=columnheader] [aria-label]").map((one) => one.ariaLabel);
  const rows = all("[role=treegrid] [role=row][data-row]").map((row) => ({
    name: text(row.querySelector(".grid-text bdi")),
    numbers: Object.fromEntries(all("[role=gridcell]", row).map((cell, i) => [columns[i], hint(cell)])),
  }));
  return {
    bar: document.querySelector(".compare-bar")?.innerText ?? "",
    main: document.querySelector("main").innerText,
    command: text(document.querySelector(".bottom .command")),
    faults: all("main .state[role=alert]").map(text),
    totals: all(".totals tbody tr").map((row) => all("th, td", row).map(hint)),
    rows,
  };
}

const go = async (to, query, server = options.app) => {
  await to.goto(new URL(base + query, server).href);
  await settled(to);
  return to.evaluate(look);
};

const views = {};
const pages = {
  overview: "", "table by function": "&page=table&by=function", "table by line": "&page=table&by=line",
  "table by stack": "&page=table&by=stack", tree: "&page=tree", "tree of callers": "&page=tree&up",
  leaks: "&page=leaks", source: "&page=source", generations: "&page=generations",
  timeline: "&page=timeline", sizes: "&page=sizes",
  threads: "&page=threads", scaled: "&page=table&by=line&scale", blocks: "&page=blocks", events: "&page=events",
  static: "&page=more", regions: "&page=more&order=regions", mappings: "&page=more&order=mappings",
  pools: "&page=more&order=pools", sql: "&page=sql", heap: "&page=heap",
};
for (const [name, query] of Object.entries(pages)) {
  views[name] = await go(page, `${query}${sides}&compare&unfolded`);
}
views.range = await go(page, `&page=table&by=line${sides}&compare&unfolded&overlay=share&from=20%25&to=60%25`);
const { searchParams } = new URL(page.url());
const range = [searchParams.get("from2"), searchParams.get("to2")];
// By time, the same link has another range of A; what is selected stays.
await page.getByRole("combobox", { name: "how A is laid over B" }).selectOption("time");
await settled(page);
range.push(new URL(page.url()).searchParams.get("from2"));
views["range by time"] = await page.evaluate(look);
const runs = options.also.map((id) => `&also=${id}`).join("");
views.runs = await go(page, `&page=table&by=line&with=${options.more}${sides}${runs}&compare&unfolded`);

// In the flame graph, the widest frame of the first level.
await go(page, `&page=flame${sides}&compare`);
await page.getByRole("tree").focus();
const flame = {
  root: await page.getByRole("treeitem").first().getAttribute("aria-label"),
  command: await page.locator(".bottom .command").innerText(),
};

// By key: a dialog asks with what; the address has it, and leads back.
await go(page, "&page=table");
await page.keyboard.press("c");
const dialog = page.getByRole("dialog", { name: "Compare recordings" });
await dialog.getByRole("radio", { name: new RegExp(`^${options.name}.*side A`) }).check();
await dialog.getByRole("button", { name: "Compare" }).click();
await settled(page);
const chosen = { url: page.url(), view: await page.evaluate(look) };
await page.keyboard.press("c");
await settled(page);
const stopped = await page.locator(".compare-bar").count();
await page.goBack();
await settled(page);
const back = { url: page.url(), bar: (await page.evaluate(look)).bar };
await page.getByRole("button", { name: "swap" }).click();
await settled(page);
const swapped = await page.evaluate(look);

// The same link on another server that has the same files.
const { search } = new URL(chosen.url);
await elsewhere.goto(new URL(search, options.other).href);
await settled(elsewhere);
const other = await elsewhere.evaluate(look);
await browser.close();
console.log(JSON.stringify({ problems, views, flame, range, chosen, stopped, back, swapped, other }));
