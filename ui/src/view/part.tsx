// A part of a page that waits for an answer, and what stands in its place until that is there.
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { Doing } from "../actions.ts";
import type { App, Selected } from "../app.ts";
import type { QuestionName } from "../model/commands.ts";
import type { Estimate } from "../model/estimate.ts";
import type { Follower, Shown, Task } from "../model/follower.ts";
import type { Question } from "../net/ask.ts";
import { CancelledBox, FaultBox, ProgressBox } from "./states.tsx";

/**
 * A part that follows the selection while the component is shown.
 * @param name of its lanes: small letters, digits and dashes
 * @param task must depend on nothing but its argument and signals
 * @param drags whether it follows drags over the timeline
 */
export function usePart<T>(
  app: App,
  name: string,
  task: (selected: Selected) => Task<T> | undefined,
  drags = true,
): Follower<T> {
  const part = useMemo(() => app.remembering<T>(name, drags), [app, name]);
  useLayoutEffect(() => {
    const stop = app.put(part, task);
    return () => {
      stop();
      part.clear();
    };
  }, [part]);
  return part;
}

/** A part that does not depend on the selection, and whose answer may take long. */
export function useLaterPart<T>(app: App, name: string, task: (selected: Selected) => Task<T>): Follower<T> {
  const part = useMemo(() => app.later<T>(name), [app, name]);
  useLayoutEffect(() => {
    const stop = app.put(part, task);
    return () => {
      stop();
      part.clear();
    };
  }, [part]);
  return part;
}

/** The main part of a page: the bottom line shows its question. */
export function useMainPart<Q extends QuestionName, T>(
  app: App,
  name: string,
  question: (selected: Selected) => Question<Q, T> | undefined,
): Follower<T> {
  const part = useMemo(() => app.remembering<T>(name), [app, name]);
  useLayoutEffect(() => {
    const stop = app.putMain(part, question);
    return () => {
      stop();
      part.clear();
    };
  }, [part]);
  return part;
}

/**
 * An estimate comes before the exact answer, which is asked when the estimate is there: counting all events takes every
 * processor, so that neither would be there sooner.
 */
export function useOrder(app: App) {
  return useMemo(() => {
    let asked: { key: string; answer: Promise<unknown> } | undefined;
    return {
      /** A task that comes before the one with the key. */
      first: <T,>(task: Task<T>, key: string): Task<T> => ({
        ...task,
        run: (ask) => {
          const answer = task.run(ask);
          asked = { key, answer };
          return answer;
        },
      }),
      /** The task, after the one that comes before it. */
      after: <T,>(task: Task<T>): Task<T> => ({
        ...task,
        run: async (ask) => {
          await app.known();
          if (asked?.key === task.key) await asked.answer.catch(() => {});
          return task.run(ask);
        },
      }),
      /** Waits for what comes before the task with a key. */
      before: async (key: string): Promise<void> => {
        await app.known();
        if (asked?.key === key) await asked.answer.catch(() => {});
      },
    };
  }, [app]);
}

/** Has the bottom line say from what the page's numbers were estimated. */
export function useEstimate(app: App, estimate: Estimate | undefined): void {
  useEffect(() => {
    app.estimate.value = estimate;
    return () => {
      app.estimate.value = undefined;
    };
  }, [estimate]);
}

/** Says what actions do while the component is shown. */
export function useActions(app: App, doing: Doing): void {
  const now = useRef(doing);
  now.current = doing;
  useEffect(() => {
    const latest = Object.keys(doing).map((id) => [id, () => now.current[id]?.()]);
    return app.actions.add(Object.fromEntries(latest));
  }, [app, Object.keys(doing).join()]);
}

/**
 * Shows an answer, or for what it waits. An answer that is being replaced stays until the next one is there.
 * @param first is shown as long as there is none
 */
export function Answered<T>(props: {
  part: Follower<T>;
  first?: Shown<T> | undefined;
  skeleton: ComponentChildren;
  children: (value: T, shown: Shown<T>) => ComponentChildren;
}) {
  const { part } = props;
  const shown = part.shown.value ?? (part.wait.value?.phase === "failed" ? undefined : props.first);
  const wait = part.wait.value;
  const busy = wait?.phase === "busy";
  return (
    <div class="part" aria-busy={busy}>
      {busy && wait.progress && <ProgressBox progress={wait.progress} cancel={() => part.cancel()} />}
      {busy && !shown && !wait.progress && props.skeleton}
      {wait?.phase === "failed" && <FaultBox fault={wait.fault} retry={() => part.retry()} />}
      {wait?.phase === "cancelled" && <CancelledBox retry={() => part.retry()} />}
      {shown && wait?.phase !== "cancelled" && props.children(shown.value, shown)}
    </div>
  );
}
