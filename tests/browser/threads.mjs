// Opens the table and the flame graph by thread of a recording of many threads, and prints what it sees as JSON.
//
//   node threads.mjs '{"chromium": PATH, "app": ADDRESS WITH CODE, "recording": ID}'
import { chromium } from "../../ui/node_modules/playwright-core/index.mjs";
import { settled, signIn } from "./app.mjs";

const options = JSON.parse(process.argv[2]);
const browser = await chromium.launch({ executablePath: options.chromium, args: ["--no-sandbox"] });
const problems = [];
const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, reducedMotion: "reduce" });
const page = await context.newPage();
page.on("pageerror", (error) => problems.push(error.message));
await signIn(page, options.app);
const go = async (query) => {
  await page.goto(new URL(`/?recording=${options.recording}&${query}`, options.app).href);
  await settled(page);
};

await go("page=table&by=thread&metric=bytes&metric=allocations");
const grid = page.getByRole("treegrid");
await grid.focus();
for (let tries = 0; tries < 20; tries++) {
  await page.keyboard.press("End");
  await settled(page);
  const at = await page.locator(".grid-row.current").getAttribute("aria-rowindex");
  if (at === (await grid.getAttribute("aria-rowcount"))) break;
}
const table = {
  rows: Number(await grid.getAttribute("aria-rowcount")) - 1,
  rendered: await page.locator("[role=row][data-row]").count(),
  last: await page.locator(".grid-row.current .grid-text bdi").first().textContent(),
};
// A row opens to what its thread allocated.
await page.keyboard.press("ArrowRight");
await settled(page);
await page.getByText("call tree", { exact: true }).waitFor();
const opened = await page.locator("[role=row][aria-level='3'] .grid-text bdi").allTextContents();

await go("page=flame&by=thread&metric=bytes");
const picture = page.getByRole("tree");
const said = await page.locator(".flame [role=status]").textContent();
await picture.focus();
await page.keyboard.press("ArrowDown");
const widest = await page.locator("[role=treeitem]").getAttribute("aria-label");
await page.keyboard.press("/");
await page.keyboard.type(options.search);
await page.waitForFunction(() => /match/.test(document.querySelector(".search [role=status]").textContent));
await page.keyboard.press("Enter");
const current = (name) => document.querySelector("[role=treeitem]").ariaLabel.startsWith(name);
await page.waitForFunction(current, options.search);
const found = await page.locator("[role=treeitem]").getAttribute("aria-label");
const drawn = await page.locator(".flame-current").evaluate((one) => one.getBoundingClientRect().width);
await browser.close();
console.log(JSON.stringify({ problems, table, opened, said, widest, found, drawn }));
