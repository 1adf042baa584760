// A server and a browser for tests of src/net.
import type { Browser, Channel } from "../src/net/session.ts";

export interface Call {
  url: string;
  init: RequestInit;
}

/** A fetch that notes its calls and answers with what a function returns. It rejects when it is aborted. */
export function fakeFetch(answer: (call: Call) => Response | Promise<Response>) {
  const calls: Call[] = [];
  const doFetch = (input: RequestInfo | URL, init: RequestInit = {}) => {
    const call = { url: String(input), init };
    calls.push(call);
    return new Promise<Response>((resolve, reject) => {
      const abort = () => reject(new DOMException("aborted", "AbortError"));
      if (init.signal?.aborted) return abort();
      init.signal?.addEventListener("abort", abort);
      Promise.resolve(answer(call)).then(resolve, reject);
    });
  };
  return { fetch: doFetch, calls };
}

export function json(body: unknown, status = 200): Response {
  return new Response(JSON.stringify(body), { status, headers: { "Content-Type": "application/json" } });
}

/** A streamed answer that consists of these chunks. */
export function stream(...chunks: string[]): Response {
  return new Response(chunked(...chunks.map((c) => new TextEncoder().encode(c))), {
    headers: { "Content-Type": "application/x-ndjson" },
  });
}

export function chunked(...chunks: Uint8Array[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
}

/** Channels that reach each other at once, as those of tabs do a little later. */
export function fakeChannels(): () => Channel {
  const all: Channel[] = [];
  return () => {
    const channel: Channel = {
      onmessage: null,
      postMessage(data) {
        for (const other of all) if (other !== channel) other.onmessage?.(new MessageEvent("message", { data }));
      },
    };
    all.push(channel);
    return channel;
  };
}

export function fakeBrowser(parts: Partial<Browser> & { fragment?: () => string }): Browser & { dropped: number } {
  const kept = new Map<string, string>();
  const browser = {
    dropped: 0,
    fetch: () => Promise.reject(new TypeError("fetch failed")),
    storage: {
      getItem: (key: string) => kept.get(key) ?? null,
      setItem: (key: string, value: string) => void kept.set(key, value),
      removeItem: (key: string) => void kept.delete(key),
    },
    channel: undefined,
    fragment: () => "",
    dropFragment: () => void browser.dropped++,
    after: () => Promise.resolve(),
    ...parts,
  };
  return browser;
}
