// The page's content security policy allows one Trusted Types policy, named heaptap. Created at the start, it leaves no
// name for another script to create one with.

/** The addresses of the scripts that may run as workers. */
const workers = ["/flame-worker.js"] as const;

/** What this needs of `window.trustedTypes`, which only some browsers have. */
export interface Factory {
  createPolicy(name: string, rules: { createScriptURL(url: string): string }): unknown;
}

interface Policy {
  createScriptURL(url: string): unknown;
}

let policy: Policy | undefined;

/** Creates the policy. It passes the addresses of workers and nothing else: no HTML, no script text. */
export function claimPolicy(factory: Factory | undefined, allowed: readonly string[] = workers): void {
  policy = factory?.createPolicy("heaptap", {
    createScriptURL(url) {
      if (!allowed.includes(url)) throw new TypeError(`not a worker of heaptap: ${url}`);
      return url;
    },
  }) as Policy | undefined;
}

/** Starts a worker. */
export function startWorker(url: (typeof workers)[number]): Worker {
  return new Worker((policy ? policy.createScriptURL(url) : url) as string, { type: "module" });
}
