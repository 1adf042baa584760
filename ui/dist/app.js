import"./chunk-QKFG4SJP.js";import"./chunk-VIX3UXXX.js";
