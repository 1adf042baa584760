import"./chunk-QBXAULSJ.js";import"./chunk-VIX3UXXX.js";
