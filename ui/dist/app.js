import"./chunk-MTDC53NY.js";import"./chunk-JZY3PINB.js";
