// Whether the pointer moved onto an element, or the element below the pointer, which rests: only the first is meant.

let last: { x: number; y: number } | undefined;

const note = ({ screenX: x, screenY: y }: PointerEvent) => (last = { x, y });

/** Begins to follow the pointer. */
export function followPointer(target: Window): void {
  // Before an element hears of it: a browser tells of the element that came, at the place that is known.
  target.addEventListener("pointermove", note, { capture: true, passive: true });
  target.addEventListener("pointerdown", note, { capture: true, passive: true });
}

/** Whether the pointer has moved since it was last seen: it came onto an element, not the element below it. */
export function hasMoved({ screenX, screenY }: PointerEvent): boolean {
  return !last || last.x !== screenX || last.y !== screenY;
}
