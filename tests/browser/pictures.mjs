// Takes a picture of every page of the app, in both themes and three widths.
//
//   node pictures.mjs '{"chromium": PATH, "app": ADDRESS WITH CODE, "recording": ID, "folder": PATH}'
import { join } from "node:path";
import { chromium } from "../../ui/node_modules/playwright-core/index.mjs";
import { settled, signIn } from "./app.mjs";

const { chromium: executablePath, app, recording, folder } = JSON.parse(process.argv[2]);
const heights = { 1440: 900, 1024: 768, 390: 844 };
const pages = {
  overview: "",
  flame: "",
  table: "&metric=leaked&metric=peak&metric=allocations",
  tree: "",
  leaks: "",
  source: "",
};
// Four of each page: each theme twice, each width at least twice in all of them.
const looks = [
  [["light", 1440], ["dark", 1440], ["dark", 1024], ["light", 390]],
  [["light", 1440], ["dark", 1440], ["light", 1024], ["dark", 390]],
];

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--font-render-hinting=none"] });
try {
  const context = await browser.newContext({ reducedMotion: "reduce", locale: "en-GB", timezoneId: "UTC" });
  const page = await context.newPage();
  await signIn(page, app);
  for (const [i, [name, more]] of Object.entries(pages).entries()) {
    for (const [colorScheme, width] of looks[i % 2]) {
      await page.setViewportSize({ width, height: heights[width] });
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      await page.goto(new URL(`/?recording=${recording}&page=${name}${more}`, app).href);
      await settled(page);
      if (name === "tree") await page.keyboard.press("h"); // the hottest path
      await settled(page);
      // How long an answer took differs each time.
      const how = page.locator(".bottom .how");
      await how.evaluateAll((all) => all.forEach((one) => (one.textContent = "exact · 12 ms")));
      await page.mouse.move(0, 0);
      await page.screenshot({ path: join(folder, `${name}-${colorScheme}-${width}.png`), caret: "hide" });
    }
  }
} finally {
  await browser.close();
}
