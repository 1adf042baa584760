// A question to a recording, as data: what is asked, and what is made of the answer.
import type { Answers, Parameters } from "../api.ts";
import { decode } from "../columns.ts";
import type { Recording, Run } from "../model/answers.ts";
import type { QuestionName, Values } from "../model/commands.ts";
import type { Task } from "../model/follower.ts";
import type { Ask } from "./lanes.ts";

export interface Question<Q extends QuestionName, T> {
  name: Q;
  parameters: Parameters[Q];
  /** The same as the bottom line shows it, where a page does a part itself: it has all rows, and sorts them. */
  same?: Values;
  /** Flags that only the command has. */
  flags?: Values;
  /** Its command, if that is not the question's own. */
  command?: (run: Run, recording: Recording) => string;
  /** What comes first: the question is put when that has ended, however it does. */
  after?: () => Promise<unknown>;
  /** Makes of the decoded answer what is shown. */
  read: (answer: Answers[Q]) => T;
}

/** The task that puts a question to a recording. */
export function taskOf<Q extends QuestionName, T>(recording: string, question: Question<Q, T>): Task<T> {
  const path = pathOf(recording, question.name, question.parameters as Values);
  return {
    base: recording,
    key: path,
    run: async (ask) => {
      await question.after?.().catch(() => {});
      return question.read(decode<Answers[Q]>(await ask(path)).answer);
    },
  };
}

/** Puts a question. */
export async function put<Q extends QuestionName>(
  ask: Ask,
  recording: string,
  question: Q,
  parameters: Parameters[Q],
): Promise<Answers[Q]> {
  return decode<Answers[Q]>(await ask(pathOf(recording, question, parameters as Values))).answer;
}

/** The path of a question below /api/v1/. */
export function pathOf(recording: string, name: QuestionName, values: Values): string {
  return `r/${encodeURIComponent(recording)}/${name}${queryOf(values)}`;
}

/** The query of a question; empty if it has no parameters. Values go in as the command line has them. */
export function queryOf(values: Values): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    for (const one of typeof value === "object" ? value : [value]) {
      if (one !== undefined) query.append(name, String(one));
    }
  }
  const text = query.toString();
  return text === "" ? "" : `?${text}`;
}
