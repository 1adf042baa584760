import"./chunk-BRQ7TXZ5.js";import"./chunk-7EBHGOVE.js";
