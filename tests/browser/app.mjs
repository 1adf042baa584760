// What the tests of the app's pages share.

const waiting = new WeakMap(); // pages and how many answers each waits for

/** Counts from now on for how many answers a page waits. */
export function watch(page) {
  waiting.set(page, 0);
  page.on("request", () => waiting.set(page, waiting.get(page) + 1));
  for (const end of ["requestfinished", "requestfailed"]) page.on(end, () => waiting.set(page, waiting.get(page) - 1));
}

/** Opens the app by its address with the code, and waits until it has redeemed it. */
export async function signIn(page, address) {
  watch(page);
  await page.goto(address);
  await page.waitForFunction(() => location.hash === "");
  await settled(page);
}

/** Waits until the page waits for nothing, and has drawn what it has. What it has drawn may lead to new questions. */
export async function settled(page) {
  for (let quiet = 0, until = Date.now() + 60_000; quiet < 2; ) {
    const drawn = await page.evaluate(async () => {
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
      const busy = '[aria-busy=true], .how.busy, .skeleton, .flame-skeleton, main[data-awaits]:not([data-awaits="0"])';
      const waits = document.querySelector(busy);
      // A worker lays the flame graph out.
      const drawn = document.querySelector("main [role=tree], main .state");
      if (document.querySelector(".flame-page") && !drawn) return false;
      return !waits && (document.querySelector("main")?.innerText.trim() ?? "") !== "";
    });
    quiet = drawn && waiting.get(page) === 0 ? quiet + 1 : 0;
    if (Date.now() > until) throw new Error(`it never becomes quiet: ${page.url()}`);
  }
}
