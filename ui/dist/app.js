import"./chunk-MP3HHDMR.js";import"./chunk-VIX3UXXX.js";
