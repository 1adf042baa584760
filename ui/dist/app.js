import"./chunk-JT5GW5UZ.js";import"./chunk-7EBHGOVE.js";
