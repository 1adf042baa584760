import"./chunk-KNQYM3IY.js";import"./chunk-TZWJQDS6.js";
