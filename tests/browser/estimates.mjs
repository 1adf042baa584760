// Opens a table, a tree and a flame graph of what only the events of a large recording tell, and prints what it sees
// first and last as JSON.
//
//   node estimates.mjs '{"chromium": PATH, "app": ADDRESS WITH CODE, "recording": ID}'
import { chromium } from "../../ui/node_modules/playwright-core/index.mjs";
import { settled, signIn } from "./app.mjs";

const options = JSON.parse(process.argv[2]);
const browser = await chromium.launch({ executablePath: options.chromium, args: ["--no-sandbox"] });
const problems = [];
const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, reducedMotion: "reduce" });
const page = await context.newPage();
page.on("pageerror", (error) => problems.push(error.message));
const asked = []; // the main questions, in the order in which they were asked and answered
const kindOf = (url) => {
  if (!/\/(top|tree)\?.*size=/.test(url)) return undefined;
  return url.includes("rough=") ? "estimate" : "exact";
};
page.on("request", (request) => kindOf(request.url()) && asked.push(`${kindOf(request.url())} asked`));
page.on("requestfinished", (request) => kindOf(request.url()) && asked.push(`${kindOf(request.url())} answered`));
// The exact answer waits until the estimate was looked at.
let goOn;
await page.route(/\/(top|tree)\?/, async (route) => {
  if (kindOf(route.request().url()) === "exact") await new Promise((done) => (goOn = done));
  await route.continue().catch(() => {});
});
await signIn(page, options.app);

const rows = () =>
  page.evaluate(() =>
    [...document.querySelectorAll("[role=row][data-row]")].map((row) => ({
      name: row.querySelector(".grid-text bdi").textContent,
      cells: [...row.querySelectorAll(".number")].map((cell) => cell.textContent),
      hints: [...row.querySelectorAll(".number")].map((cell) => cell.title),
      unsure: row.querySelectorAll(".unsure").length,
    })),
  );
const how = () => page.locator(".how").textContent();
const seen = {};
for (const name of ["table", "tree", "flame"]) {
  asked.length = 0;
  goOn = undefined;
  const query = `recording=${options.recording}&page=${name}&size=64..128&metric=bytes`;
  await page.goto(new URL(`/?${query}`, options.app).href);
  await page.waitForFunction(() => /^estimated/.test(document.querySelector(".how")?.textContent ?? ""));
  const first = { how: await how(), rows: await rows() };
  while (!goOn) await new Promise((done) => setTimeout(done, 20));
  goOn();
  await page.waitForFunction(() => /^exact/.test(document.querySelector(".how")?.textContent ?? ""), undefined, {
    timeout: 120_000,
  });
  await settled(page);
  seen[name] = { first, last: { how: await how(), rows: await rows() }, asked: [...asked] };
}
await browser.close();
console.log(JSON.stringify({ problems, ...seen }));
