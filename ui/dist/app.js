import"./chunk-KAVWKICO.js";import"./chunk-VIX3UXXX.js";
