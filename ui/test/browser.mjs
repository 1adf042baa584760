// Drives the app through Chromium, with a server that answers as the real one does, and, where the test asks, late,
// wrongly or not at all.
//
//   node test/browser.mjs CHROMIUM [FOLDER [PART]]
//
// Pictures of what it looked at go into the folder, if there is one. With PART, only tests run whose names contain it.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { columns } from "./encode.mjs";
import { camera, newTab, tabs, themes } from "./tab.mjs";

const [executablePath, pictures = "", part = ""] = process.argv.slice(2);
const dist = join(dirname(fileURLToPath(import.meta.url)), "..", "dist");

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; " +
  "worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
  "require-trusted-types-for 'script'; trusted-types heaptap";
const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" };

const hostile = [
  `<img src=x onerror="document.title='broken in'">`,
  `"'><script>document.title='broken in'</script>`,
  "\u202egnp.exe\u202c \u2066isolated\u2069 שלום",
  `std::vector<${"std::pair<int, long>, ".repeat(500)}>::push_back`,
  "line\nbreak\tand \u0000 zero",
];

const s = 1e9;
const program = (pid, parent, name, more = {}) => ({
  pid, parent, name, label: "", exe: `/usr/bin/${name}`, executed: false, running: false, exit_known: true,
  exit_code: 0, signal: 0, started_ns: 0, ended_ns: 20 * s, peak_live_bytes: 23_419_863,
  peak_resident_bytes: 55_828_480, lost_events: 0, ...more,
});
const programs = [
  program(10, -1, "make", { label: "all" }),
  program(11, 0, hostile[0], { peak_resident_bytes: 400_000_000 }),
  program(12, 0, "cc1plus", { signal: 11, exit_code: 139, lost_events: 7 }),
  program(12, 2, hostile[2], { running: true, peak_resident_bytes: 0 }),
];
const session = {
  version: "1", read_only: false, no_source: false,
  runs: [{
    run: "/rec/make.10.htap", command: ["make", "all"], folder: "/src", started_ns: 1.7e18, damage: "",
    matters: "b", why: "the largest resident set", programs, recordings: ["a", "b", "c", "d"].map((id) => ({ id })),
  }],
  unreadable: [{ argument: "/rec/cut.htap", what: "/rec/cut.htap: it begins too late", do: "repair it" }],
};
const lacks = [{ what: "addresses of blocks", why: "they were not recorded", flag: "--addresses" }];
const steps = Array.from({ length: 401 }, (_, i) => i);
const liveAt = (i) => Math.abs(2e7 * Math.min(1, i / 200) + 3e6 * Math.sin(i / 9));
const answers = {
  about: { events: 5_000_000, stacks: 1234, sampled: false, merged: false, lacks },
  report: {
    recording: { damage: [], complete: true }, lost_events: 0, truncated_stacks: 0,
    totals: { events: 5_000_000, bytes: 290_724_625, allocations: 2_553_959 }, temporary: { allocations: 260_125 },
    peak: { bytes: 23_419_863, blocks: 233_410, time_ns: 19.66 * s }, leaked: { bytes: 327_699, blocks: 2830 },
    resident: { peak: { resident_bytes: 55_828_480, time_ns: 19.7 * s } }, samples: {},
  },
  top: {
    rows: hostile.map((name, i) => ({
      group: {
        unknown: false, function: name, file: `/src/${hostile[(i + 1) % 5]}.cc`, line: 88, module: "/usr/bin/x",
        offset: "",
      },
      self: { peak: 4_000_000 >> i, bytes: 9e6, allocations: 9000, temporary: 5 },
      total: { peak: 5_000_000 >> i },
    })),
    total: { peak: 23_419_863 },
    more: 7,
  },
  insights: {
    insights: [{
      rule: "growth", name: hostile[0], file: `/src/${hostile[1]}.cc`, line: 7, module: "/usr/bin/x", saves: 4e6,
      unit: "bytes", measured: true, confidence: 0.9,
      says: [{ part: " keeps growing: ", value: 0, unit: "" }, { part: "", value: 4e5, unit: "bytes/s" }],
      how: [{ part: `measured ${hostile[2]}`, value: 0, unit: "" }],
      show: { page: "flame", metric: "live", from: "1s", to: "9s", focus: "x" },
    }],
  },
  rise: {
    range: { begin_ns: 0, span_ns: 19.66 * s }, begin_bytes: 0, end_bytes: 23_419_863,
    rows: hostile.slice(0, 2).map((name, i) => (
      { function: name, file: `/src/${hostile[4]}`, line: 88, module: "", bytes: 9_000_000 >> i, blocks: 3 }
    )),
    others: { groups: 41, grown_bytes: 9_919_863, shrunk_bytes: 0 },
  },
  memory: {
    time_ns: 19 * s, resident_bytes: 55_000_000,
    parts: [["live", 23e6], ["slack", 2e6], ["mapped", 20e6], ["files", 9e6], ["rest", 1e6]].map(([kind, bytes]) => (
      { kind, resident_bytes: bytes, size_bytes: bytes }
    )),
    mappings: [],
    files: [{ file: `/lib/${hostile[2]}.so`, resident_bytes: 5e6, size_bytes: 5e6 }],
    frames: [],
  },
  process: {
    times_ns: steps.map((i) => i * s * 0.05),
    live_bytes: steps.map(liveAt),
    most_live_bytes: steps.map(liveAt),
    fewest_live_bytes: steps.map((i) => liveAt(i) * 0.9),
    bytes: steps.map(() => 1e6),
    exact: steps.map(() => true),
    resident_bytes: steps.slice(1).map((i) => 2e7 + 1e5 * i),
    mapped_bytes: [],
    marks: [{ mark: "loaded", name: "loaded", time_ns: 8 * s }],
    regions: [{ region: hostile[2], depth: 0, begin_ns: 2 * s, end_ns: 7 * s }],
  },
};

// What the server does with requests whose path contains a text: a function of the response, instead of the answer.
const special = new Map();
let token = "token-1";
const requests = [];

const server = createServer((request, response) => {
  const { pathname } = new URL(request.url, "http://x");
  response.setHeader("Content-Security-Policy", policy);
  response.setHeader("X-Content-Type-Options", "nosniff");
  response.setHeader("Cache-Control", "no-store");
  const json = (status, body) =>
    response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));
  if (pathname === "/auth") {
    let body = "";
    request.on("data", (part) => (body += part));
    request.on("end", () => {
      const right = JSON.parse(body).code === "GOOD";
      if (right) json(200, { token });
      else json(403, { error: "the code is wrong or has expired; press Enter for another" });
    });
    return;
  }
  if (!pathname.startsWith("/api/")) {
    const name = pathname === "/" ? "/index.html" : pathname;
    readFile(join(dist, name)).then(
      (content) => response.writeHead(200, { "Content-Type": types[extname(name)] ?? "text/plain" }).end(content),
      () => response.writeHead(404).end(),
    );
    return;
  }
  requests.push(request.url);
  if (request.headers.authorization !== `Bearer ${token}`) return json(401, { error: "the token is wrong" });
  for (const [part, act] of special) if (request.url.includes(part)) return act(response, json, request);
  const [, question] = /\/r\/\w+\/(\w+)/.exec(pathname) ?? [];
  json(200, columns(question ? answers[question] : session));
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const origin = `http://127.0.0.1:${server.address().port}`;

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const faults = []; // violations of the policy, and errors in scripts
const tab = tabs(browser, faults, (context) =>
  context.addInitScript(() => {
    globalThis.shifts = []; // content that moved, and that the reader did not move
    const said = ({ node, previousRect: { x, y }, currentRect: to }) =>
      `${node?.className ?? node?.nodeName}: ${x},${y} to ${to.x},${to.y}`;
    new PerformanceObserver((list) => {
      const moved = list.getEntries().filter(({ hadRecentInput }) => !hadRecentInput);
      globalThis.shifts.push(...moved.flatMap(({ sources }) => sources.map(said)));
    }).observe({ type: "layout-shift", buffered: true });
  }),
);
const picture = camera(pictures);

/** Waits for a text; if it does not come, says what the page shows instead. */
async function has(page, text) {
  try {
    await page.getByText(text, { exact: false }).first().waitFor();
  } catch {
    throw new Error(`the page does not show "${text}" but:\n${await page.locator("body").innerText()}`);
  }
}
/** A text that the first answer has and its skeleton has not. */
const answered = "What this recording cannot answer";

const tests = {
  // The first test: the tab has no token yet.
  async "a page without a token says how to get a code, and takes one"() {
    const page = await tab();
    await page.goto(origin);
    await has(page, "This tab needs a code");
    assert.equal(requests.length, 0);
    await page.getByLabel("Code or address").fill("BAD");
    await page.keyboard.press("Enter");
    await has(page, "the code is wrong or has expired");
    await page.getByLabel("Code or address").fill(`${origin}/#code=GOOD`);
    await page.keyboard.press("Enter");
    await has(page, "Recordings");
  },

  async "the code leaves the address, and a new tab asks its sibling"() {
    const page = await open("/");
    await has(page, "make all");
    assert.equal(page.url(), `${origin}/`);
    const other = await newTab(page.context(), faults);
    await other.goto(`${origin}/?recording=b`);
    await has(other, answered);
    await other.close();
  },

  async "choosing, back and forward, by mouse and by keyboard"() {
    const page = await open("/");
    await page.getByRole("link", { name: "cc1plus" }).click();
    await has(page, answered);
    assert.equal(page.url(), `${origin}/?recording=c`);
    await has(page, "killed by SIGSEGV");
    await page.goBack();
    await has(page, "Begin with");
    await page.goForward();
    await has(page, answered);
    await page.goBack();
    await has(page, "Begin with");
    await page.getByRole("link", { name: "make all" }).focus();
    await page.keyboard.press("Enter");
    await has(page, answered);
    await page.locator(".picture").focus();
    await page.keyboard.press("End");
    await has(page, "after 20.00 s");
    await page.keyboard.press("ArrowLeft");
    await has(page, "after 19.95 s");
  },

  async "names from anyone are text"() {
    const page = await open("/?recording=b");
    await has(page, answered);
    const main = page.locator("main");
    for (const text of [hostile[0], "\\u202egnp.exe\\u202c"]) await main.getByText(text).first().waitFor();
    const text = await main.innerText();
    assert.ok(!/[\u202a-\u202e\u2066-\u2069\u0000]/.test(text), "a mark of direction acts");
    assert.ok(text.length < 3000, `${text.length} characters`);
    assert.equal(await page.locator("main img, main script").count(), 0);
    assert.doesNotMatch(await page.title(), /^broken in/);
  },

  async "pictures: nothing is wider than the page, in three widths and two themes"() {
    for (const [name, path, text] of [
      ["runs", "/", "Begin with"],
      ["answer", "/?recording=b", answered],
    ]) {
      const page = await open(path);
      await has(page, text);
      for (const colorScheme of themes(pictures)) {
        await page.emulateMedia({ colorScheme });
        for (const width of [360, 900, 1440]) {
          await page.setViewportSize({ width, height: 900 });
          const wide = await page.evaluate(() => document.documentElement.scrollWidth);
          assert.ok(wide <= width, `${name} is ${wide} wide in a window of ${width}`);
          await picture(page, `${name}-${colorScheme}-${width}`);
        }
      }
    }
  },

  async "a slow answer shows progress and can be cancelled; nothing moves"() {
    let answer = () => {};
    let closed = false;
    special.set("/r/b/report", (response) => {
      response.writeHead(200, { "Content-Type": "application/x-ndjson" });
      response.write('{"progress":{"share":0.25,"doing":"reading events"}}\n');
      response.on("close", () => (closed = true));
      answer = () => response.end(`${JSON.stringify(columns(answers.report))}\n`);
    });
    const page = await open("/?recording=b");
    await has(page, "reading events · 25.0 %");
    await picture(page, "progress");
    await page.getByRole("button", { name: "Cancel" }).click();
    await has(page, "Cancelled.");
    await until(() => closed, "the server notices");
    await page.getByRole("button", { name: "Ask again" }).click();
    await has(page, "reading events · 25.0 %");
    answer();
    await has(page, answered);
    const shifts = await page.evaluate(() => globalThis.shifts);
    assert.deepEqual(shifts, [], "content moved");
    special.clear();
  },

  async "a late answer for another recording is dropped"() {
    let late = () => {};
    special.set("/r/a/about", (_, json) => (late = () => json(200, columns(answers.about))));
    const page = await open("/?recording=a");
    await until(() => requests.some((url) => url.includes("/r/a/about")), "the first request");
    await page.getByRole("link", { name: "4 recordings" }).click();
    await page.getByRole("link", { name: "cc1plus" }).click();
    await has(page, answered);
    late();
    await has(page, "killed by SIGSEGV");
    special.clear();
  },

  async "errors say what, where and what to do, and can be tried again"() {
    const error = { error: "folded", what: "these events were folded", where: "from", do: "ask from 5 s on" };
    special.set("/r/b/report", (_, json) => json(409, error));
    const page = await open("/?recording=b");
    const texts = ["these events were folded", "ask from 5 s on", "asked for: report, with from"];
    for (const text of texts) await has(page, text);
    await picture(page, "error");
    await page.setViewportSize({ width: 360, height: 900 });
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 360);
    special.set("/r/b/report", (response) => {
      response.writeHead(200, { "Content-Type": "application/x-ndjson" });
      response.end('{"progress":{"share":null,"doing":"counting"}}\n');
    });
    await page.getByRole("button", { name: "Try again" }).click();
    await has(page, "the answer ended before it was complete");
    special.clear();
    await page.getByRole("button", { name: "Try again" }).click();
    await has(page, answered);
  },

  async "what a recording does not have is said in its place"() {
    const error = { error: "merged", what: "the recording has sums", where: "", do: "ask for the whole" };
    special.set("/r/b/top", (_, json) => json(409, error));
    special.set("/r/b/process", (_, json) => json(409, error));
    const page = await open("/?recording=b");
    await has(page, answered);
    const places = page.getByText("the recording has sums");
    await places.nth(1).waitFor();
    assert.equal(await places.count(), 2);
    special.clear();
  },

  async "a revoked token leads back to the code"() {
    const page = await open("/");
    await has(page, "Begin with");
    token = "token-2";
    await page.getByRole("link", { name: "cc1plus" }).click();
    await has(page, "This tab needs a code");
    await page.getByLabel("Code or address").fill("GOOD");
    await page.keyboard.press("Enter");
    await has(page, answered);
    assert.equal(page.url(), `${origin}/?recording=c`);
  },

  async "what cannot be read is shown beside the recordings"() {
    const [run] = session.runs;
    const runs = [{ ...run, programs: programs.slice(0, 1), recordings: [{ id: "a" }] }];
    special.set("/session", (_, json) => json(200, columns({ ...session, runs })));
    const page = await open("/"); // which does not lead to the only recording that can be read
    await has(page, "it begins too late. What to do: repair it.");
    await has(page, "/rec/cut.htap");
    await page.getByRole("link", { name: "make" }).click();
    await has(page, answered);
    special.clear();
  },

  async "a session without recordings says what to do"() {
    special.set("/session", (_, json) => json(200, columns({ ...session, runs: [], unreadable: [] })));
    const page = await open("/");
    await has(page, "heaptap run ./program");
    special.clear();
    await page.close();
  },
};

/** Opens a page with a code. */
async function open(path) {
  const page = await tab();
  requests.length = 0;
  await page.goto(`${origin}${path}#code=GOOD`);
  return page;
}

async function until(condition, what) {
  for (let i = 0; i < 600; i++) {
    if (condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`waited too long: ${what}`);
}

let failed = 0;
for (const [name, run] of Object.entries(tests)) {
  if (!name.includes(part)) continue;
  try {
    await run();
    console.log(`ok: ${name}`);
  } catch (error) {
    failed++;
    console.log(`FAILED: ${name}\n${error.stack}`);
  }
}
if (faults.length > 0) console.log(`FAILED: faults in the page:\n${faults.join("\n")}`);
await browser.close();
server.closeAllConnections();
server.close();
process.exitCode = failed > 0 || faults.length > 0 ? 1 : 0;
