// Reads files with the importer of the npm package speedscope, whose folder is the first argument, and prints what it has understood: for each
// profile its name, unit, weight, and what the call tree sums up to by function.
'use strict';
const fs = require('fs');
const path = require('path');

// The package is one script for browsers, which ends by showing its page. The importer is one of its functions; the page is not wanted.
const folder = path.join(process.argv[2], 'dist/release');
const file = fs.readdirSync(folder).find(f => /^speedscope-.*\.js$/.test(f));
const source = fs.readFileSync(path.join(folder, file), 'utf8');
const name = source.match(/async function (\w+)\(\w+,\w+\)\{return\(await \w+\)\.importProfilesFromArrayBuffer/)[1];

const anything = new Proxy(function () {}, {
  get: (_, key) => (key === Symbol.toPrimitive ? () => '' : key === Symbol.iterator ? undefined : key === 'then' ? undefined : anything),
  apply: () => anything, construct: () => anything, set: () => true, has: () => true,
});
for (const global of ['document', 'localStorage', 'HTMLElement', 'location', 'matchMedia', 'addEventListener', 'requestAnimationFrame'])
  Object.defineProperty(globalThis, global, {value: anything, configurable: true, writable: true});
globalThis.window = globalThis;
const log = console.log;
console.log = console.error = () => {};
try {
  // In strict mode: the script is its own.
  new Function('"use strict";' + source.replace('(()=>{', () => `(()=>{globalThis.importProfile=(n,b)=>${name}(n,b);`))();
} catch (e) {
  // The page could not be shown.
}

(async () => {
  for (const arg of process.argv.slice(3)) {
    const bytes = fs.readFileSync(arg);
    const group = await globalThis.importProfile(path.basename(arg), bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
    const profiles = [];
    for (const p of group.profiles) {
      const frames = [];
      p.forEachFrame(f => frames.push({name: f.name, file: f.file, line: f.line, self: f.getSelfWeight(), total: f.getTotalWeight()}));
      profiles.push({name: p.getName(), unit: p.getWeightUnit(), total: p.getTotalWeight(), frames});
    }
    log(JSON.stringify({name: group.name, profiles}));
  }
})().catch(e => { process.stderr.write(String(e && e.stack || e) + '\n'); process.exit(1); });
