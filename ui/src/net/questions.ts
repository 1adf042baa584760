import type { FirstAnswer, Run } from "../model/answers.ts";
import type { Ask } from "./lanes.ts";
export async function askRuns(ask: Ask): Promise<Run[]> { return (await ask("session")) as Run[]; }
export async function askFirstAnswer(ask: Ask, r: string): Promise<FirstAnswer> { return (await ask(`r/${r}/x`)) as FirstAnswer; }
