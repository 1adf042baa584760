import"./chunk-TONIC5AM.js";import"./chunk-VIX3UXXX.js";
