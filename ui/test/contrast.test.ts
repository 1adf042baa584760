import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { tint } from "../src/view/timeline-draw.ts";

/** The colours of style.css by name: light and dark. */
function colours(): Map<string, [string, string]> {
  const css = readFileSync("src/style.css", "utf8");
  const found = [...css.matchAll(/--(\w+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)/g)];
  return new Map(found.map(([, name = "", light = "", dark = ""]) => [name, [light, dark]]));
}

/** Two colours mixed: so much of the first. */
function mix(a: string, b: string, share: number): string {
  const part = (colour: string, i: number) => parseInt(colour.slice(i, i + 2), 16);
  const mixed = [1, 3, 5].map((i) => Math.round(share * part(a, i) + (1 - share) * part(b, i)));
  return `#${mixed.map((n) => n.toString(16).padStart(2, "0")).join("")}`;
}

/** The contrast of two colours as WCAG 2 defines it, from 1 to 21. */
function contrast(a: string, b: string): number {
  const luminance = (colour: string) => {
    const [r = 0, g = 0, b = 0] = [1, 3, 5].map((i) => {
      const c = parseInt(colour.slice(i, i + 2), 16) / 255;
      return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const [x, y] = [luminance(a), luminance(b)];
  return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
}

/** A colour with a share of another one over it. */
function mixed(below: string, above: string, share: number): string {
  const part = (colour: string, i: number) => parseInt(colour.slice(i, i + 2), 16);
  const hex = (i: number) => Math.round(part(below, i) * (1 - share) + part(above, i) * share).toString(16);
  return `#${[1, 3, 5].map((i) => hex(i).padStart(2, "0")).join("")}`;
}

test("text has a contrast of 4.5 on every background, curves and bars one of 3, in both themes", () => {
  const all = colours();
  for (const theme of [0, 1] as const) {
    const of = (name: string) => {
      const pair = all.get(name);
      assert.ok(pair, `style.css has no colour --${name}`);
      return pair[theme];
    };
    for (const ground of ["page", "panel", "hover", "chosen"]) {
      for (const text of ["text", "quiet", "accent", "compare", "wrong"]) {
        const got = contrast(of(text), of(ground));
        assert.ok(got >= 4.5, `${text} on ${ground}, theme ${theme}: ${got.toFixed(2)}`);
      }
      for (const mark of [
        ...["live", "resident", "ribbon", "good"],
        ...["mapped", "stacks", "statics", "files", "own"],
      ]) {
        const got = contrast(of(mark), of(ground));
        assert.ok(got >= 3, `${mark} on ${ground}, theme ${theme}: ${got.toFixed(2)}`);
      }
    }
  }
  for (const theme of [0, 1] as const) {
    for (const range of ["accent", "compare"]) {
      const [ground, text, over] = ["panel", "quiet", range].map((name) => all.get(name)?.[theme] ?? "");
      const got = contrast(mixed(ground ?? "", over ?? "", tint), mixed(text ?? "", over ?? "", tint));
      assert.ok(got >= 4.5, `names of marks in a range of colour ${range}, theme ${theme}: ${got.toFixed(2)}`);
    }
    for (const part of ["live", "resident", "mapped", "stacks", "statics", "files", "own", "quiet"]) {
      const got = contrast(all.get("panel")?.[theme] ?? "", all.get(part)?.[theme] ?? "");
      assert.ok(got >= 4.5, `the name on the resident set's part ${part}, theme ${theme}: ${got.toFixed(2)}`);
    }
    for (const bar of ["bar", "chosenbar"]) {
      const got = contrast(all.get("text")?.[theme] ?? "", all.get(bar)?.[theme] ?? "");
      assert.ok(got >= 4.5, `numbers on ${bar}, theme ${theme}: ${got.toFixed(2)}`);
    }
  }
  assert.equal(contrast("#000000", "#ffffff"), 21);
});

test("source text can be read on every background, and the numbers of lines on any heat", () => {
  const all = colours();
  for (const theme of [0, 1] as const) {
    const of = (name: string) => all.get(name)?.[theme] ?? assert.fail(name);
    for (const ground of ["panel", "hover", "page"]) {
      for (const kind of ["comment", "string", "number", "keyword", "directive"]) {
        const got = contrast(of(kind), of(ground));
        assert.ok(got >= 4.5, `${kind} on ${ground}, theme ${theme}: ${got.toFixed(2)}`);
      }
    }
    for (let share = 0; share <= 1; share += 0.05) {
      const got = contrast(of("text"), mix(of("heat"), of("panel"), share));
      assert.ok(got >= 4.5, `a line number on a heat of ${share}, theme ${theme}: ${got.toFixed(2)}`);
    }
    // What was searched for, and the bar beside lines.
    assert.ok(contrast(of("page"), of("accent")) >= 4.5);
    assert.ok(contrast(of("heat"), of("panel")) >= 1.5);
  }
});
