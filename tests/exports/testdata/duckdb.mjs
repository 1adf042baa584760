// DuckDB's shell, as far as heaptap uses it, with the engine of the npm package @duckdb/node-api: not every machine can
// have the shell itself.
//
//   duckdb.mjs FOLDER [-batch] [-bail] [-readonly] [-json] FILE [-c SQL]
//
// FOLDER holds the package. Without -c, the statements come from standard input.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const [folder, ...rest] = process.argv.slice(2);
const { DuckDBInstance, ResultReturnType } = createRequire(`${folder}/x`)("@duckdb/node-api");
const flags = new Set();
const words = [];
let sql;
while (rest.length > 0) {
  const word = rest.shift();
  if (word === "-c") sql = rest.shift();
  else if (["-batch", "-bail", "-readonly", "-json"].includes(word)) flags.add(word);
  else if (word.startsWith("-")) throw new Error(`unknown flag ${word}`);
  else words.push(word);
}
sql ??= readFileSync(0, "utf8");

/** JSON in which large integers keep all digits. */
function json(value) {
  if (value === null || value === undefined) return "null";
  if (typeof value === "bigint") return String(value);
  if (["number", "boolean", "string"].includes(typeof value)) return JSON.stringify(value);
  if (Array.isArray(value.items)) return `[${value.items.map(json).join(",")}]`;
  return /^-?[0-9.]+$/.test(String(value)) ? String(value) : JSON.stringify(String(value));
}

try {
  const instance = await DuckDBInstance.create(
    words[0],
    flags.has("-readonly") ? { access_mode: "READ_ONLY" } : undefined,
  );
  const connection = await instance.connect();
  const statements = await connection.extractStatements(sql);
  for (let i = 0; i < statements.count; i++) {
    const result = await (await statements.prepare(i)).run();
    if (result.returnType !== ResultReturnType.QUERY_RESULT) continue;
    const names = result.columnNames();
    const rows = await result.getRows();
    if (!flags.has("-json")) continue;
    const texts = rows.map((row) => `{${row.map((v, k) => `${JSON.stringify(names[k])}:${json(v)}`).join(",")}}`);
    console.log(`[${texts.join(",\n")}]`);
  }
} catch (error) {
  console.error(error.message);
  process.exit(1);
}
