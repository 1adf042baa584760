// The width of an element, for pictures that fill it.
import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";

/** An element to refer to as `box`, and its width in pixels as it changes: 0 until it is known. */
export function useWidth() {
  const box = useRef<HTMLDivElement>(null);
  const width = useSignal(0);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const measure = () => (width.value = element.clientWidth);
    const sized = new ResizeObserver(measure);
    sized.observe(element);
    measure();
    return () => sized.disconnect();
  }, []);
  return { box, width: width.value };
}
