// Reads a Parquet file with the npm packages hyparquet and hyparquet-compressors, whose folder is the first argument, and prints the number of rows and
// what each column of numbers sums up to.
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {pathToFileURL} from 'node:url';

const load = name => import(pathToFileURL(join(process.argv[2], name, 'src/index.js')));
const {parquetReadObjects} = await load('hyparquet');
const {compressors} = await load('hyparquet-compressors');

const bytes = readFileSync(process.argv[3]);
const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
const rows = await parquetReadObjects({file, compressors});
const sums = {};
for (const row of rows)
  for (const [name, value] of Object.entries(row))
    if (typeof value === 'bigint') sums[name] = (sums[name] ?? 0n) + BigInt.asUintN(64, value);
const text = Object.entries(sums).map(([name, sum]) => `${JSON.stringify(name)}:${sum}`);
console.log(`{"rows":${rows.length},"sums":{${text.join(',')}}}`);
