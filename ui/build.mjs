// Builds the web app and tests its logic. What it builds is committed, so that `go build` needs no node.
//
//   node build.mjs         writes dist/ and dist.sum
//   node build.mjs check   checks types, builds in memory, and compares with dist/ and dist.sum, byte for byte
//   node build.mjs test    bundles test/*.test.ts and runs them with node's test runner
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
process.chdir(here);

// Files beside src/ that decide what is built. ui_test.go has the same list.
const inputs = [".npmrc", "build.mjs", "package-lock.json", "package.json", "tsconfig.json"];

/** The files below a folder, as sorted paths with slashes. */
function filesBelow(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name).replaceAll("\\", "/"))
    .sort();
}

/**
 * Has each file that is loaded later import the app, which is there by then: so what they share with it is in one file.
 * Without that, there would be a file for each set of pages that have something in common, and all of them would be
 * loaded first.
 */
const sharing = {
  name: "sharing",
  setup(build) {
    build.onResolve({ filter: /^\.{1,2}\// }, ({ kind, path, resolveDir }) =>
      kind === "dynamic-import" ? { path: join(resolveDir, path), pluginData: "later" } : undefined,
    );
    const app = `import ${JSON.stringify(join(here, "src/main.tsx"))};\n`;
    build.onLoad({ filter: /\.tsx?$/ }, ({ path, pluginData }) =>
      pluginData === "later" ? { contents: app + readFileSync(path, "utf8"), loader: "tsx" } : undefined,
    );
  },
};

/** The built files by name: contents as bytes. The same sources give the same bytes. */
async function bundle() {
  const result = await build({
    absWorkingDir: here,
    entryPoints: { app: "src/main.tsx", style: "src/style.css", "flame-worker": "src/worker/flame.ts" },
    bundle: true,
    splitting: true, // pages are files of their own, and share what they have in common
    chunkNames: "[name]-[hash]",
    minify: true,
    format: "esm",
    target: ["es2022", "chrome111", "firefox113", "safari16.4"],
    charset: "utf8",
    legalComments: "none", // licenses.txt has them
    metafile: true,
    plugins: [sharing],
    jsx: "automatic", // as tsconfig.json says, which does not count for what plugins load
    jsxImportSource: "preact",
    write: false,
    outdir: "dist",
    logLevel: "warning",
  });
  const files = new Map(result.outputFiles.map((file) => [file.path.slice(join(here, "dist/").length), file.contents]));
  files.set("icon.svg", readFileSync(join("src", "icon.svg")));
  files.set("index.html", Buffer.from(preloading(result.metafile.outputs)));
  files.set("licenses.txt", Buffer.from(licenses(Object.keys(result.metafile.inputs))));
  return files;
}

/** The page, with links to all that its script imports: so the browser need not read that first to ask for them. */
function preloading(outputs) {
  const needed = new Set();
  const add = (path) => {
    for (const { path: of, kind } of outputs[path].imports) {
      if (kind !== "import-statement" || needed.has(of)) continue;
      needed.add(of);
      add(of);
    }
  };
  add("dist/app.js");
  const link = (path) => `<link rel="modulepreload" href="${path.slice("dist".length)}">\n    `;
  const links = [...needed].sort().map(link);
  const html = readFileSync("src/index.html", "utf8");
  return html.replace('<script type="module"', `${links.join("")}$&`);
}

/** The names, versions and licences of the packages that the bundle contains. */
function licenses(sources) {
  const folders = new Set();
  for (const source of sources) {
    const found = /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(source);
    if (found) folders.add(join("node_modules", found[1]));
  }
  return [...folders]
    .sort()
    .map((folder) => {
      const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
      const file = readdirSync(folder).find((file) => /^licen[cs]e/i.test(file));
      if (!license || !file) throw new Error(`${folder}: no licence; what is embedded needs one`);
      return `${name} ${version} (${license})\n\n${readFileSync(join(folder, file), "utf8").trim()}\n`;
    })
    .join(`\n${"-".repeat(80)}\n\n`);
}

/** What dist.sum holds: the hashes of all sources and of all built files, in the format of sha256sum. */
function sums(built) {
  const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");
  const sources = [...inputs, ...filesBelow("src")].map((path) => [path, readFileSync(path)]);
  const results = [...built].map(([name, bytes]) => [`dist/${name}`, bytes]);
  return [...sources, ...results]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([path, bytes]) => `${sha256(bytes)}  ${path}\n`)
    .join("");
}

async function write() {
  const built = await bundle();
  rmSync("dist", { recursive: true, force: true });
  mkdirSync("dist");
  for (const [name, bytes] of built) writeFileSync(join("dist", name), bytes);
  writeFileSync("dist.sum", sums(built));
}

async function check() {
  const tsc = join("node_modules", ".bin", "tsc");
  for (const project of [".", "test"]) run(tsc, "--project", project);
  const explicit = /(:|\bas|[<,|])\s*any\b/;
  for (const path of [...filesBelow("src"), ...filesBelow("test")].filter((path) => /\.tsx?$/.test(path))) {
    readFileSync(path, "utf8")
      .split("\n")
      .forEach((line, i) => explicit.test(line) && fail(`ui/${path}:${i + 1}: the type any; use unknown and check it`));
  }
  const built = await bundle();
  const names = (list) => [...list].sort().join(" ");
  const stale = [...built].filter(([name, bytes]) => {
    try {
      return Buffer.compare(readFileSync(join("dist", name)), bytes) !== 0;
    } catch {
      return true;
    }
  });
  if (
    stale.length > 0 ||
    names(filesBelow("dist")) !== names([...built.keys()].map((name) => `dist/${name}`)) ||
    readFileSync("dist.sum", "utf8") !== sums(built)
  ) {
    fail("ui/dist is not what its sources give: run `make ui` and commit ui/dist and ui/dist.sum");
  }
}

async function test() {
  const outdir = "node_modules/.test";
  rmSync(outdir, { recursive: true, force: true });
  await build({
    absWorkingDir: here,
    entryPoints: filesBelow("test").filter((path) => path.endsWith(".test.ts")),
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    sourcemap: "inline",
    outdir,
    outExtension: { ".js": ".mjs" },
    logLevel: "warning",
  });
  run(process.execPath, "--enable-source-maps", "--test", ...filesBelow(outdir));
}

function run(program, ...args) {
  const { status, error } = spawnSync(program, args, { stdio: "inherit" });
  if (error) throw error;
  if (status !== 0) process.exit(1);
}

function fail(message) {
  console.error(message);
  process.exit(1);
}

const tasks = { undefined: write, check, test };
const task = tasks[process.argv[2]];
if (!task) fail(`usage: node build.mjs [check|test], not ${process.argv[2]}`);
await task();
