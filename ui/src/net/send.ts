// Files that the reader drops on the page: they become recordings of the session.
import type { Progress, Received } from "../api.ts";
import { decode } from "../columns.ts";
import { Fault } from "./fault.ts";
import type { Client } from "./lanes.ts";

/** As package api bounds them: a larger one is refused before it is sent. */
export const mostBytes = 256 << 20;

/** Sends a file; returns the id of its recording. */
export async function sendFile(
  client: Client,
  file: File,
  signal: AbortSignal,
  onProgress: (progress: Progress) => void,
): Promise<string> {
  if (file.size > mostBytes) {
    const limit = `files that are dropped here are limited to ${mostBytes >> 20} MiB`;
    throw new Fault("refused", limit, file.name, "Open it with heaptap open FILE.");
  }
  const path = `files?name=${encodeURIComponent(file.name.slice(0, 200).replace(/[\ud800-\udfff]/gu, "_"))}`;
  const { matters, recordings } = decode<Received>(
    await client.ask(path, "background/files", signal, onProgress, file),
  ).answer;
  const id = matters || recordings[0];
  if (id === undefined || id === "") throw new Fault("broken", "the file has no recordings", file.name);
  return id;
}
