import"./chunk-FPSSXL5K.js";import"./chunk-VIX3UXXX.js";
