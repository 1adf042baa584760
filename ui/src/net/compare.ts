// The question `diff`, and what tables make of the answer.
import type { Answers, Compared } from "../api.ts";
import { changesOf, type Changes } from "../model/changes.ts";

/** The rows of a table of changes. */
export function readChanges(answer: Answers["diff"]): Changes {
  if ("nodes" in answer) throw new TypeError("the answer is a tree");
  return changesOf(answer satisfies Compared);
}
