// Fills a cache with buffers, which lie outside of V8's heap, and a list with objects, which lie in it.
const cache = new Map();
for (let n = 0; n < 300; n++) cache.set(n, Buffer.alloc(100_000, n));
const words = [];
for (let n = 0; n < 300_000; n++) words.push({ n, text: `word ${n}` });
console.log(
  JSON.stringify({ ...process.memoryUsage(), ...require("v8").getHeapStatistics() }),
);
console.log("ready");
require("fs").readFileSync(0);
console.log(cache.size, words.length);
