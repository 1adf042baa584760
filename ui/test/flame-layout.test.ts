// Layout, what is drawn of it, search, and views, against slow models.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Workshop, buffersOf, type Job, type Laid } from "../src/model/flame/job.ts";
import { boxAt, layOut, nextReaching, notePlaces, rowOf, visitRow } from "../src/model/flame/layout.ts";
import { search } from "../src/model/flame/search.ts";
import { pathTo, treeOf, type Tree } from "../src/model/flame/tree.ts";
import { anchorOf, between, clamp, lacking, markOf, pinched } from "../src/model/flame/view.ts";
import { viewOf, whole, zoomAt, zoomTo } from "../src/model/flame/view.ts";
import { nextMatch, step } from "../src/model/flame/walk.ts";
import { numbers, randomStacks, stacksOf, treeFrom } from "./flame-model.ts";

const job = (tree: Tree, more: Partial<Job> = {}): Job => ({
  id: 1, tree, before: undefined, grafts: [], edits: { nodes: [], frames: [] }, kinds: undefined,
  opened: new Float64Array(), order: "size", ...more,
});

/** Boxes by a walk that draws each child beside the one before. */
function model(tree: Tree): Map<number, [row: number, left: number, right: number]> {
  const found = new Map<number, [number, number, number]>();
  const draw = (node: number, row: number, left: number) => {
    found.set(node, [row, left, left + tree.total[node]! / tree.total[0]!]);
    const children = Array.from(tree.parent, (p, i) => (p === node ? i : -1)).filter((i) => i >= 0);
    children.sort((a, b) => tree.total[b]! - tree.total[a]! || tree.frame[a]! - tree.frame[b]!);
    for (const child of children) {
      draw(child, row + 1, left);
      left += tree.total[child]! / tree.total[0]!;
    }
  };
  draw(0, 0, 0);
  return found;
}

const near = (a: number, b: number, message?: string) =>
  assert.ok(Math.abs(a - b) < 1e-9, `${message ?? ""}: ${a} is not ${b}`);

test("frames are below their callers, widest first", () => {
  for (let seed = 1; seed <= 40; seed++) {
    const tree = treeFrom(randomStacks(seed, 60));
    const layout = layOut(tree, "size");
    for (const [node, [row, left, right]] of model(tree)) {
      const box = layout.box[node]!;
      assert.equal(layout.node[box], node);
      assert.equal(rowOf(layout, box), row);
      near(layout.left[box]!, left, `seed ${seed}, left of ${node}`);
      near(layout.right[box]!, right, `seed ${seed}, right of ${node}`);
      assert.equal(boxAt(layout, row, (left + right) / 2), box);
    }
  }
});

test("children that are more than their caller stay within it", () => {
  const nodes = {
    rows: 3, parent: [-1, 0, 0], group: [-1, 0, 0], self: [0, 0, 0], total: [10, 10, 10], folded: [0, 0, 0],
  };
  const { left, right } = layOut(treeOf(nodes, [2]), "size");
  assert.deepEqual([...left, ...right], [0, 0, 0.5, 1, 0.5, 1]);
  const zero = layOut(treeOf({ ...nodes, total: [0, -5, NaN] }, [2]), "size");
  assert.ok([...zero.left, ...zero.right].every((x) => x >= 0 && x <= 1));
});

test("in the order of time, the first call is on the left", () => {
  const nodes = {
    rows: 4, parent: [-1, 0, 0, 0], group: [-1, 0, 1, 2], self: [0, 5, 3, 2], total: [10, 5, 3, 2],
    folded: [0, 0, 0, 0], first: [0, 9, 3, 5],
  };
  const layout = layOut(treeOf(nodes, [2, 3, 4]), "time");
  assert.deepEqual([...layout.node], [0, 2, 3, 1]);
});

test("nothing changes its place while a range is dragged, and the next order is by size", () => {
  for (let seed = 1; seed <= 40; seed++) {
    const workshop = new Workshop();
    const pictures = [0, 1, 2, 3].map((i) => {
      const stacks = randomStacks(seed + 100 * i, 40);
      const laid = workshop.do(job(treeFrom(stacks), { order: i === 0 ? "size" : "keep" }));
      return structuredClone(laid, { transfer: buffersOf(laid) }); // as the worker does
    });
    for (let i = 1; i < pictures.length; i++) {
      for (let j = 0; j < i; j++) {
        // Two frames that are in both pictures are in the same order in both, if they were when first seen together.
        const places = pictures.map(({ layout }) => new Map(Array.from(layout.key, (k, n) => [k, layout.box[n]!])));
        const both = [...places[i]!.keys()].filter((key) => places[j]!.has(key));
        for (const a of both) {
          for (const b of both) {
            if (!siblings(pictures[i]!, a, b)) continue;
            const before = places[j]!.get(a)! < places[j]!.get(b)!;
            assert.equal(places[i]!.get(a)! < places[i]!.get(b)!, before, `seed ${seed}: pictures ${j} and ${i}`);
          }
        }
      }
    }
    const tree = treeFrom(randomStacks(seed, 40));
    assert.deepEqual(workshop.do(job(tree)).layout, layOut(tree, "size"));
  }
});

function siblings({ tree, layout }: Laid, a: number, b: number): boolean {
  const [x, y] = [layout.key.indexOf(a), layout.key.indexOf(b)];
  return x !== y && tree.parent[x] === tree.parent[y];
}

test("places are noted once, in the order of the picture", () => {
  const places = new Map([[7, 100]]);
  notePlaces(places, Float64Array.of(5, 3, 9), true);
  notePlaces(places, Float64Array.of(3, 4), false);
  assert.deepEqual([...places], [[5, 0], [3, 1], [9, 2], [4, 3]]);
});

test("the pyramid finds what a scan finds", () => {
  for (let seed = 1; seed <= 20; seed++) {
    const next = numbers(seed);
    const layout = layOut(treeFrom(randomStacks(seed, 500)), "size");
    const reach = layout.reach[0]!;
    for (let i = 0; i < 200; i++) {
      const end = 1 + next(reach.length);
      const from = next(end);
      const least = [0, 0.001, 0.01, 0.1, 0.5][next(5)]!;
      let want = from;
      while (want < end && reach[want]! < least) want++;
      assert.equal(nextReaching(layout, from, end, least), want);
    }
  }
});

test("every frame in sight is drawn once, alone if it has half a pixel, and beside others if not", () => {
  for (let seed = 1; seed <= 40; seed++) {
    const next = numbers(seed);
    const layout = layOut(treeFrom(randomStacks(seed, 400)), "size");
    for (let i = 0; i < 10; i++) {
      const left = next(900) / 1000;
      const window = { left, right: left + (1 + next(100)) / 1000, pixels: 20 + next(300) };
      const scale = window.pixels / (window.right - window.left);
      for (let row = 0; row + 1 < layout.rowStart.length; row++) {
        const [start, end] = [layout.rowStart[row]!, layout.rowStart[row + 1]!];
        const want: number[] = [];
        for (let b = start; b < end; b++) {
          if (layout.right[b]! > window.left && layout.left[b]! < window.right) want.push(b);
        }
        let expected = want[0];
        let drawn = 0;
        visitRow(layout, row, window, (from, to, l, r) => {
          assert.equal(from, expected, "in order, without gaps");
          expected = to;
          drawn++;
          near(l, (layout.left[from]! - window.left) * scale);
          near(r, (layout.right[to - 1]! - window.left) * scale);
          const width = (b: number) => (layout.right[b]! - layout.left[b]!) * scale;
          const gap = (b: number) => (layout.left[b]! - layout.right[b - 1]!) * scale;
          for (let b = from; b < to && to > from + 1; b++) assert.ok(width(b) < 0.5, "a wide frame stands alone");
          for (let b = from + 1; b < to; b++) assert.ok(gap(b) < 0.5, "nothing is drawn where nothing is");
        });
        if (want.length > 0) assert.ok(expected! > want.at(-1)!, "the last one in sight is drawn");
        assert.ok(drawn <= 4 * window.pixels + 2, `${drawn} for ${window.pixels} pixels`);
      }
    }
  }
});

test("200,000 frames below one, and 5,000 above each other, are laid out; little of them is drawn", () => {
  const wide = 200_000;
  const flat = treeOf(
    {
      rows: wide,
      parent: Float64Array.from({ length: wide }, (_, i) => (i === 0 ? -1 : 0)),
      group: Float64Array.from({ length: wide }, (_, i) => i - 1),
      self: new Float64Array(wide).fill(1),
      total: Float64Array.from({ length: wide }, (_, i) => (i === 0 ? wide - 1 : 1)),
      folded: new Float64Array(wide),
    },
    Int32Array.from({ length: wide }, (_, i) => i + 2),
  );
  const drawn: [number, number][] = [];
  visitRow(layOut(flat, "size"), 1, { left: 0, right: 1, pixels: 1440 }, (from, to) => drawn.push([from, to]));
  assert.deepEqual(drawn, [[1, wide]]);

  const deep = 5001;
  const chain = treeOf(
    {
      rows: deep,
      parent: Float64Array.from({ length: deep }, (_, i) => i - 1),
      group: new Float64Array(deep),
      self: Float64Array.from({ length: deep }, (_, i) => (i === deep - 1 ? 7 : 0)),
      total: new Float64Array(deep).fill(7),
      folded: new Float64Array(deep),
    },
    [5],
  );
  const { layout } = new Workshop().do(job(chain));
  assert.equal(layout.rowStart.length, deep + 1);
  assert.equal(new Set(layout.key).size, deep);
  assert.equal(anchorOf(layout, whole), deep - 1);
});

test("what matches is counted once, however often it matches on a path", () => {
  for (let seed = 1; seed <= 60; seed++) {
    const stacks = randomStacks(seed);
    const tree = treeFrom(stacks);
    const marks = Uint8Array.from({ length: 40 }, (_, i) => (i === 3 || i === 4 ? 1 : 0));
    const isMatch = (f: number) => marks[f] === 1;
    const total = stacks.filter(({ frames }) => frames.some(isMatch)).reduce((sum, { bytes }) => sum + bytes, 0);
    for (const kinds of [undefined, Uint8Array.from({ length: 40 }, (_, i) => i % 2)]) {
      const laid = new Workshop().do(job(tree, { kinds }));
      const found = search(laid, marks);
      assert.equal(found.total, total, `seed ${seed}`);
      assert.equal(found.boxes.length, found.nodes.reduce((sum, n) => sum + n, 0));
      for (let i = 0; i < tree.parent.length; i++) {
        if (isMatch(tree.frame[i]!)) assert.equal(found.nodes[laid.into[i]!], 1, "also within folded frames");
      }
    }
  }
});

test("matches follow each other in the order of the picture, around its end", () => {
  const boxes = Int32Array.of(3, 7, 9);
  assert.deepEqual([0, 3, 8, 9].map((from) => nextMatch(boxes, from, true)), [3, 7, 9, 3]);
  assert.deepEqual([0, 3, 8, 9].map((from) => nextMatch(boxes, from, false)), [9, 9, 7, 7]);
  assert.equal(nextMatch(new Int32Array(), 0, true), -1);
});

test("keys move to the caller, the widest callee, and the neighbours", () => {
  for (let seed = 1; seed <= 20; seed++) {
    const tree = treeFrom(randomStacks(seed));
    const layout = layOut(tree, "size");
    for (let box = 0; box < layout.node.length; box++) {
      const node = layout.node[box]!;
      const callee = step(tree, layout, box, "callee");
      if (callee !== box) {
        assert.equal(tree.parent[layout.node[callee]!], node);
        assert.equal(step(tree, layout, callee, "caller"), box);
        for (let i = 1; i < tree.parent.length; i++) {
          if (tree.parent[i] === node) assert.ok(tree.weight[i]! <= tree.weight[layout.node[callee]!]!);
        }
      }
      for (const to of ["left", "right", "first", "last"] as const) {
        assert.equal(rowOf(layout, step(tree, layout, box, to)), rowOf(layout, box));
      }
    }
    assert.equal(step(tree, layout, 0, "caller"), 0);
  }
});

test("a zoom at the pointer leaves what is there in its place, and every view is within the picture", () => {
  const next = numbers(1);
  for (let i = 0; i < 1000; i++) {
    const left = next(1000) / 2000;
    const view = { left, right: left + (1 + next(999)) / 2000, top: 0 };
    const place = next(100) / 100;
    const zoomed = zoomAt(view, 0.8, place);
    near(zoomed.left + place * (zoomed.right - zoomed.left), view.left + place * (view.right - view.left));
    const kept = clamp(zoomAt(view, 50 * Math.random(), place), 500, 300);
    assert.ok(kept.left >= 0 && kept.right <= 1 + 1e-12 && kept.right > kept.left);
  }
  assert.equal(clamp({ left: 0, right: 1, top: 900 }, 500, 300).top, 200);
  assert.equal(clamp({ left: 0, right: 1, top: 90 }, 100, 300).top, 0);
});

test("two fingers keep what is between them, and zoom by how far apart they are", () => {
  const next = numbers(9);
  for (let i = 0; i < 300; i++) {
    const width = 200 + next(1500);
    const left = next(500) / 1000;
    const view = { left, right: left + 0.01 + next(400) / 1000, top: next(900) };
    const finger = () => ({ x: next(width), y: next(500) });
    const [from, to] = [[finger(), finger()] as const, [finger(), finger()] as const];
    const [a, b] = from;
    const apart = ([one, other]: typeof from) => Math.hypot(one.x - other.x, one.y - other.y);
    if (apart(from) < 10 || apart(to) < 10) continue;
    const upwards = i % 2 === 1;
    const now = pinched(view, width, from, to, upwards);
    const span = now.right - now.left;
    assert.ok(Math.abs(span - Math.min(1, ((view.right - view.left) * apart(from)) / apart(to))) < 1e-9);
    const at = (v: typeof view, [one, other]: typeof from) => {
      return v.left + ((one.x + other.x) / 2 / width) * (v.right - v.left);
    };
    assert.ok(Math.abs(at(now, to) - at(view, from)) < 1e-9, "what was between them still is");
    const down = (a.y + b.y - to[0].y - to[1].y) / 2;
    assert.ok(Math.abs(now.top - view.top - (upwards ? -down : down)) < 1e-9);
  }
});

test("a zoom in motion begins and ends where it should, and what is in both views moves straight there", () => {
  const [a, b] = [{ left: 0, right: 1, top: 0 }, { left: 0.5, right: 0.51, top: 80 }];
  assert.deepEqual(between(a, b, 0), a);
  near(between(a, b, 1).left, b.left);
  near(between(a, b, 1).right, b.right);
  let last = 1;
  for (let t = 0; t <= 1; t += 0.05) {
    const { left, right } = between(a, b, t);
    assert.ok(left <= b.left + 1e-12 && right >= b.right - 1e-12 && right - left <= last);
    last = right - left;
  }
  near(between({ left: 0, right: 0.1, top: 0 }, { left: 0.9, right: 1, top: 0 }, 1).left, 0.9);
});

test("another answer shows the same part, or its nearest caller if that is gone", () => {
  for (let seed = 1; seed <= 60; seed++) {
    const stacks = randomStacks(seed, 30);
    const tree = treeFrom(stacks);
    const from = layOut(tree, "size");
    const other = treeFrom([...stacks.slice(1), ...randomStacks(seed + 900, 5)]);
    const to = layOut(other, "keep");
    const box = numbers(seed)(from.node.length);
    const view = zoomTo(from, box, 20);
    const anchor = anchorOf(from, view);
    const [node, there] = [from.node[anchor]!, viewOf(markOf(view, from, tree.parent), to)];
    let path = pathTo(tree, node);
    const is = () => stacksOf(other).some(({ frames }) => path.every((f, i) => frames[i] === f));
    while (path.length > 0 && !is()) path = path.slice(0, -1);
    const want = to.box[Array.from(other.parent, (_, i) => `${pathTo(other, i)}`).indexOf(`${path}`)]!;
    near(there.left, to.left[want]!, `seed ${seed}`);
    near(there.right, to.right[want]!, `seed ${seed}`);
  }
});

test("what shows the whole goes on to, where a frame that was as wide is narrower", () => {
  const tree = treeFrom([{ frames: [2, 3], bytes: 100 }]);
  const other = treeFrom([{ frames: [2, 3], bytes: 90 }, { frames: [4], bytes: 10 }]);
  const whole = { left: 0, right: 1, top: 0 };
  assert.deepEqual(viewOf(markOf(whole, layOut(tree, "size"), tree.parent), layOut(other, "size")), whole);
});

test("what lacks children in sight is asked for: what fills the window, or else the widest", () => {
  const nodes = {
    rows: 4, parent: [-1, 0, 1, 0], group: [-1, 0, 1, 2], self: [0, 0, 0, 5], total: [100, 60, 60, 40],
    folded: [0, 0, 7, 3],
  };
  const tree = treeOf(nodes, [2, 3, 4]);
  const layout = layOut(tree, "size");
  const rest = (node: number) => [0, 0, 60, 35][node]!;
  const ask = (view: { left: number; right: number }, asked: number[] = []) =>
    lacking(layout, tree, rest, (node) => asked.includes(node), { ...view, top: 0 }, 1000, [0, 3]);
  assert.equal(ask({ left: 0, right: 1 }), 2);
  assert.equal(ask({ left: 0.7, right: 0.8 }), 3);
  assert.equal(ask({ left: 0.1, right: 0.2 }), 2);
  assert.equal(ask({ left: 0, right: 1 }, [2]), 3);
  assert.equal(ask({ left: 0, right: 1 }, [2, 3]), -1);
  const complete = { ...tree, folded: new Int32Array(4) };
  assert.equal(lacking(layout, complete, rest, () => false, whole, 1000, [0, 3]), -1);
});

test("the arrays of a message are handed over once each", () => {
  const tree = treeFrom(randomStacks(1));
  const message = job({ ...tree, weight: tree.total }, { before: tree });
  const buffers = buffersOf(message);
  assert.equal(new Set(buffers).size, buffers.length);
  const sent = structuredClone(message, { transfer: buffers });
  assert.equal(tree.parent.length, 0);
  assert.ok(new Workshop().do(sent).tree.parent.length > 1);
});

