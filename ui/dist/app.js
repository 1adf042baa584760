import"./chunk-DBEBBFIZ.js";import"./chunk-VIX3UXXX.js";
