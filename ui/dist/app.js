import"./chunk-WU2GUR6Z.js";import"./chunk-VIX3UXXX.js";
