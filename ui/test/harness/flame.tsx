// A page with a flame graph of made-up data: ?scene=small, random, flat, deep or long. What it reports is in
// globalThis.harness.
import { signal } from "@preact/signals";
import { render } from "preact";
import { Frames, library, own } from "../../src/model/flame/frames.ts";
import { Workshop, type Job } from "../../src/model/flame/job.ts";
import { Pattern, search } from "../../src/model/flame/search.ts";
import { treeOf } from "../../src/model/flame/tree.ts";
import { exactSize, size } from "../../src/model/format.ts";
import { FlameGraph } from "../../src/view/flame.tsx";
import type { FlameHandle, FlameProps } from "../../src/view/flame-shown.ts";
import { applyTheme } from "../../src/view/theme.tsx";
import { groups, numbers, treeFrom } from "../flame-model.ts";

applyTheme();
const scene = new URLSearchParams(location.search).get("scene") ?? "small";
const frames = new Frames();
const log: string[] = [];

/** A hundred thousand nodes in sixty levels; all below one; five thousand levels; names of 10 kB. */
function large() {
  const [count, names] = [scene === "deep" ? 200_000 : 100_000, scene === "long" ? 1000 : 5000];
  const next = numbers(12345);
  const long = scene === "long" ? "<std::pair<int, std::vector<long>>>".repeat(280) : "";
  const numbered = frames.number(
    groups(
      Array.from({ length: names }, (_, i) => ({
        function: `ns${i % 17}::Class${i % 101}<std::map<int, long>>::method_${i}${long}`,
        module: i % 3 === 0 ? "/opt/app" : `/usr/lib/libq${i % 11}.so`,
        kind: i % 3 === 0 ? "own" : "other",
      })),
    ),
  );
  const columns = () => new Float64Array(count);
  const [parent, group, self, total] = [columns(), columns(), columns(), columns()];
  const depth = new Int32Array(count);
  for (let i = 1; i < count; i++) {
    let p = scene === "flat" ? 0 : scene === "deep" && i < 5000 ? i - 1 : Math.max(0, i - 1 - next(Math.min(i, 400)));
    if (depth[p]! > (scene === "deep" ? 5000 : 60)) p = next(Math.min(i, 50));
    parent[i] = p;
    depth[i] = depth[p]! + 1;
    group[i] = next(names);
    self[i] = 1 + next(1000) ** 2;
  }
  for (let i = count - 1; i >= 0; i--) {
    total[i]! += self[i]!;
    if (i > 0) total[parent[i]!]! += total[i]!;
  }
  return treeOf({ rows: count, parent, group, self, total, folded: columns() }, numbered);
}

function small() {
  const of = frames.number(
    groups([
      { function: "main", module: "/opt/app", kind: "own" },
      { function: "Cache::insert(std::string const&)", module: "/opt/app", kind: "own" },
      { function: "Index::build(int)", module: "/opt/app", kind: "own" },
      { function: "std::vector<int>::push_back", module: "/opt/app", kind: "library" },
      { function: "std::allocator<int>::allocate", module: "/opt/app", kind: "library" },
      { function: "malloc", module: "/usr/lib/libc.so.6", kind: "wrapper" },
    ]),
  );
  const [main, insert, build, push, allocate, malloc] = [...of] as [number, number, number, number, number, number];
  return treeFrom([
    { frames: [main, insert, push, allocate, malloc], bytes: 600 },
    { frames: [main, insert], bytes: 100 },
    { frames: [main, build, push, malloc], bytes: 250 },
    { frames: [main, build, malloc], bytes: 50 },
  ]);
}

const workshop = new Workshop();
const tree = scene === "small" ? small() : large();
const opened = signal<ReadonlySet<number>>(new Set());
const match = signal("");
const picked = signal<readonly string[]>([]);
const root = document.body.appendChild(document.createElement("div"));
root.className = "flame-page";
root.style.height = "100vh";
let handle: FlameHandle | undefined;

function lay() {
  const kinds = scene === "small" ? Uint8Array.from(frames.kinds) : undefined;
  const job: Job = {
    id: 1, tree, before: undefined, grafts: [], edits: { nodes: [], frames: [] }, kinds,
    opened: Float64Array.from(opened.value), order: "size",
  };
  return workshop.do(job);
}

let laid = lay();
let laidFor = opened.value;
const found = signal("");

function Harness() {
  if (opened.value !== laidFor) [laid, laidFor] = [lay(), opened.value];
  const props: FlameProps = {
    laid, frames, root: "program", title: "call tree", answer: tree, rough: false, format: size, exact: exactSize,
    colour: "module", longest: 1, match: match.value, paths: "down", below: [], picked: picked.value,
    onPick: (p) => {
      picked.value = p?.texts ?? [];
      log.push(`pick ${picked.value.join(" > ")}`);
    },
    onHover: (frame) => log.push(`hover ${frame === undefined ? "nothing" : frames.names[frame]}`),
    onTransform: ({ id }) => log.push(`transform ${id}`),
    onRun: (run) => (opened.value = new Set(opened.value.has(run) ? [] : [run])),
    onWant: (_, texts) => log.push(`want ${texts.join(" > ")}`),
    entries: () => [],
    onCopy: (text) => log.push(`copy ${text}`),
    onFound: (f) => (found.value = f ? `${f.boxes.length} ${f.total}` : ""),
    handle: (h) => (handle = h),
  };
  return <FlameGraph {...props} />;
}
render(<Harness />, root);

Object.assign(globalThis, {
  harness: {
    log, match, found, picked, library, own,
    handle: () => handle,
    view: () => handle?.seen().view,
    /** How long a search takes, with and without frames that were looked at. */
    search: (text: string) => {
      const begin = performance.now();
      const { boxes } = search(laid, new Pattern(text).frames(frames));
      return { ms: performance.now() - begin, found: boxes.length };
    },
  },
});
