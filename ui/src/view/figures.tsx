import { exactSize, size } from "../model/format.ts";

/** A number of bytes; its hint has the exact value. */
export function Size({ bytes }: { bytes: number }) {
  return <span title={exactSize(bytes)}>{size(bytes)}</span>;
}

/** A value and what it is. Without a value, a skeleton of the same height. */
export function Figure(props: { label: string; value: preact.ComponentChildren; note: preact.ComponentChildren }) {
  return (
    <div>
      <dt>{props.label}</dt>
      <dd>{props.value ?? <Bone width="60%" />}</dd>
      <dd class="note">{props.note}</dd>
    </div>
  );
}

/** A grey bar in the place of something that is on its way. */
export function Bone({ width }: { width: string }) {
  return <span class="skeleton" style={{ display: "block", width }} aria-hidden="true" />;
}
