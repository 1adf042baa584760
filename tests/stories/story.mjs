// Plays stories: somebody opens a recording that they have never seen, and answers a question with nothing but what
// the screen says. It knows roles, labels and headings of the app, but no name of the recording. It prints what it
// found, how many clicks it took and how long.
//
//   node story.mjs '{"chromium": PATH, "heaptap": PATH, "by": "mouse" or "keyboard",
//                     "plays": [{"story": NAME, "file": RECORDING, "more": [RECORDING, ...]}, ...]}'
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { chromium } from "../../ui/node_modules/playwright-core/index.mjs";
import { settled, watch } from "../browser/app.mjs";

const options = JSON.parse(process.argv[2]);
const byKeyboard = options.by === "keyboard";
const longest = 60_000; // ms that a wait may take, beside whatever else this machine does

/** One who looks at a page and acts on it, by mouse or by keyboard alone. */
class Reader {
  clicks = 0; // and what does as much by keyboard: Enter, a key that is written on the screen
  constructor(page) {
    this.page = page;
    this.main = page.getByRole("main");
    this.details = page.getByRole("complementary", { name: "Details" });
    this.timeline = page.getByRole("slider", { name: "timeline" });
  }

  async text(locator) {
    await locator.waitFor();
    return (await locator.innerText()).trim();
  }

  /** Moves the focus to an element as a reader without a mouse does. */
  async focus(locator) {
    await locator.waitFor();
    for (let i = 0; i < 300; i++) {
      if (await locator.evaluate((e) => e === document.activeElement)) return;
      await this.page.keyboard.press("Tab");
    }
    throw new Error(`Tab does not lead to ${locator}`);
  }

  async choose(locator) {
    this.clicks++;
    if (!byKeyboard) return locator.click();
    await this.focus(locator);
    await this.page.keyboard.press("Enter");
  }

  /** Turns to a page, by its name or by the key that is written beside it. */
  async turnTo(name) {
    const link = this.page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name });
    if (!byKeyboard) return this.choose(link);
    this.clicks++;
    await this.page.keyboard.press((await this.text(link)).slice(-1).toLowerCase()); // keys are labelled in capitals
  }

  /** The section of the overview with a heading. */
  section(heading) {
    return this.main.locator("section").filter({ has: this.page.getByRole("heading", { name: heading }) });
  }

  /** Waits until the selected range is explained, whatever else the page still asks for. */
  async explained() {
    const rise = this.section("Explain this rise");
    await rise.getByRole("button").first().waitFor();
    await rise.locator("[aria-busy=true]").waitFor({ state: "detached" });
    return rise;
  }

  /** Waits until what was done is drawn, and nothing is being asked any more. */
  settled() {
    return settled(this.page);
  }

  /** Chooses a cell of a table that is one stop of the tab key: arrows lead to the others. */
  async chooseInTable(table, cell) {
    if (!byKeyboard) return this.choose(cell);
    await this.focus(table.locator("a[tabindex='0']"));
    const place = async (one) => (await one.getAttribute("data-cell")).split(" ").map(Number);
    const [row, column] = await place(cell);
    for (let i = 0; i < 100; i++) {
      const [r, c] = await place(this.page.locator(":focus"));
      if (r === row && c === column) break;
      // There may be nothing in a direction.
      const along = c < column ? "ArrowRight" : "ArrowLeft";
      const down = r < row ? "ArrowDown" : "ArrowUp";
      for (const key of [...(r === row ? [] : [down]), ...(c === column ? [] : [along])]) {
        await this.page.keyboard.press(key);
        const [nr, nc] = await place(this.page.locator(":focus"));
        if (nr !== r || nc !== c) break;
      }
    }
    this.clicks++;
    await this.page.keyboard.press("Enter");
  }

  /** Opens a row of a table of rows. */
  async openRow(row) {
    if (!byKeyboard) return this.choose(row);
    const grid = this.page.getByRole("treegrid");
    await this.focus(grid);
    await this.page.keyboard.press("Home");
    const at = Number(await row.getAttribute("aria-rowindex"));
    for (let i = 2; i < at; i++) await this.page.keyboard.press("ArrowDown");
    this.clicks++;
    await this.page.keyboard.press("Enter");
  }

  /** Chooses the innermost frame of own code in the flame graph, along the widest ones, and returns what it says. */
  async widest(tree) {
    this.clicks++;
    await this.focus(tree);
    let said = "";
    for (let i = 0; i < 40; i++) {
      const now = await tree.getByRole("treeitem", { selected: true }).last().getAttribute("aria-label");
      if (now === said) break;
      said = now;
      await this.page.keyboard.press("ArrowDown");
    }
    await this.page.keyboard.press("Space");
    await this.settled();
    return said;
  }

  /** Who is explained at the right side, and where it is. */
  async picked() {
    const place = this.details.getByRole("link", { name: /:\d+$/ }).first();
    return { function: await this.text(this.details.getByRole("heading").first()), place: await this.text(place) };
  }
}

const stories = {
  /** What leaks, and in which line of the source? */
  async leak(r) {
    const says = r.main.getByRole("listitem").filter({ hasText: /never freed/i }).first();
    const sentence = await r.text(says);
    await r.choose(says.getByRole("link", { name: "Show me" }));
    const place = r.details.getByRole("link", { name: /:\d+$/ }).first();
    const picked = await r.picked();
    await r.choose(place);
    const line = r.main.locator("[aria-selected=true]").last();
    return { ...picked, sentence, line: await r.text(line) };
  },

  /** Why did memory rise so steeply, and in which thread? */
  async rise(r) {
    await r.timeline.waitFor();
    await selectSteepest(r);
    const rise = await r.explained();
    await r.choose(rise.getByRole("button").first());
    const picked = await r.picked();
    const threads = r.details.locator("section").filter({ has: r.page.getByRole("heading", { name: "By thread" }) });
    return { ...picked, thread: await r.text(threads.getByRole("rowheader").first()) };
  },

  /** Which release bloated it, and in which line? The recordings are those of two builds. */
  async release(r) {
    const list = r.page.getByRole("link", { name: /release/ });
    await list.first().waitFor();
    await r.settled();
    await r.choose(list.nth(1)); // the second one was made later
    const compare = r.page.getByRole("region", { name: "Compare" });
    await r.choose(compare.getByRole("button", { name: /^with/ }).first());
    const all = r.main.getByRole("table", { name: "Totals" }).getByRole("row");
    const totals = all.filter({ hasText: "live at the peak" });
    const changed = r.section("What has changed most").getByRole("row").nth(1);
    const found = {
      sentence: (await r.text(totals)).replace(/\s+/g, " "),
      function: await r.text(changed.getByRole("button")),
      share: await r.text(changed.getByRole("cell").nth(3)),
    };
    const place = changed.getByRole("link").first();
    const name = await r.text(place);
    await r.choose(place);
    return { ...found, place: name, line: await r.text(r.main.locator("[aria-selected=true]").last()) };
  },

  /** What held the peak? */
  async peak(r) {
    const most = r.section(/^Most live at the peak/);
    const first = most.getByRole("row").nth(1);
    await r.choose(first.getByRole("button"));
    const picked = await r.picked();
    const figure = r.main.locator("dl > div").filter({ has: r.page.getByText("peak live") });
    return { ...picked, share: await r.text(first.getByRole("cell", { name: "%" })), text: await r.text(figure) };
  },

  /** Why is the resident set so large? */
  async resident(r) {
    const section = r.section(/^Resident memory at its most/);
    const rows = section.getByRole("row");
    const found = { sentence: await r.text(section.getByText(/times the live blocks/)), parts: {} };
    for (const row of await rows.all()) {
      const cells = await row.getByRole("cell").allInnerTexts();
      found.parts[cells[0].split("\n")[0].trim()] = cells.at(-1).trim();
    }
    const mapped = rows.filter({ hasText: "mapped by the program" });
    found.mapper = (await r.text(mapped)).split("\n")[1].trim();
    await r.choose(mapped.getByRole("link", { name: /\.\w+:/ }).first()); // its source line
    found.line = await r.text(r.main.locator("[aria-selected=true]").last());
    return found;
  },

  /** Who makes all these small blocks, and in which line of the source? */
  async small(r) {
    await r.turnTo("Sizes");
    const rows = r.section(/^Sizes/).getByRole("row");
    await rows.nth(1).waitFor();
    await r.settled();
    // The size of which there are most blocks.
    const shares = [];
    for (const row of await rows.all()) {
      const [share] = /[\d.]+(?= %)/.exec(await row.innerText()) ?? ["0"];
      shares.push(Number(share));
    }
    const row = rows.nth(shares.indexOf(Math.max(...shares)));
    const sentence = (await r.text(row)).replace(/\s+/g, " ");
    await r.choose(row.getByRole("button"));
    await r.settled();
    const word = await r.text(r.page.getByRole("region", { name: "Filters" }).getByRole("listitem"));
    // It is the only row now.
    await r.choose(r.section(/^Sizes/).getByRole("link", { name: /^flame graph/ }));
    await pickWidest(r);
    const picked = await r.picked();
    await r.choose(r.details.getByRole("link", { name: /:\d+$/ }).first());
    const line = await r.text(r.main.locator("[aria-selected=true]").last());
    return { ...picked, sentence, text: word.replace(/\s+/g, " "), line };
  },

  /** Which thread's blocks does another one free, and which call stack allocated them? */
  async freed(r) {
    await r.turnTo("Threads");
    const table = r.main.getByRole("table", { name: "allocated by, freed by" });
    await table.waitFor();
    await r.settled();
    // The largest cell whose row and column are different threads.
    const cells = [];
    for (const cell of await table.getByRole("link").all()) {
      const label = await cell.getAttribute("aria-label");
      const [, from, to, bytes] = /^(.+) to (.+): .*\(([\d,]+) bytes/.exec(label) ?? [];
      if (from !== undefined && from !== to) cells.push({ cell, from, to, bytes: Number(bytes.replaceAll(",", "")) });
    }
    cells.sort((a, b) => b.bytes - a.bytes);
    const { cell, from, to, bytes } = cells[0];
    await r.chooseInTable(table, cell);
    const tree = r.main.getByRole("tree");
    await tree.waitFor();
    await r.settled();
    const share = await r.widest(tree);
    return { thread: from, freer: to, text: share, bytes, ...(await r.picked()) };
  },

  /** Where was the oldest block freed? */
  async oldest(r) {
    await r.turnTo("Blocks");
    await r.main.getByRole("row").nth(1).waitFor();
    await r.choose(r.main.getByRole("button", { name: "oldest" }));
    await r.settled();
    const row = r.main.getByRole("row").filter({ hasText: / (?!main)[a-z]\w*\(/ }).first();
    const text = await r.text(row);
    await r.openRow(row);
    const life = r.main.getByRole("region", { name: /^what became of block/ });
    await life.getByRole("heading", { name: /^Freed at/ }).waitFor();
    const stack = life.getByRole("list", { name: "call stack, freed" }).getByRole("listitem").first();
    const [name] = (await r.text(stack)).split(/\s/);
    await r.choose(stack.getByRole("link"));
    const line = await r.text(r.main.locator("[aria-selected=true]").last());
    return { text, function: name, line };
  },

  /** What does each repeat of a click leave behind? */
  async repeat(r) {
    await r.turnTo("Generations");
    await r.choose(r.main.getByRole("button", { name: "between marks" }));
    const first = r.section(/^Repeats/).getByRole("row").nth(1);
    await first.waitFor();
    const [stack, each, blocks, times] = await first.getByRole("cell").allInnerTexts();
    const rows = (await r.section(/^Repeats/).getByRole("row").count()) - 1;
    await r.choose(first.getByRole("link", { name: /\.\w+:\d+$/ })); // its source line
    const line = r.main.locator("[aria-selected=true]").last();
    const parts = { each, blocks, times, rows: String(rows) };
    return { function: stack.split("\n")[0].trim(), parts, line: await r.text(line) };
  },

  /** Sends a view: its link leads to the same view of another server. */
  async send(r, open) {
    await stories.rise(r);
    await r.turnTo("Table");
    await r.main.getByRole("row").nth(1).waitFor();
    await r.settled();
    await r.choose(r.page.getByRole("button", { name: "copy link" }));
    const link = await r.page.evaluate(() => navigator.clipboard.readText());
    const other = new Reader(await open());
    await other.choose(other.page.getByRole("button", { name: /^Find anything/ }));
    const dialog = other.page.getByRole("dialog");
    await dialog.getByRole("combobox", { name: /link/ }).waitFor();
    await other.page.keyboard.press("Control+V");
    const option = dialog.getByRole("option", { name: /link/, selected: true });
    await option.waitFor();
    if (byKeyboard) await other.page.keyboard.press("Enter"); // the option is selected already
    else await option.click();
    other.clicks++;
    await other.main.getByRole("row").nth(1).waitFor();
    await other.settled();
    r.clicks += other.clicks;
    return { link, views: [await seen(r), await seen(other)] };
  },
};

/** All that a view says, but where the focus was and what was read out before. */
async function seen(r) {
  const parts = [r.main, r.details, r.page.getByRole("region", { name: "Filters" }), r.timeline];
  const texts = [];
  for (const part of parts) texts.push(await part.ariaSnapshot());
  texts.push(new URL(r.page.url()).search);
  return texts.join("\n").replace(/ \[(active|selected)\]/g, "").replace(/- status: selected .*/g, "- status");
}

/** Picks the innermost function of the program itself on the widest call path of a flame graph. */
async function pickWidest(r) {
  const tree = r.main.getByRole("tree");
  await tree.waitFor();
  await r.settled();
  const current = () => tree.getByRole("treeitem").getAttribute("aria-label");
  const program = (await current()).split(" · ")[0]; // its name is that of the root, and of its module
  if (byKeyboard) {
    await r.focus(tree);
    // Down as long as there is something below, then up to what the details name with a place.
    for (let name = await current(), before = ""; name !== before; name = await current()) {
      before = name;
      await r.page.keyboard.press("ArrowDown");
    }
    for (let i = 0; i < 40; i++) {
      const name = await current();
      if (!/^\d+ library frame/.test(name)) {
        // The details follow when the reader stays.
        const [word] = /^[\w:~]+/.exec(name);
        const heading = r.details.getByRole("heading", { name: word }).first();
        await heading.waitFor();
        await r.settled();
        if (await r.details.getByRole("link", { name: /:\d+$/ }).count()) return;
      }
      await r.page.keyboard.press("ArrowUp");
    }
    throw new Error("no function has a place");
  }
  const box = await tree.boundingBox();
  const x = box.x + box.width / 2;
  let found;
  for (let y = box.y + 10; y < box.y + box.height; y += 20) {
    await r.page.mouse.move(x, y);
    await r.page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    const hint = r.main.locator(".hint");
    if ((await hint.count()) === 0) break;
    if ((await hint.innerText()).includes(program)) found = y;
  }
  r.clicks++;
  await r.page.mouse.click(x, found);
  await r.settled();
}

/** So many places of the timeline are looked at to see where it is steepest. */
const looks = 40;

async function selectSteepest(r) {
  if (byKeyboard) {
    await r.focus(r.timeline);
    await r.page.keyboard.press("Home");
    const values = [];
    for (let i = 0; i < 20; i++) {
      values.push(bytesOf(await r.timeline.getAttribute("aria-valuetext")));
      await r.page.keyboard.press("PageDown");
    }
    await r.page.keyboard.press("Home");
    const at = steepest(values);
    for (let i = 0; i < at; i++) await r.page.keyboard.press("PageDown");
    // Half a page on: in the middle of the slope.
    const { width } = await r.timeline.boundingBox();
    for (let i = 0; i < width / 40; i++) await r.page.keyboard.press("ArrowRight");
    r.clicks++;
    return r.page.keyboard.press("Enter");
  }
  const box = await r.timeline.boundingBox();
  const legend = r.page.getByText(/^live [\d.,]+ [KMG]?i?B$/).first();
  const x = (i) => box.x + (box.width * (i + 0.5)) / looks;
  const values = [];
  for (let i = 0; i < looks; i++) {
    await r.page.mouse.move(x(i), box.y + box.height / 2);
    await r.page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    values.push(bytesOf(await legend.innerText()));
  }
  r.clicks += 1;
  await r.page.mouse.dblclick(x(steepest(values) + 0.5), box.y + box.height / 2);
}

/** Between which value and its next one it rises most. */
function steepest(values) {
  let best = 0;
  for (let i = 1; i + 1 < values.length; i++) {
    if (values[i + 1] - values[i] > values[best + 1] - values[best]) best = i;
  }
  return best;
}

/** The live bytes that a text names. */
function bytesOf(text) {
  const [, number, prefix] = /live\s+([\d.,]+) ([KMG]?)i?B/.exec(text) ?? [];
  if (number === undefined) throw new Error(`no live bytes in "${text}"`);
  return Number(number.replaceAll(",", "")) * 1024 ** " KMG".indexOf(prefix || " ");
}

/** Starts a server and returns it and its address, with a code for one browser. */
async function serve(files) {
  const server = spawn(options.heaptap, ["serve", ...files], { stdio: ["pipe", "pipe", "inherit"] });
  for await (const line of createInterface(server.stdout)) {
    const [url] = /http:\S+#code=\S+/.exec(line) ?? [];
    if (url !== undefined) return { server, url };
  }
  throw new Error("the server prints no address");
}

/** Plays a story in a browser that knows nothing yet. */
async function play(browser, { story, file, more = [] }) {
  const problems = [];
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  context.setDefaultTimeout(longest);
  const servers = [];
  /** Opens the recording with a server of its own. */
  const open = async () => {
    const { server, url } = await serve([file, ...more]);
    servers.push(server);
    const page = await context.newPage();
    watch(page);
    page.on("pageerror", (error) => problems.push(String(error)));
    await page.goto(url);
    return page;
  };
  const began = performance.now();
  let reader;
  try {
    reader = new Reader(await open());
    const found = await stories[story](reader, open);
    return { ...found, clicks: reader.clicks, ms: performance.now() - began, problems };
  } catch (error) {
    const shown = await context.pages().at(-1)?.locator("body").ariaSnapshot();
    return { problems: [...problems, `${error.message}\n${shown}`.slice(0, 6000)] };
  } finally {
    await context.close();
    for (const server of servers) server.kill();
  }
}

const browser = await chromium.launch({ executablePath: options.chromium, args: ["--no-sandbox"] });
try {
  const found = [];
  for (const one of options.plays) found.push(await play(browser, one));
  console.log(JSON.stringify(found));
} finally {
  await browser.close();
}
