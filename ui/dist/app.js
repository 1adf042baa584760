import"./chunk-2DG3O4BS.js";import"./chunk-VIX3UXXX.js";
