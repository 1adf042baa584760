// What stands in the place of an answer that is not there.
import type { ComponentChildren } from "preact";
import { percent } from "../model/format.ts";
import { whereInWords, type Fault } from "../net/fault.ts";
import type { Progress } from "../api.ts";

/** An error: what, where, what to do. */
export function FaultBox({ fault, retry }: { fault: Fault; retry: () => void }) {
  return (
    <div class="state" role="alert">
      <p class="wrong">
        <bdi>{fault.message}</bdi>
      </p>
      {fault.todo && (
        <p>
          <bdi>{fault.todo}</bdi>
        </p>
      )}
      <p class="quiet">
        <bdi title={fault.where}>{whereInWords(fault.where)}</bdi>
      </p>
      <div class="actions">
        <button type="button" onClick={retry}>
          Try again
        </button>
      </div>
    </div>
  );
}

/** Why a part of an answer is not there. */
export function Refusal({ fault }: { fault: Fault }) {
  return (
    <p class="quiet">
      <bdi>{fault.message}</bdi>
      {fault.todo && (
        <>
          {" · "}
          <bdi>{fault.todo}</bdi>
        </>
      )}
    </p>
  );
}

/** How far an answer is, and what stops it. */
export function ProgressBox({ progress, cancel }: { progress: Progress; cancel: () => void }) {
  const { share, doing } = progress;
  return (
    <div class="state" role="status">
      <label>
        <bdi>{doing || "waiting"}</bdi>
        {share !== null && ` · ${percent(share, 1)}`}
        <br />
        <progress {...(share !== null && { value: share })} />
      </label>
      <div class="actions">
        <button type="button" onClick={cancel}>
          Cancel
        </button>
      </div>
    </div>
  );
}

export function CancelledBox({ retry }: { retry: () => void }) {
  return (
    <div class="state" role="status">
      <p>Cancelled.</p>
      <div class="actions">
        <button type="button" onClick={retry}>
          Ask again
        </button>
      </div>
    </div>
  );
}

/** Nothing to show: why, and what changes that: a command, or buttons that lead on. */
export function EmptyBox(props: {
  why: ComponentChildren;
  command?: string | undefined;
  children?: ComponentChildren;
}) {
  const { why, command, children } = props;
  return (
    <div class="state">
      <p>{why}</p>
      {command && (
        <p>
          <code>{command}</code>
        </p>
      )}
      {children}
    </div>
  );
}
