// Acts on pages of a small recording with regions, as a reader does, and prints what follows as JSON.
//
//   node acts.mjs '{"chromium": PATH, "app": ADDRESS WITH CODE, "recording": ID}'
import { stat } from "node:fs/promises";
import { chromium } from "../../ui/node_modules/playwright-core/index.mjs";
import { settled, signIn } from "./app.mjs";

const options = JSON.parse(process.argv[2]);
const pages = [
  "overview", "flame", "table", "tree", "leaks", "source", "generations", "timeline", "sizes", "threads", "blocks",
  "events", "more", "sql", "heap",
];
const browser = await chromium.launch({ executablePath: options.chromium, args: ["--no-sandbox"] });
const context = await browser.newContext({ viewport: { width: 1280, height: 700 }, reducedMotion: "reduce" });
const page = await context.newPage();
const problems = [];
page.on("pageerror", (error) => problems.push(error.message));

async function go(query) {
  await page.goto(new URL(`/?recording=${options.recording}&${query}`, options.app).href);
  await settled(page);
}

const filters = () => page.locator("[aria-label=Filters] .word").allInnerTexts();
const parameter = (name) => new URL(page.url()).searchParams.get(name);

/** A layer of the timeline becomes a filter: by its picture, and by its name. */
async function layers() {
  await go("page=timeline");
  const first = page.locator("main button.function").first();
  const name = (await first.innerText()).trim();
  await first.click();
  await settled(page);
  const byName = { name, focus: parameter("focus"), filters: await filters() };
  await go("page=timeline");
  const box = await page.locator("main canvas").first().boundingBox();
  // At the end, all is live: the lowest layer has most.
  await page.mouse.click(box.x + box.width - 12, box.y + 0.6 * box.height);
  await settled(page);
  return { byName, byPicture: { name: "", focus: parameter("focus"), filters: await filters() } };
}

/** A region of the page More becomes a filter, of the page to which it leads. */
async function regions() {
  await go("page=more&order=regions");
  const row = page.locator("[role=row][data-row]").first();
  const name = (await row.locator(".grid-text bdi").first().textContent()).trim();
  await row.locator(".grid-text").first().click();
  await settled(page);
  return { name, region: parameter("region"), filters: await filters() };
}

/** The right side begins at its top for another function. */
async function scrolled() {
  await page.setViewportSize({ width: 1280, height: 360 });
  await go("page=table&metric=bytes");
  const side = page.getByRole("complementary", { name: "Details" });
  const at = () => side.evaluate((element) => element.scrollTop);
  const rows = page.locator("[role=row][data-row] .grid-text");
  await rows.nth(0).click();
  await settled(page);
  await side.evaluate((element) => (element.scrollTop = 100));
  const before = await at();
  await rows.nth(1).click();
  await settled(page);
  const after = await at();
  await page.setViewportSize({ width: 1280, height: 700 });
  return { before, after };
}

/** What is said of a frame or a cell: how many pixels it is from its row, and whether it is beside the pointer. */
async function hints() {
  const found = [];
  for (const [query, selector, first, height] of [["page=flame&metric=bytes", ".flame canvas", 0, 20],
    ["page=generations", ".triangle canvas", 22, 24]]) {
    await go(query);
    const box = await page.locator(selector).first().boundingBox();
    for (const [x, row, part] of [[0.2, 0, 1], [0.2, 0, 19], [0.3, 1, 10], [0.9, 1, 1], [0.9, 0, 19], [0.95, 2, 18],
      [0.97, 12, 1], [0.97, 14, 19]]) {
      const top = box.y + first + row * height;
      const at = box.x + x * box.width;
      await page.mouse.move(at, top + part);
      const hint = page.locator(".hint");
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
      if ((await hint.count()) === 0) continue;
      const shown = await hint.first().boundingBox();
      const apart = Math.max(shown.y - top - height, top - shown.y - shown.height);
      found.push({ query, row, apart, aside: shown.x > at || shown.x + shown.width < at });
    }
  }
  return found;
}

/** How many bytes the pictures have that are saved. */
async function pictures() {
  const sizes = {};
  for (const at of ["sizes", "generations"]) {
    await go(`page=${at}`);
    const buttons = page.getByRole("button", { name: "Save as PNG" });
    for (let i = 0; i < (await buttons.count()); i++) {
      const saved = page.waitForEvent("download");
      await buttons.nth(i).click();
      const file = await saved;
      sizes[file.suggestedFilename()] = (await stat(await file.path())).size;
    }
  }
  return sizes;
}

/** Pages that are wider than a narrow window, with what sticks out. */
async function narrow() {
  const wide = [];
  for (const width of [390, 360]) {
    await page.setViewportSize({ width, height: 800 });
    for (const at of pages) {
      await go(`page=${at}`);
      const over = await page.evaluate(() => {
        const main = document.querySelector("main");
        const most = Math.max(document.documentElement.scrollWidth - innerWidth, main.scrollWidth - main.clientWidth);
        const out = [...main.querySelectorAll("*")].find((e) => e.getBoundingClientRect().right > innerWidth + 1);
        return most > 0 ? `${most} pixels: ${out?.tagName} ${out?.className}` : "";
      });
      if (over) wide.push(`${at} at ${width}: ${over}`);
    }
  }
  return wide;
}

try {
  await signIn(page, options.app);
  const result = {
    ...(await layers()), region: await regions(), scrolled: await scrolled(), hints: await hints(),
    pictures: await pictures(), wide: await narrow(),
  };
  console.log(JSON.stringify({ ...result, problems }));
} finally {
  await browser.close();
}
