// The session: who this tab is to the server. A one-time code, which `heaptap open` puts into the fragment of the
// address, is exchanged for a token; every request carries the token. Tabs of one browser give it to each other.
import { signal, type ReadonlySignal } from "@preact/signals";
import { Fault, faultOf, unreachable } from "./fault.ts";
import { faultOfError, isRecord } from "./stream.ts";

export type SessionState =
  | { phase: "starting" }
  | { phase: "open"; token: string }
  | { phase: "closed"; fault: Fault | undefined }; // the reader must give a code; fault: why the last one failed

/** What the session needs of the browser; tests have their own. */
export interface Browser {
  fetch: typeof fetch;
  /** Where the token outlives a reload; undefined if the browser refuses it. */
  storage: Pick<Storage, "getItem" | "setItem" | "removeItem"> | undefined;
  /** Connects the tabs of this origin. */
  channel: Channel | undefined;
  /** The fragment of the address, with its #. */
  fragment: () => string;
  /** Removes the fragment from the address and from the history. */
  dropFragment: () => void;
  after: (ms: number) => Promise<void>;
}

export interface Channel {
  postMessage(message: unknown): void;
  onmessage: ((event: MessageEvent<unknown>) => void) | null;
}

const tokenKey = "heaptap.token";
/** How long a new tab waits for its siblings before it asks for a code. A later answer still counts. */
const siblingsMs = 200;

export class Session {
  readonly #state = signal<SessionState>({ phase: "starting" });
  readonly #browser: Browser;
  /** Tokens that the server has refused: a sibling that does not know yet may offer one again. */
  readonly #refused = new Set<string>();

  constructor(browser: Browser) {
    this.#browser = browser;
    if (browser.channel) browser.channel.onmessage = (event) => this.#hear(event.data);
  }

  get state(): ReadonlySignal<SessionState> {
    return this.#state;
  }

  /** The token; undefined while the session is not open. */
  get token(): string | undefined {
    const state = this.#state.peek();
    return state.phase === "open" ? state.token : undefined;
  }

  /** Opens the session: with the code of the address, the token of this tab, or that of a sibling. */
  async start(): Promise<void> {
    const code = codeIn(this.#browser.fragment());
    if (code) {
      this.#browser.dropFragment();
      return this.redeem(code);
    }
    const kept = this.#browser.storage?.getItem(tokenKey);
    if (kept) return this.#open(kept);
    await this.#askSiblings();
  }

  /** Exchanges a code for a token. */
  async redeem(code: string): Promise<void> {
    const where = "POST /auth";
    try {
      const request = this.#browser.fetch("/auth", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ code: code.trim() }),
        cache: "no-store",
      });
      const response = await request.catch((thrown: unknown) => unreachable(thrown, where));
      const body: unknown = await response.json().catch(() => undefined);
      if (!response.ok) throw faultOfError(body, where, response.status);
      const token = isRecord(body) ? body["token"] : undefined;
      if (typeof token !== "string" || token === "") throw new Fault("broken", "the server sent no token", where);
      this.#open(token);
      this.#browser.channel?.postMessage({ token });
    } catch (thrown) {
      this.#state.value = { phase: "closed", fault: faultOf(thrown, where) };
    }
  }

  /** The server has refused the token: asks the siblings for a newer one, and else for a code. */
  async drop(token: string): Promise<void> {
    this.#refused.add(token);
    if (this.token !== token) return; // there is a newer one already
    this.#browser.storage?.removeItem(tokenKey);
    this.#state.value = { phase: "starting" };
    await this.#askSiblings();
  }

  async #askSiblings(): Promise<void> {
    if (this.#browser.channel) {
      this.#browser.channel.postMessage({ ask: true });
      await this.#browser.after(siblingsMs);
    }
    if (this.#state.peek().phase === "starting") this.#state.value = { phase: "closed", fault: undefined };
  }

  #hear(message: unknown): void {
    if (!isRecord(message)) return;
    const offered = message["token"];
    const mine = this.token;
    if (message["ask"] === true && mine !== undefined) this.#browser.channel?.postMessage({ token: mine });
    if (typeof offered === "string" && offered !== "" && mine === undefined && !this.#refused.has(offered)) {
      this.#open(offered);
    }
  }

  #open(token: string): void {
    this.#browser.storage?.setItem(tokenKey, token);
    this.#state.value = { phase: "open", token };
  }
}

/** The code in a fragment such as #code=K3VX-9Q2M; empty if there is none. */
export function codeIn(fragment: string): string {
  return new URLSearchParams(fragment.replace(/^#/, "")).get("code") ?? "";
}

/** The browser that the page runs in. */
export function realBrowser(): Browser {
  return {
    fetch: (input, init) => fetch(input, init),
    storage: storageOf(window),
    channel: "BroadcastChannel" in window ? new BroadcastChannel("heaptap") : undefined,
    fragment: () => location.hash,
    dropFragment: () => history.replaceState(history.state, "", location.pathname + location.search),
    after: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  };
}

function storageOf(w: Window): Storage | undefined {
  try {
    return w.sessionStorage; // throws where the browser keeps nothing
  } catch {
    return undefined;
  }
}
