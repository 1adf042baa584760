// Colours and labels of the flame graph.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ageStep, colourNodes, hex, meanings, modes, palette } from "../src/model/flame/colour.ts";
import { Frames } from "../src/model/flame/frames.ts";
import { Workshop } from "../src/model/flame/job.ts";
import { elide, figuresIn, Labels } from "../src/model/flame/label.ts";
import { treeOf } from "../src/model/flame/tree.ts";
import { shorten } from "../src/model/names.ts";
import { groups, numbers } from "./flame-model.ts";

/** Red, green and blue as amounts of light. */
function light(colour: string): number[] {
  return [1, 3, 5].map((i) => {
    const c = parseInt(colour.slice(i, i + 2), 16) / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  });
}

function contrast(a: string, b: string): number {
  const luminance = (colour: string) => {
    const [r = 0, g = 0, b = 0] = light(colour);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const [x, y] = [luminance(a), luminance(b)];
  return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
}

test("text has a contrast of 4.5 on every frame, in both themes", () => {
  for (const dark of [false, true]) {
    const { fills, faded, found, text, hatch } = palette(dark);
    assert.ok(fills.length > 60);
    for (const fill of [...fills, ...faded, found]) {
      assert.match(fill, /^#[0-9a-f]{6}$/);
      assert.ok(contrast(text, fill) >= 4.5, `${text} on ${fill}: ${contrast(text, fill)}`);
    }
    const apart = (fill: string) => Math.hypot(...[0, 1, 2].map((i) => light(fill)[i]! - light(found)[i]!));
    for (const fill of faded) assert.ok(apart(fill) > 0.25, `what matches stands out from ${fill}: ${apart(fill)}`);
    assert.ok(contrast(text, hatch[0]) >= 4.5, "what is written over hatching");
    assert.ok(contrast(...hatch) >= 1.8, "hatching can be seen");
  }
});

test("colours are computed as CSS computes them", () => {
  assert.equal(hex([1, 0, 0]), "#ffffff");
  assert.equal(hex([0, 0, 0]), "#000000");
  assert.equal(hex([0.627955, 0.257683, 29.234]), "#ff0000");
});

/** How different two colours look to somebody without one kind of cones (Viénot 1999), in OKLab. */
function apart(a: string, b: string, blind: "none" | "protan" | "deutan"): number {
  const lab = (colour: string) => {
    let [r = 0, g = 0, b = 0] = light(colour);
    if (blind === "protan") [r, g, b] = [0.1124 * r + 0.8876 * g, 0.1124 * r + 0.8876 * g, 0.004 * r - 0.004 * g + b];
    if (blind === "deutan") {
      [r, g, b] = [0.2928 * r + 0.7072 * g, 0.2928 * r + 0.7072 * g, -0.0223 * r + 0.0223 * g + b];
    }
    const cube = (x: number, y: number, z: number) => Math.cbrt(x * r + y * g + z * b);
    const [l, m, s] = [
      cube(0.4122214708, 0.5363325363, 0.0514459929),
      cube(0.2119034982, 0.6806995451, 0.1073969566),
      cube(0.0883024619, 0.2817188376, 0.6299787005),
    ];
    return [
      0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
      1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
      0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
    ];
  };
  const [x, y] = [lab(a), lab(b)];
  return Math.hypot(...x.map((v, i) => v - y[i]!));
}

test("own code and libraries, growth and shrinkage, look different to everybody", () => {
  const { ownAt, libraryAt, threadAt, growthAt, growthSteps } = meanings;
  for (const dark of [false, true]) {
    const { fills } = palette(dark);
    for (const blind of ["none", "protan", "deutan"] as const) {
      for (const mine of fills.slice(ownAt, libraryAt)) {
        for (const other of fills.slice(libraryAt, threadAt)) {
          assert.ok(apart(mine, other, blind) > 0.05, `${mine} and ${other}, ${blind}: ${apart(mine, other, blind)}`);
        }
      }
      const growth = fills.slice(growthAt, growthAt + 2 * growthSteps + 1);
      for (let i = 1; i <= growthSteps; i++) {
        const [down, up] = [growth[growthSteps - i]!, growth[growthSteps + i]!];
        assert.ok(apart(down, up, blind) > 0.05 * i, `${down} and ${up}, ${blind}: ${apart(down, up, blind)}`);
      }
    }
  }
});

test("a module has the same colour in every recording, whatever else is in it", () => {
  const paths = ["/usr/lib/libc.so.6", "/opt/app/server", "/lib/x86_64-linux-gnu/libstdc++.so.6.0.30"];
  const colours = (modules: string[]) => {
    const frames = new Frames();
    const kind = (module: string) => (module.includes("lib") ? "library" : "own");
    const of = modules.map((module, i) => ({ function: `f${i}`, module, kind: kind(module) }));
    const numbers = frames.number(groups(of));
    const rows = modules.length + 1;
    const ones = new Float64Array(rows).fill(1);
    const parent = Float64Array.from(ones, (_, i) => (i === 0 ? -1 : 0));
    const group = Float64Array.from(ones, (_, i) => i - 1);
    const tree = treeOf({ rows, parent, group, self: ones, total: ones, folded: new Float64Array(rows) }, numbers);
    const laid = new Workshop().do({
      id: 1, tree, before: undefined, grafts: [], edits: { nodes: [], frames: [] }, kinds: undefined,
      opened: new Float64Array(), order: "size",
    });
    return new Map(modules.map((module, i) => [module, colourNodes(laid, frames, "module")[i + 1]]));
  };
  const first = colours(paths);
  const second = colours(["/bin/other", ...paths.toReversed()]);
  for (const path of paths) assert.equal(second.get(path), first.get(path));
  assert.ok(first.get("/opt/app/server")! < meanings.libraryAt);
  assert.ok(first.get("/usr/lib/libc.so.6")! >= meanings.libraryAt);
  assert.equal(colours(["/x/libc.so.5"]).get("/x/libc.so.5") !== undefined, true);
});

test("growth is coloured by its share of what moved, and age by its order of magnitude", () => {
  assert.deepEqual([0, 1e-9, 1e-3, 0.5, 1, 10].map((age) => ageStep(age, 1)), [0, 0, 2, 5, 5, 5]);
  assert.equal(modes.length, 4);
});

test("names are shortened as everywhere, but in one pass", () => {
  const next = numbers(7);
  const parts = ["std::", "vector", "<", ">", ">", "<", "int", ", ", "operator<", "operator->", "->", "::f", "é", "𝄞"];
  for (let i = 0; i < 3000; i++) {
    const name = Array.from({ length: 1 + next(25) }, () => parts[next(parts.length)]).join("");
    const limit = 3 + next(60);
    assert.equal(elide(name, limit), shorten(name, limit), JSON.stringify([name, limit]));
  }
});

test("a name of 10 kB takes no time", () => {
  const name = `std::map<${"std::pair<int, std::vector<long>>, ".repeat(400)}>::insert`;
  assert.ok(name.length > 10_000);
  const begin = process.cpuUsage().user;
  for (let i = 0; i < 200; i++) assert.ok(elide(name, 10 + (i % 60)).length <= 70);
  assert.ok((process.cpuUsage().user - begin) / 1000 < 4000);
  assert.equal(elide(name, 40), "std::map<…>::insert");
});

test("where there is little room, the part of a name that says most is left", () => {
  const names = [
    "void std::vector<std::pair<int, long>>::push_back(std::pair<int, long>&&)",
    "(anonymous namespace)::Cache::insert(int)",
    "bool ns::Less::operator()(int, int) const",
    "operator new(unsigned long)",
    "github.com/acme/server/store.(*Cache).Put",
    "python3.11+0x451ac5",
    "<alloc::vec::Vec<T> as core::ops::Drop>::drop",
  ];
  const labels = new Labels();
  const at = (i: number, room: number) => labels.at(i, names, room);
  assert.equal(at(0, 99), names[0]);
  assert.equal(at(0, 60), "void std::vector<…>::push_back(std::pair<…>&&)");
  assert.equal(at(0, 35), "void std::vector<…>::push_back(…)");
  assert.equal(at(0, 28), "std::vector<…>::push_back");
  assert.equal(at(0, 20), "vector<…>::push_back");
  assert.equal(at(0, 12), "push_back");
  assert.equal(at(0, 6), "push_…");
  assert.equal(at(1, 16), "Cache::insert");
  assert.equal(at(1, 8), "insert");
  assert.equal(at(2, 20), "Less::operator()");
  assert.equal(at(3, 15), "operator new(…)");
  assert.equal(at(3, 12), "operator new");
  assert.equal(at(4, 20), "store.(*Cache).Put");
  assert.equal(at(5, 12), "0x451ac5");
  assert.equal(at(6, 9), "<…>::drop");
});

test("a label never has more characters than there is room for, and nothing that acts", () => {
  const labels = new Labels();
  const names = ["", "", "\u202egnp.exe\u202c", "a\u0000b".repeat(20), "f"];
  for (let frame = 0; frame < names.length; frame++) {
    for (let room = 0; room < 90; room++) {
      const label = labels.at(frame, names, room);
      assert.ok(label.length <= Math.max(room, 0), `${label} in ${room}`);
      assert.doesNotMatch(label, /[\u0000-\u001f\u202a-\u202e]/);
      assert.equal(labels.at(frame, names, room), label);
    }
  }
});

test("figures beside a name go one by one as the room shrinks", () => {
  const at = (room: number, name = 8) => figuresIn(room, name, ["1.25 MiB", "3.1 %"]);
  assert.equal(at(24), "1.25 MiB 3.1 %");
  assert.deepEqual([at(23), at(18)], ["1.25 MiB", "1.25 MiB"]);
  assert.equal(at(17), "");
  assert.equal(at(30, 300), "1.25 MiB", "a long name is cut before the last figure goes");
  assert.equal(figuresIn(40, 3, []), "");
});
