import"./chunk-6V3BOHNK.js";import"./chunk-7EBHGOVE.js";
