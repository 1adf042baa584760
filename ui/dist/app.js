import"./chunk-C6MNUPUC.js";import"./chunk-VIX3UXXX.js";
