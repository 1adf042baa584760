// What the tests in a browser share.
import { join } from "node:path";

/**
 * Gives an empty tab of a window of this size. There is one for all tests, but for what only a new tab can have:
 * opening one takes longer than most tests. What goes wrong in a page is added to the faults.
 */
export function tabs(browser, faults, prepare = async () => {}) {
  const open = new Map();
  return async ({ width = 1440, height = 900, hasTouch = false, deviceScaleFactor = 1, ...look } = {}) => {
    const kind = `${hasTouch} ${deviceScaleFactor}`;
    let page = open.get(kind);
    if (!page) {
      const context = await browser.newContext({ hasTouch, deviceScaleFactor });
      await prepare(context);
      page = await newTab(context, faults);
      open.set(kind, page);
    }
    await page.goto("about:blank"); // so that an address is loaded even if it differs only in what follows #
    await page.setViewportSize({ width, height });
    const usual = { colorScheme: "light", forcedColors: "none", reducedMotion: "no-preference" };
    await page.emulateMedia({ ...usual, ...look });
    return page;
  };
}

/** Opens a tab whose errors, and violations of its policy, are faults. */
export async function newTab(context, faults) {
  const page = await context.newPage();
  page.on("pageerror", (error) => faults.push(error.stack));
  page.on("console", (message) => message.text().startsWith("policy:") && faults.push(message.text()));
  await page.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", (e) => console.error(`policy: ${e.violatedDirective}`));
  });
  return page;
}

/** Themes in which pictures are taken: they change no sizes, so that one is enough if there are no pictures. */
export const themes = (folder) => (folder ? ["light", "dark"] : ["light"]);

/** Takes pictures for somebody to look at, if there is a folder for them. */
export const camera = (folder) => async (page, name) => {
  if (folder) await page.screenshot({ path: join(folder, `${name}.png`) });
};
