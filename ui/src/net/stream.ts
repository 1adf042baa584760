// Answers that take long come as JSON lines: {"progress":{...}} now and then; the last line is the answer or an error.
import type { Progress } from "../api.ts";
import { Fault, isAbort } from "./fault.ts";

/** Yields the lines of a body without their ends; the last one may lack it. If reading fails, broken must throw. */
export async function* lines(
  body: ReadableStream<Uint8Array>,
  broken: (thrown: unknown) => never,
): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const parts: string[] = []; // of a line that is not complete yet
  try {
    for (;;) {
      const { done, value } = await reader.read().catch(broken);
      const text = decoder.decode(value, { stream: !done });
      let begin = 0;
      for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", begin)) {
        parts.push(text.slice(begin, end));
        yield parts.join("");
        parts.length = 0;
        begin = end + 1;
      }
      if (begin < text.length) parts.push(text.slice(begin));
      if (done) break;
    }
    if (parts.length > 0) yield parts.join("");
  } finally {
    reader.releaseLock();
  }
}

/**
 * Reads a stream to its answer. A stream that ends without one is a fault, never half an answer.
 * @param where the question, for messages
 */
export async function readStream(
  body: ReadableStream<Uint8Array>,
  where: string,
  onProgress: (progress: Progress) => void,
): Promise<unknown> {
  const broken = (thrown: unknown): never => {
    throw isAbort(thrown) ? thrown : cutShort(where);
  };
  let answer: Record<string, unknown> | undefined;
  for await (const line of lines(body, broken)) {
    const message = parse(line, where);
    if (isError(message)) throw faultOfError(message, where, 0);
    const progress = message["progress"];
    if (!isRecord(progress)) {
      answer = message; // the last line; read on to the end, so that the connection can be used again
      continue;
    }
    const { share, doing } = progress;
    onProgress({
      share: typeof share === "number" ? share : null,
      doing: typeof doing === "string" ? doing : "",
    });
  }
  if (!answer) throw cutShort(where);
  return answer;
}

/** Whether a message is an error of the API, which has a code and says what is wrong. */
function isError(message: Record<string, unknown>): boolean {
  return typeof message["error"] === "string" && typeof message["what"] === "string";
}

/**
 * The fault that an error describes: one of the API, with code, what, where and do, or one of the server around it,
 * with a text.
 * @param status of HTTP; 0 if the error is in a stream
 */
export function faultOfError(message: unknown, where: string, status: number): Fault {
  const text = (name: string) => {
    const value = isRecord(message) ? message[name] : undefined;
    return typeof value === "string" ? value : "";
  };
  const code = text("what") ? text("error") : "";
  const broken = status >= 500 || ["failed", "busy", "closed", "not-ready"].includes(code);
  const known = status === 401 ? "unauthorized" : broken ? "broken" : "refused";
  const kind = code === "superseded" ? "replaced" : known;
  const position = isRecord(message) ? message["position"] : undefined;
  const at = typeof position === "number" ? position : undefined;
  const what = text("what") || text("error") || `the server answered with status ${status}`;
  return new Fault(kind, what, text("where") ? `${where}, ${text("where")}` : where, text("do"), at);
}

/** The fault of an answer that did not arrive whole. */
export function cutShort(where: string): Fault {
  return new Fault("broken", "the answer ended before it was complete", where);
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function parse(line: string, where: string): Record<string, unknown> {
  let message: unknown;
  try {
    message = JSON.parse(line);
  } catch {
    throw cutShort(where);
  }
  if (!isRecord(message)) throw new Fault("broken", "the answer is not what this version of the app expects", where);
  return message;
}
