import"./chunk-MVSRQ5HD.js";import"./chunk-VIX3UXXX.js";
