// Saving what a canvas shows as a file.

/** Saves a picture as a PNG file of this name, without its ending. */
export function savePng(canvas: HTMLCanvasElement, name: string): void {
  canvas.toBlob((blob) => blob && saveBlob(blob, `${name}.png`), "image/png");
}

export function saveBlob(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

const margin = 16;
const lineHeight = 20;

/**
 * A canvas as a picture that speaks for itself: on the page's colour, below what it shows.
 * @param title lines of text; the first one is the heading
 */
export function framed(canvas: HTMLCanvasElement, title: readonly string[]): HTMLCanvasElement {
  const scale = canvas.clientWidth > 0 ? canvas.width / canvas.clientWidth : 1;
  const top = margin + title.length * lineHeight + margin / 2;
  const picture = document.createElement("canvas");
  picture.width = Math.round(canvas.width + 2 * margin * scale);
  picture.height = Math.round(canvas.height + (top + margin) * scale);
  const context = picture.getContext("2d");
  if (!context) return canvas;
  const style = getComputedStyle(document.body);
  context.fillStyle = style.backgroundColor;
  context.fillRect(0, 0, picture.width, picture.height);
  context.drawImage(canvas, margin * scale, top * scale);
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.fillStyle = style.color;
  context.textBaseline = "top";
  const room = picture.width / scale - 2 * margin;
  title.forEach((text, i) => {
    context.font = `${i === 0 ? "bold " : ""}13px ${style.fontFamily}`;
    context.fillText(text, margin, margin + i * lineHeight, room);
  });
  return picture;
}
