// The page's content security policy allows one Trusted Types policy, named heaptap. Created at the start, it leaves no
// name for another script to create one with.

/** The addresses of the scripts that may run as workers. */
const workers: readonly string[] = [];

/** What this needs of `window.trustedTypes`, which only some browsers have. */
export interface Factory {
  createPolicy(name: string, rules: { createScriptURL(url: string): string }): unknown;
}

/** Creates the policy. It passes the addresses of workers and nothing else: no HTML, no script text. */
export function claimPolicy(factory: Factory | undefined, allowed: readonly string[] = workers): void {
  factory?.createPolicy("heaptap", {
    createScriptURL(url) {
      if (!allowed.includes(url)) throw new TypeError(`not a worker of heaptap: ${url}`);
      return url;
    },
  });
}
