import"./chunk-2LLTLS5K.js";import"./chunk-JZY3PINB.js";
