// Measures the app in a browser, with a recording, and writes what it measured as JSON: lists of values by name. The
// benchmark (bench/browser.go) runs this and knows the goals.
//
//   node test/bench.mjs HEAPTAP CHROMIUM RECORDING [PART]
//
// With PART, only that is measured.
import { spawn } from "node:child_process";
import { chromium } from "playwright-core";
import { pace, randomly, scriptPerFrame } from "./frames.mjs";

const [heaptap, executablePath, recording, part = ""] = process.argv.slice(2);
const viewport = { width: 1440, height: 900 };
const values = {};
const notes = [];
const add = (name, ...list) => (values[name] = [...(values[name] ?? []), ...list]);
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const now = () => performance.timeOrigin + performance.now();

/** Starts the server; the address has the code. */
async function serve() {
  const began = now();
  const child = spawn(heaptap, ["serve", "--read-only", recording], { stdio: ["pipe", "pipe", "inherit"] });
  let printed = "";
  const address = await new Promise((done, fail) => {
    child.on("exit", () => fail(new Error(`heaptap serve ended; it printed ${JSON.stringify(printed)}`)));
    child.stdout.on("data", (text) => {
      printed += text;
      const found = /http:\/\/\S+\/#code=\w+/.exec(printed);
      if (found) done(found[0]);
    });
  });
  const stop = () => new Promise((done) => {
    child.removeAllListeners("exit");
    child.on("exit", done);
    child.kill("SIGINT");
    child.stdin.end();
  });
  return { began, address, stop };
}

/** What the page counts for us. It runs before the app. */
function observe() {
  const seen = { pictures: 0, exactPictures: 0, released: 0, frames: [], counts: false, asked: 0, framesAsked: 0 };
  globalThis.seen = seen;
  // Flame graphs come from a worker. Those of rough answers keep the order of the one before.
  const exact = new Set();
  const OldWorker = globalThis.Worker;
  globalThis.Worker = class extends OldWorker {
    constructor(...args) {
      super(...args);
      this.addEventListener("message", ({ data }) => {
        seen.pictures++;
        if (exact.delete(data.laid?.id)) seen.exactPictures++;
      });
    }
    postMessage(message, ...more) {
      if (message.job && message.job.order !== "keep") exact.add(message.job.id);
      super.postMessage(message, ...more);
    }
  };
  addEventListener("pointerup", () => (seen.released = performance.now()), true);
  const [oldFrame, oldFetch] = [globalThis.requestAnimationFrame, globalThis.fetch];
  globalThis.requestAnimationFrame = (call) => (seen.framesAsked++, oldFrame(call));
  globalThis.fetch = (...args) => (seen.asked++, oldFetch(...args));
  const turn = (at) => {
    if (seen.counts) seen.frames.push(at);
    if (seen.counts) oldFrame(turn);
  };
  seen.begin = () => {
    Object.assign(seen, { frames: [], counts: true });
    oldFrame(turn);
  };
  /** Calls `done` once a condition holds and the page shows it: after the frame in which that is so. */
  seen.until = (holds) => new Promise((done) => {
    const look = () => {
      if (holds()) setTimeout(() => done(performance.now()));
      else oldFrame(look);
    };
    oldFrame(look);
  });
}

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });

async function newPage() {
  const context = await browser.newContext({ viewport, reducedMotion: "reduce" });
  await context.addInitScript(observe);
  const page = await context.newPage();
  page.on("pageerror", (error) => {
    throw error;
  });
  return page;
}

const withNumbers = {
  overview: () => {
    const figures = document.querySelector(".figures")?.innerText ?? "";
    return /\d/.test(document.querySelector(".timeline .readout")?.innerText ?? "") && /\d/.test(figures);
  },
  flame: () => /\d/.test(document.querySelector(".timeline .readout")?.innerText ?? "") && globalThis.seen.pictures > 0,
};

/** Counted from before the server starts; the browser runs already, and has nothing of the app. */
async function measureOpening() {
  for (let round = 0; round < 7; round++) {
    for (const [name, ready] of Object.entries(withNumbers)) {
      const page = await newPage();
      const { began, address, stop } = await serve();
      await page.goto(address.replace("/#", `/?page=${name}#`), { waitUntil: "commit" });
      const done = page.evaluate(`seen.until(${ready}).then((at) => performance.timeOrigin + at)`);
      add(`open ${name}`, (await done) - began);
      const text = await page.evaluate(() => {
        const [paint] = performance.getEntriesByName("first-contentful-paint");
        return performance.timeOrigin + paint.startTime;
      });
      add("first text", text - began);
      await page.context().close();
      await stop();
    }
  }
}

/** Follows the mouse 60 times a second, without awaiting that the page has taken an event in. */
async function at60Hz(page, ms, step) {
  const cdp = await page.context().newCDPSession(page);
  const began = performance.now();
  const sent = [];
  for (let i = 0; performance.now() - began < ms; i++) {
    sent.push(cdp.send("Input.dispatchMouseEvent", { modifiers: 0, ...step((1000 / 60) * i / ms) }));
    await pause(Math.max(0, began + (1000 / 60) * (i + 1) - performance.now()));
  }
  await Promise.all(sent);
  await cdp.detach();
}

/** Traces what `work` does; returns script per frame, and the pace of frames. */
async function traced(page, work) {
  await browser.startTracing(page, { categories: ["devtools.timeline", "v8", "v8.execute"] });
  await page.evaluate(() => globalThis.seen.begin());
  const result = await work();
  const times = await page.evaluate(() => {
    globalThis.seen.counts = false;
    return globalThis.seen.frames;
  });
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString());
  return { script: scriptPerFrame(traceEvents), ...pace(times), result };
}

const exactNow = () => document.querySelector(".bottom .how")?.classList.contains("exact") ?? false;

/** Leads the app to a query, as the browser's history does. */
async function turnTo(page, query) {
  await page.evaluate(([query]) => {
    const { recording = "" } = Object.fromEntries(new URLSearchParams(location.search));
    history.pushState(null, "", `/?recording=${recording}&${query}`);
    dispatchEvent(new PopStateEvent("popstate"));
  }, [query]);
  await pause(150);
}

async function turnToFlame(page, query) {
  const before = await page.evaluate(() => globalThis.seen.exactPictures);
  await turnTo(page, `page=flame&${query}`);
  await page.evaluate(`seen.until(() => seen.exactPictures > ${before} && (${exactNow})())`);
  await pause(300);
}

const timelineBox = (page) => page.locator(".timeline canvas").first().boundingBox();

async function measureDrag(page) {
  await turnToFlame(page, "");
  const box = await timelineBox(page);
  const y = box.y + box.height / 2;
  const x = (share) => box.x + box.width * (0.1 + 0.8 * share);
  await page.mouse.move(x(0), y);
  await page.mouse.down();
  const { script, dropped, result } = await traced(page, async () => {
    const before = await page.evaluate(() => globalThis.seen.pictures);
    const began = performance.now();
    // There and back, so that most ranges are new ones.
    const place = (t) => x(Math.abs(Math.sin(t * 7)) * (0.4 + 0.6 * t));
    await at60Hz(page, 3000, (t) => ({ type: "mouseMoved", x: place(t), y, button: "left", buttons: 1 }));
    const pictures = (await page.evaluate(() => globalThis.seen.pictures)) - before;
    return (1000 * pictures) / (performance.now() - began);
  });
  await page.mouse.up();
  add("drag script", ...script);
  add("drag dropped", dropped);
  add("drag pictures", result);
}

/** From the release to the picture, or the rows, of the exact answer. */
async function measureReleases(page) {
  const random = randomly(1);
  const quick = "metric=bytes&metric=allocations"; // of a range, others may need all its events
  for (const [name, query] of [["flame", ""], ["table", `page=table&${quick}`]]) {
    if (name === "flame") await turnToFlame(page, query);
    else {
      await turnTo(page, query);
      await page.evaluate(`seen.until(${exactNow})`);
    }
    const box = await timelineBox(page);
    for (let i = 0; i < 20; i++) {
      const y = box.y + box.height * 0.4;
      const place = () => box.x + box.width * (0.08 + 0.85 * random());
      const [from, to] = [place(), place()];
      // No range lies under the pointer, whose edge it would take.
      await page.keyboard.press("Escape");
      await page.mouse.move(from, y);
      await page.mouse.down();
      const held = { type: "mouseMoved", y, button: "left", buttons: 1 };
      await at60Hz(page, 250, (t) => ({ ...held, x: from + (to - from) * t }));
      await page.evaluate(() => Object.assign(globalThis.seen, { before: globalThis.seen.exactPictures, released: 0 }));
      const drawn = name === "flame" ? "seen.exactPictures > seen.before" : "true";
      const done = page.evaluate(
        `seen.until(() => seen.released > 0 && ${drawn} && (${exactNow})()).then((at) => at - seen.released)`,
      );
      await page.mouse.up();
      add(`release ${name}`, await done);
    }
  }
}

/** Panning and zooming over as many nodes as the recording has, and search among them. */
async function measureFlame(page) {
  await page.route("**/tree?*", (route) => {
    const url = new URL(route.request().url());
    url.searchParams.set("nodes", "100000");
    url.searchParams.set("threshold", "0");
    void route.continue({ url: String(url) });
  });
  let nodes = 0;
  page.on("response", async (response) => {
    if (/\/tree\?/.test(response.url())) {
      const text = await response.text().catch(() => "");
      nodes = Number(/"nodes":\{"rows":(\d+)/.exec(text)?.[1] ?? nodes);
    }
  });
  await turnToFlame(page, "metric=bytes&up&unfolded");
  await pause(500);
  notes.push(`a call tree of ${nodes.toLocaleString("en")} nodes`);
  const box = await page.locator(".flame-picture").boundingBox();
  const [x, y] = [box.x + box.width * 0.45, box.y + 200];
  await page.mouse.move(x, y);
  const wheel = (deltaX, deltaY) => ({ type: "mouseWheel", x, y, deltaX, deltaY });
  const zoom = await traced(page, () =>
    at60Hz(page, 3000, (t) => (t < 0.4 ? wheel(0, -25) : t < 0.6 ? wheel(20, 0) : wheel(0, 25))));
  await page.mouse.down();
  const pan = await traced(page, () =>
    at60Hz(page, 1500, (t) => (
      { type: "mouseMoved", x: x + 300 * Math.sin(9 * t), y: y - 150 * t, button: "left", buttons: 1 })));
  await page.mouse.up();
  add("flame script", ...zoom.script, ...pan.script);
  const times = await page.evaluate(async () => {
    const field = document.querySelector(".flame-bar input[type=search]");
    const list = [];
    // All that is due before the next frame is done when a message comes that was sent after it.
    const { port1, port2 } = new MessageChannel();
    const texts = ["a", "alloc", "^_?[a-m].*[0-9]", "e.*t$", "py", "[A-Z][a-z]+_", "new|del", "i", "x.z", "list"];
    for (const text of texts) {
      field.value = text;
      const came = new Promise((done) => (port2.onmessage = () => done(performance.now())));
      const began = performance.now();
      field.dispatchEvent(new Event("input", { bubbles: true }));
      port1.postMessage(0);
      list.push((await came) - began);
      await new Promise((done) => setTimeout(done, 60));
    }
    return list;
  });
  add("search", ...times);
  await page.unroute("**/tree?*");
}

/** A table of all call stacks, once they are here: sorting by each column, and scrolling. */
async function measureTable(page) {
  await turnTo(page, "page=table&by=stack&metric=bytes&metric=allocations&metric=peak&unfolded");
  await page.evaluate(`seen.until(${exactNow})`);
  const here = () => page.evaluate(() => Math.round(document.querySelector(".grid-body").clientHeight / 24));
  await page.locator(".grid").focus();
  let rows = 0;
  for (let tries = 0; tries < 40; tries++) {
    await page.keyboard.press("End");
    await pause(250);
    const more = Number(await page.locator(".grid").getAttribute("aria-rowcount")) - 1;
    rows = await here();
    if (rows >= more) break;
  }
  notes.push(`a table of ${rows.toLocaleString("en")} rows`);
  await page.keyboard.press("Home");
  await pause(1000); // names are sorted ahead
  const times = await page.evaluate(async () => {
    const list = [];
    const { port1, port2 } = new MessageChannel();
    const count = document.querySelectorAll(".grid-head button").length;
    for (let i = 0; i < 3 * count; i++) {
      const button = document.querySelectorAll(".grid-head button")[i % count];
      const came = new Promise((done) => (port2.onmessage = () => done(performance.now())));
      const began = performance.now();
      button.click();
      port1.postMessage(0);
      list.push((await came) - began);
      await new Promise((done) => setTimeout(done, 100));
    }
    return list;
  });
  add("sort", ...times);
  const box = await page.locator(".grid").boundingBox();
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  await page.mouse.move(x, y);
  const scrolled = await traced(page, () =>
    at60Hz(page, 3000, (t) => ({ type: "mouseWheel", x, y, deltaX: 0, deltaY: t < 0.6 ? 120 : -400 })));
  add("scroll frames", Math.round(scrolled.perSecond));
  add("scroll script", ...scrolled.script);
}

/** The bytes that the tab's heaps hold, and what lies beside them, after a collection of garbage: page and workers. */
async function heap(page) {
  const cdp = await page.context().newCDPSession(page);
  const use = async (send) => {
    await send("HeapProfiler.collectGarbage");
    await send("HeapProfiler.collectGarbage");
    const { usedSize, embedderHeapUsedSize = 0, backingStorageSize = 0 } = await send("Runtime.getHeapUsage");
    return usedSize + embedderHeapUsedSize + backingStorageSize;
  };
  let bytes = await use((method) => cdp.send(method));
  const sessions = [];
  cdp.on("Target.attachedToTarget", ({ sessionId }) => sessions.push(sessionId));
  await cdp.send("Target.setAutoAttach", { autoAttach: true, waitForDebuggerOnStart: false, flatten: false });
  await pause(100);
  for (const sessionId of sessions) {
    let id = 0;
    bytes += await use((method) => {
      const mine = ++id;
      const answered = new Promise((done) => {
        const listen = ({ sessionId: of, message }) => {
          const answer = JSON.parse(message);
          if (of !== sessionId || answer.id !== mine) return;
          cdp.off("Target.receivedMessageFromTarget", listen);
          done(answer.result ?? {});
        };
        cdp.on("Target.receivedMessageFromTarget", listen);
      });
      void cdp.send("Target.sendMessageToTarget", { sessionId, message: JSON.stringify({ id: mine, method }) });
      return answered;
    });
  }
  await cdp.detach();
  return { bytes, heaps: 1 + sessions.length };
}

async function measureMemory(page) {
  const random = randomly(2);
  const below = (n) => Math.floor(n * random());
  const timeline = await timelineBox(page);
  const inTimeline = () => [timeline.x + 60 + below(timeline.width - 80), timeline.y + 30 + below(80)];
  const inMain = () => [220 + below(860), 260 + below(560)];
  const actions = {
    page: () => page.keyboard.press(`${1 + below(6)}`),
    drag: async () => {
      await page.mouse.move(...inTimeline());
      await page.mouse.down();
      await page.mouse.move(...inTimeline(), { steps: 6 });
      await page.mouse.up();
    },
    zoomTimeline: async () => {
      await page.mouse.move(...inTimeline());
      for (let i = 0; i < 5; i++) await page.mouse.wheel(0, random() < 0.6 ? -120 : 120);
    },
    zoom: async () => {
      await page.mouse.move(...inMain());
      for (let i = 0; i < 5; i++) await page.mouse.wheel(0, random() < 0.6 ? -120 : 120);
    },
    click: () => page.mouse.click(...inMain()),
    double: () => page.mouse.dblclick(...inMain()),
    search: async () => {
      await page.keyboard.press("/");
      await page.keyboard.type("alocpyst"[below(8)]);
      await page.keyboard.press("Enter");
      await page.evaluate(() => document.activeElement?.blur());
    },
    back: () => page.evaluate(() => history.back()),
    forward: () => page.evaluate(() => history.forward()),
    escape: () => page.keyboard.press("Escape"),
  };
  const names = ["page", "page", "drag", "drag", "zoomTimeline", "zoom", "click", "click", "double", "search", "back",
    "forward", "escape"];
  const used = [];
  for (let i = 0; i < 200; i++) {
    await actions[names[below(names.length)]]();
    await pause(60);
    // A click may have followed a link to the list of recordings.
    if (!(await page.evaluate(() => new URLSearchParams(location.search).has("recording")))) await page.goBack();
    if (i % 100 !== 99) continue;
    await turnTo(page, "page=flame"); // where both measurements see the same
    await pause(1500);
    used.push((await heap(page)).bytes / 1e6);
  }
  add("heap", used[1]);
  add("heap growth", used[1] - used[0]);
}

/** A browser gives a hidden tab no frames. Here it would: so that the app must not ask for any. */
async function measureHidden(page) {
  await turnToFlame(page, "");
  const [frames, requests] = await page.evaluate(async () => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => true });
    Object.defineProperty(document, "visibilityState", { configurable: true, get: () => "hidden" });
    document.dispatchEvent(new Event("visibilitychange"));
    const { seen } = globalThis;
    const { asked, framesAsked } = seen;
    await new Promise((done) => setTimeout(done, 1500));
    const frames = seen.framesAsked - framesAsked;
    history.pushState(null, "", `${location.search}&from=10%25&to=60%25`); // of which nothing is asked now
    dispatchEvent(new PopStateEvent("popstate"));
    await new Promise((done) => setTimeout(done, 1000));
    return [frames, seen.asked - asked];
  });
  add("hidden requests", requests);
  add("hidden frames", frames);
}

/** The keys of pages, in the order of the menu. Source and Heap need more than each recording has. */
const pages = {
  overview: "1", flame: "2", table: "3", tree: "4", leaks: "5", generations: "7", timeline: "8", sizes: "9",
  threads: "0", blocks: "b", events: "e", more: "g",
};

/** Has numbers, or a picture of them: what is a heading, a choice or a sign of waiting does not count. */
const hasNumbers = () => {
  const main = document.querySelector("main");
  if (!main) return false;
  const aside = "button, label, select, nav, h2, [role=status], .timeline";
  if ([...main.querySelectorAll("canvas")].some((canvas) => !canvas.closest(".timeline"))) return true;
  const texts = document.createTreeWalker(main, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const { data, parentElement } = texts.currentNode;
    if (/\d/.test(data) && !parentElement.closest(aside)) return true;
  }
  return false;
};

const idle = (page) => page.waitForFunction(
  () => !document.querySelector("main [aria-busy=true], main .skeleton, .bottom .how.busy"),
  undefined,
  { timeout: 600_000 },
);

/** From the key of a page to its first numbers. */
async function visit(page, name) {
  await page.evaluate(() => document.activeElement?.blur());
  await page.evaluate(`void (seen.visit = new Promise((done) => addEventListener("keydown", () => {
    const pressed = performance.now();
    const there = () => new URLSearchParams(location.search).get("page") ?? "overview";
    seen.until(() => there() === "${name}" && (${hasNumbers})()).then((at) => done(at - pressed));
  }, { capture: true, once: true })))`);
  await page.keyboard.press(pages[name]);
  return page.evaluate("seen.visit");
}

/** Pages that nobody has asked for; their code is there, as it is some moments after the app was opened. */
async function measureNewPages(page) {
  for (const name of Object.keys(pages)) {
    if (name === "overview") continue; // where the app opens
    add(`page new ${name}`, await visit(page, name));
    await pause(300);
  }
}

/** Pages that were there before, once their exact answers have come. */
async function measureKnownPages(page) {
  for (let round = 0; round < 6; round++) {
    for (const name of Object.keys(pages)) {
      const ms = await visit(page, name);
      if (round > 0) add(`page known ${name}`, ms);
      await idle(page);
      await pause(300);
    }
  }
}

const thrice = { measureNewPages };
const parts = {
  measureKnownPages, measureDrag, measureReleases, measureFlame, measureTable, measureMemory, measureHidden,
};
try {
  if ("measureOpening".includes(part)) await measureOpening();
  const all = [thrice, thrice, thrice, parts].flatMap((some) => Object.entries(some));
  for (const [name, measure] of all) {
    if (!name.includes(part)) continue;
    const { address, stop } = await serve();
    const page = await newPage();
    await page.goto(address);
    await page.evaluate(`seen.until(${withNumbers.overview})`);
    await pause(2500); // the other pages are loaded, and all is asked
    await measure(page);
    await page.context().close();
    await stop();
  }
} finally {
  await browser.close();
}
process.stdout.write(`${JSON.stringify({ what: notes.join(", "), values })}\n`);
