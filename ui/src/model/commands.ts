// The question that a page asks, as a command: the same names and values.
import type { Parameters } from "../api.ts";
import type { Recording, Run } from "./answers.ts";
import { shellQuote } from "./names.ts";

export type QuestionName = keyof Parameters;
export type Values = Record<string, string | number | boolean | readonly string[] | undefined>;

/** The commands of questions that have none of the same name. */
const commands: Partial<Record<QuestionName, string>> = {
  process: "timeline",
  curve: "timeline",
  about: "report",
  events: "dump --events",
};

/** Parameters that a command does not have: it prints exact answers, and all of them. */
const ofPage = new Set(["rough", "skip", "calls", "context"]);

/** The command that answers as a question to a recording does. */
export function commandOf(run: Run, recording: Recording, question: QuestionName, values: Values): string {
  // A source file is a word of its own, after the recording, and so is SQL.
  const { function: file, sql, limit: _, ...others } = values;
  const word = question === "source" ? file : question === "sql" ? sql : undefined;
  const { steps, ...asked } = word === undefined ? values : others;
  // Only the steps of layers are those of the command, too.
  if (question === "timeline" && steps !== undefined) asked["steps"] = steps;
  // A command that draws heat maps prints nothing else, unless that is asked for.
  if (question === "hist" && asked["heat"]) asked["show"] = "sizes,exact,lifetimes,slack";
  const words = [...wordsOf(run, recording, commands[question] ?? question, asked), shellQuote(run.path)];
  return [...words, ...(word === undefined ? [] : [shellQuote(String(word))])].join(" ");
}

function wordsOf(run: Run, recording: Recording, command: string, values: Values): string[] {
  const words = ["heaptap", command];
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined || value === false || ofPage.has(name)) continue;
    if (value === true) words.push(`--${name}`);
    else if (typeof value === "object") {
      if (name === "metric" || name === "heat") words.push(`--${name}`, value.join(","));
      else for (const one of value) words.push(`--${name}`, shellQuote(one));
    } else words.push(`--${name}`, shellQuote(String(value)));
  }
  if (run.recordings.length > 1) words.push("--process", String(recording.pid));
  return words;
}
