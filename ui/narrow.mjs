import { chromium } from "playwright-core";
const url = process.argv[2];
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
page.on("pageerror", (e) => console.log("ERR", e.message));
await page.goto(url);
await page.waitForSelector("main");
await page.waitForTimeout(1500);
const id = new URL(page.url()).searchParams.get("recording") ?? "1";
console.log(page.url());
const rec = process.argv[3] ?? id;
for (const at of ["overview","flame","table","tree","leaks","source","generations","timeline","sizes","threads","blocks","events","more","sql"]) {
  for (const width of [390, 360]) {
    await page.setViewportSize({ width, height: 800 });
    await page.goto(new URL(`/?recording=${rec}&page=${at}`, url).href);
    await page.waitForTimeout(900);
    const r = await page.evaluate(() => {
      const wide = document.documentElement.scrollWidth - innerWidth;
      const main = document.querySelector("main");
      const out = [];
      const scrolls = (e) => { for (let p = e.parentElement; p && p !== document.body; p = p.parentElement) { const o = getComputedStyle(p).overflowX; if (o === "auto" || o === "scroll") { return p; } } };
      for (const e of document.querySelectorAll("main *")) {
        const b = e.getBoundingClientRect();
        if (b.right > innerWidth + 0.5 && b.width > 0) { const s = scrolls(e); if (!s || s === main) out.push(`${e.tagName}.${e.className} ${b.right.toFixed(0)}`); }
      }
      return { wide, main: main.scrollWidth - main.clientWidth, out: out.slice(0, 6) };
    });
    if (r.wide > 0 || r.main > 0 || r.out.length) console.log(at, width, JSON.stringify(r));
  }
}
await page.setViewportSize({ width: 1200, height: 900 });
for (const [at, name] of [["sizes", "Save as PNG"], ["generations", "Save as PNG"]]) {
  await page.goto(new URL(`/?recording=${rec}&page=${at}`, url).href);
  await page.waitForTimeout(1500);
  const saved = page.waitForEvent("download");
  await page.getByRole("button", { name }).first().click();
  await (await saved).saveAs(`/tmp/w/threads-bin/${at}.png`);
  await page.screenshot({ path: `/tmp/w/threads-bin/${at}-page.png` });
}
await browser.close();
