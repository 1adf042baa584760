// What actions do: keys, the palette and the sheet of keys start them by id.
import { flameActions } from "./model/flame/actions.ts";
import { frameActions, Keys, type Action } from "./model/keys.ts";
import { overviewActions } from "./model/overview.ts";
import { rowsActions } from "./model/row-actions.ts";
import { sourceActions } from "./model/source-actions.ts";
import { timelineActions } from "./model/timeline-moves.ts";

const parts = [frameActions, timelineActions, overviewActions, flameActions, rowsActions, sourceActions];

/** The table of all actions. A part of the app adds its rows above. */
export const allActions: readonly Action[] = parts.flat();

/** What actions do, by id. */
export type Doing = Readonly<Record<string, () => void>>;

export class Actions {
  readonly keys: Keys;
  readonly #doing: Doing[] = [];

  constructor(storage: Storage | undefined, mac: boolean) {
    this.keys = new Keys(allActions, storage, mac);
  }

  /** Says what actions do, until the returned function is called. What was said last counts. */
  add(doing: Doing): () => void {
    this.#doing.push(doing);
    return () => void this.#doing.splice(this.#doing.indexOf(doing), 1);
  }

  /** Whether something does an action now. */
  can(id: string): boolean {
    return this.#doing.some((doing) => Object.hasOwn(doing, id));
  }

  /** Does an action; false if nothing does it now. */
  run(id: string): boolean {
    const doing = this.#doing.findLast((some) => Object.hasOwn(some, id));
    doing?.[id]?.();
    return doing !== undefined;
  }

  /** Does what a key means on a page. A key that something has already used means nothing else. */
  press(event: KeyboardEvent, page: string): void {
    if (event.defaultPrevented || pressesControl(event)) return;
    const action = this.keys.match(event, page, takesText(event.target));
    if (action && this.run(action.id)) event.preventDefault();
  }
}

/** Enter and space on a button or a link press it. */
function pressesControl({ key, target }: KeyboardEvent): boolean {
  if (key !== "Enter" && key !== " ") return false;
  return target instanceof HTMLElement && target.matches("button, a[href], summary, input");
}

function takesText(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || target.matches("textarea, select, input:not([type=checkbox], [type=radio])"))
  );
}
