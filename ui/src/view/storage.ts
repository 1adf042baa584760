/** Where choices outlive the page; undefined if the browser refuses it. */
export function storage(): Storage | undefined {
  try {
    return localStorage;
  } catch {
    return undefined;
  }
}
