import"./chunk-QGZBC4G6.js";import"./chunk-VIX3UXXX.js";
