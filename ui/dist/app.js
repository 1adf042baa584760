import"./chunk-SVXCSGAV.js";import"./chunk-VIX3UXXX.js";
