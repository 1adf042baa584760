import assert from "node:assert/strict";
import { test } from "node:test";
import { hintStyle } from "../src/model/hint.ts";

test("a hint is beside the pointer, above or below the row, where there is more room", () => {
  const [width, height, row] = [400, 300, 20];
  for (let x = 0; x <= width; x += 10) {
    for (let top = -10; top < height; top += 7) {
      const bottom = top + row;
      const style = hintStyle({ x, top, bottom, width, height });
      const [left, right, up, down] = [style.left, style.right, style.top, style.bottom].map(parseFloat);
      // One edge of each direction is set: it is beyond the row, and beyond the pointer.
      if (Number.isNaN(up)) assert.ok(height - down! < top && top >= height - bottom, `${x} ${top}`);
      else assert.ok(up! > bottom && Number.isNaN(down) && height - bottom >= top, `${x} ${top}`);
      if (Number.isNaN(left)) assert.ok(width - right! < x && x > width / 2);
      else assert.ok(left! > x && Number.isNaN(right) && x <= width / 2);
    }
  }
});
