// The wheel over a picture zooms it.
import { useEffect } from "preact/hooks";

/**
 * How many times as much is to be seen after a turn of the wheel.
 * @param speed the logarithm of that, for a pixel
 */
export function factorOf(event: WheelEvent, speed: number): number {
  const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 20 : 1;
  return Math.exp(Math.max(-1, Math.min(1, event.deltaY * unit * speed)));
}

/**
 * Calls zoom when the wheel turns. The page scrolls if it does nothing.
 * @param zoom how many times as much is to be seen
 */
export function useWheel(
  box: { readonly current: HTMLElement | null },
  zoom: (event: WheelEvent, times: number) => boolean,
): void {
  useEffect(() => {
    const element = box.current;
    const listen = (event: WheelEvent) => {
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.deltaY === 0) return;
      if (zoom(event, factorOf(event, 0.004))) event.preventDefault();
    };
    element?.addEventListener("wheel", listen, { passive: false });
    return () => element?.removeEventListener("wheel", listen);
  });
}
