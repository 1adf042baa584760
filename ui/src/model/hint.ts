// Where a hint is shown: beside the pointer, and never over the row that it describes.

/** What a hint describes and where the pointer is, in pixels of the picture. */
export interface HintRoom {
  x: number;
  /** The row: its first pixel, and the first one below it. */
  top: number;
  bottom: number;
  /** Of the picture. */
  width: number;
  height: number;
}

const gap = 4;
const beside = 12;

/** The edges at which a hint begins; the others are where its text ends. */
export type HintStyle = Record<"left" | "right" | "top" | "bottom", string>;

/** A hint is on the side of the pointer, and of the row, where there is more room. */
export function hintStyle({ x, top, bottom, width, height }: HintRoom): HintStyle {
  const [left, above] = [x > width / 2, top > height - bottom];
  return {
    left: left ? "auto" : `${x + beside}px`,
    right: left ? `${width - x + beside}px` : "auto",
    top: above ? "auto" : `${bottom + gap}px`,
    bottom: above ? `${height - top + gap}px` : "auto",
  };
}
