// What the flame graph's page makes of answers and of what the reader does.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Answers, NodeColumns } from "../src/api.ts";
import { flameActions } from "../src/model/flame/actions.ts";
import { applyEdits, formatEdit, numbered, parseEdit, type Edit } from "../src/model/flame/edits.ts";
import { Frames, library, other, own, start, wrapper } from "../src/model/flame/frames.ts";
import { Workshop, type Job, type Laid } from "../src/model/flame/job.ts";
import { markdownOf } from "../src/model/flame/markdown.ts";
import { transformsOf } from "../src/model/flame/transforms.ts";
import { Pattern } from "../src/model/flame/search.ts";
import { pathTo, treeOf } from "../src/model/flame/tree.ts";
import { whole } from "../src/model/flame/view.ts";
import { clockOf } from "../src/model/clock.ts";
import { words } from "../src/model/filters.ts";
import { conflicts, frameActions } from "../src/model/keys.ts";
import { formatPlace, parsePlace, placeOf } from "../src/model/place.ts";
import { flameOf } from "../src/net/flame.ts";
import { Drawer, type Port } from "../src/worker/drawer.ts";
import { groups, numbers, randomStacks, treeFrom } from "./flame-model.ts";

const names = ["main", "a;b", "f(x, y)", "\\", "std::map<int, std::string>::operator[](int&&)", "é 𝄞", "x\ny"];

test("every edit is in the address, and comes back as it was", () => {
  const next = numbers(3);
  for (let i = 0; i < 200; i++) {
    const path = Array.from({ length: 1 + next(5) }, () => names[next(names.length)]!);
    const of = names[next(names.length)]!;
    const edits: Edit[] = [
      { kind: "merge", path },
      { kind: "drop", path },
      { kind: "recursion", of },
      { kind: "module", of },
    ];
    for (const edit of edits) assert.deepEqual(parseEdit(formatEdit(edit)), edit);
    const place = { ...placeOf("1"), collapse: edits.map(formatEdit) };
    assert.deepEqual(parsePlace(formatPlace(place).slice(1)).collapse, place.collapse);
    const list = words(place, clockOf(1e9, undefined));
    assert.equal(list.length, 4);
    list.forEach(({ without }, n) => {
      assert.deepEqual(without.collapse, place.collapse.filter((_, m) => m !== n), "each is undone by itself");
    });
  }
  for (const text of ["", "merge", "merge ", "drop", "explode main"]) assert.equal(parseEdit(text), undefined);
});

test("edits are found by name, below what the tree was asked for", () => {
  const frames = new Frames();
  const of = frames.number(groups([{ function: "main" }, { function: "f" }, { function: "g" }, { module: "/x/y" }]));
  const [main, f, g, y] = [...of] as [number, number, number, number];
  assert.equal(frames.texts[y], "/x/y");
  const stacks = [
    { frames: [main, f, g], bytes: 5 },
    { frames: [main, g], bytes: 3 },
  ];
  const tree = treeFrom(stacks);
  const after = (edits: Edit[], below: string[], of = tree) => {
    const { tree: edited } = applyEdits(of, numbered(edits, frames, below));
    return Array.from(edited.parent, (_, i) => pathTo(edited, i).map((frame) => frames.names[frame]).join());
  };
  assert.deepEqual(after([{ kind: "merge", path: ["main", "f"] }], []), ["", "main", "main,g"]);
  assert.deepEqual(after([{ kind: "drop", path: ["main", "f"] }], []), ["", "main", "main,g"]);
  assert.deepEqual(after([{ kind: "drop", path: ["main", "none"] }], []).length, 5);
  const inMain = treeFrom(stacks.map((s) => ({ ...s, frames: s.frames.slice(1) })));
  assert.deepEqual(after([{ kind: "drop", path: ["main", "f"] }], ["main"], inMain), ["", "g"]);
  assert.equal(after([{ kind: "drop", path: ["main", "f"] }], ["other"], inMain).length, 4, "it is not in this tree");
});

test("the menu says what the command line has, and what only the picture does", () => {
  const frames = new Frames();
  const list = frames.number(groups([{ function: "main" }, { function: "f(x)", module: "/lib/libx.so" }]));
  const transforms = transformsOf(frames, [...list], ["start"], "down");
  const does = new Map(transforms.map((t) => [t.id, t.does]));
  assert.deepEqual(does.get("focus"), { ask: { focus: ["^f\\(x\\)$"] } });
  assert.deepEqual(does.get("ignore"), { ask: { ignore: ["^f\\(x\\)$"] } });
  assert.deepEqual(does.get("charge"), { ask: { hide: ["^f\\(x\\)$"] } });
  assert.deepEqual(does.get("below"), { ask: { below: ["start", "main", "f(x)"] } });
  assert.deepEqual(does.get("drop"), { edit: { kind: "drop", path: ["start", "main", "f(x)"] } });
  assert.deepEqual(does.get("merge"), { edit: { kind: "merge", path: ["start", "main", "f(x)"] } });
  assert.deepEqual(does.get("recursion"), { edit: { kind: "recursion", of: "f(x)" } });
  assert.deepEqual(does.get("module"), { edit: { kind: "module", of: "/lib/libx.so" } });
  assert.deepEqual(transformsOf(frames, [], [], "down"), [], "nothing for the root");
  const of = (paths: "up" | "part") => transformsOf(frames, [...list], [], paths).map((t) => t.id);
  assert.deepEqual(of("up").toSorted(), [...does.keys()].toSorted());
  assert.deepEqual(of("part"), ["focus", "ignore", "charge", "recursion", "module"], "of no single node");
  const y = "/x/y.so";
  const [file, code] = frames.number(groups([{ by: "module", module: y }, { module: y, offset: "0x1" }]));
  const first = (frame: number) => transformsOf(frames, [frame], [], "down")[0];
  assert.deepEqual(first(file!)?.does, { ask: { focus: ["^/x/y\\.so$"] } });
  assert.equal(first(code!)?.id, "merge", "a function without a name is no pattern");
});

test("frames keep their numbers in every answer, and know whose code they are", () => {
  const frames = new Frames();
  const malloc = { function: "malloc", module: "/usr/lib/libc.so.6", kind: "wrapper" };
  const first = frames.number(
    groups([
      { function: "main", module: "/bin/app", kind: "own" },
      malloc,
      { function: "std::vector<int>::push_back", module: "/bin/app", kind: "library" },
      { function: "", module: "/bin/app", offset: "0x10", kind: "other" },
      { by: "thread" },
      { function: "_start", module: "/bin/app", kind: "own" },
    ]),
  );
  const again = frames.number(groups([malloc, { function: "new", module: "/x" }]));
  assert.equal(again[0], first[1]);
  assert.equal(frames.count, again[1]! + 1);
  assert.deepEqual([...first].map((f) => frames.kinds[f]), [own, wrapper, library, other, own, start]);
  assert.equal(frames.names[first[3]!], "app+0x10");
  assert.equal(frames.texts[first[3]!], "0x10 /bin/app");
});

test("an answer becomes a tree; of callers and callees, two", () => {
  const frames = new Frames();
  const nodes = {
    rows: 2,
    parent: Float64Array.of(-1, 0),
    group: { row: Int32Array.of(-1, 0), of: groups([{ function: "main" }]) },
    self: { peak: Float64Array.of(0, 7) },
    total: { peak: Float64Array.of(7, 7), "mean-lifetime": Float64Array.of(3, 3) },
    folded: Float64Array.of(0, 2),
  } as unknown as NodeColumns;
  const whole = flameOf({ nodes } as unknown as Answers["tree"], frames, "peak", "mean-lifetime");
  assert.deepEqual([...whole.tree.total, ...whole.tree.folded, ...(whole.tree.second ?? [])], [7, 7, 0, 2, 21, 21]);
  assert.equal(frames.names[whole.tree.frame[1]!], "main");
  assert.equal(whole.root, undefined);
  const both = flameOf({ callers: nodes, callees: nodes } as unknown as Answers["tree"], frames, "peak");
  assert.equal(both.callers?.parent.length, 2);
  const other = flameOf({ nodes } as unknown as Answers["tree"], frames, "live");
  assert.deepEqual([...other.tree.total], [0, 0], "a metric that the answer does not have");
});

const job = (tree: Job["tree"]): Omit<Job, "id"> => ({
  tree, before: undefined, grafts: [], edits: { nodes: [], frames: [] }, kinds: undefined,
  opened: new Float64Array(), order: "size",
});

test("of the pictures that come while one is laid out, the newest is next", () => {
  const sent: Job[] = [];
  const port: Port = {
    postMessage: (message) => void sent.push((message as { job: Job }).job),
    onmessage: null,
    onerror: null,
  };
  const drawer = new Drawer(() => port);
  const done: number[] = [];
  const trees = [1, 2, 3].map((seed) => treeFrom(randomStacks(seed)));
  for (const tree of trees) drawer.lay("p", job(tree), (laid) => done.push(laid.id));
  assert.equal(sent.length, 1);
  const answer = (job: Job) => {
    port.onmessage?.({ data: { picture: "p", laid: new Workshop().do(job) } } as MessageEvent);
  };
  answer(sent[0]!);
  assert.deepEqual(sent.map(({ tree }) => trees.indexOf(tree)), [0, 2]);
  answer(sent[1]!);
  answer(sent[1]!); // twice: it was answered
  assert.equal(done.length, 2);
});

test("without a worker, and after it has failed, the page lays out itself", async () => {
  const tree = treeFrom(randomStacks(1));
  const laid = await new Promise<Laid>((resolve) => {
    new Drawer(() => {
      throw new TypeError("no workers here");
    }).lay("p", job(tree), resolve);
  });
  assert.equal(laid.tree.parent.length, tree.parent.length);
  const port: Port = { postMessage: () => {}, onmessage: null, onerror: null };
  const late = new Promise<Laid>((resolve) => new Drawer(() => port).lay("p", job(tree), resolve));
  port.onerror?.({} as ErrorEvent);
  assert.equal((await late).tree.parent.length, tree.parent.length);
});

test("as Markdown, a flame graph is text with its numbers and its command, whatever names contain", () => {
  const nodes = {
    rows: 4, parent: [-1, 0, 1, 0], group: [-1, 0, 1, 2], self: [0, 25, 25, 50], total: [100, 50, 25, 50],
    folded: [0, 0, 0, 0],
  };
  const laid = new Workshop().do({ id: 1, ...job(treeOf(nodes, [2, 3, 4])) });
  const text = markdownOf(laid, whole, {
    title: "app_1: live *now*",
    command: "heaptap tree 'a```b'",
    link: "http://x/?a",
    nameOf: (node) => ["app", "f", "g```", "h\n# not a heading"][node] ?? "",
    format: (value) => `${value} B`,
  });
  assert.match(text, /^\*\*app\\_1: live \\\*now\\\*\*\*\n/);
  assert.ok(text.includes("100 B  100 % |████████████████████████████████| app"));
  assert.ok(text.includes(" 50 B 50.0 % |████████████████                |  f"));
  assert.ok(text.includes(" 50 B 50.0 % |                ████████████████|  h\\u000a# not a heading"));
  assert.ok(text.includes("````sh\nheaptap tree 'a```b'\n````"), "longer fences than names have");
  assert.ok(text.includes("<http://x/?a>"));
});

test("a pattern without capitals ignores case, and looks at new frames only", () => {
  const frames = new Frames();
  const [upper] = frames.number(groups([{ function: "Cache" }]));
  const pattern = new Pattern("cache");
  assert.equal(pattern.frames(frames)[upper!], 1);
  const [lower] = frames.number(groups([{ function: "cache_put", module: "/m" }]));
  assert.equal(pattern.frames(frames)[lower!], 1);
  assert.equal(new Pattern("Cache").frames(frames)[lower!], 0);
  assert.equal(new Pattern("^/m$|/m$").frames(frames)[lower!], 1, "also by module");
  assert.throws(() => new Pattern("a(b"), SyntaxError);
});

test("no key of the flame graph is claimed twice", () => {
  assert.deepEqual(conflicts([...frameActions, ...flameActions]), []);
});
