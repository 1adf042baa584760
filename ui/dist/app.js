import"./chunk-XYDF2BFU.js";import"./chunk-M56MYLTV.js";
