import"./chunk-X3DG63BX.js";import"./chunk-VIX3UXXX.js";
