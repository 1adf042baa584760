import"./chunk-AX4QLYQQ.js";import"./chunk-VIX3UXXX.js";
