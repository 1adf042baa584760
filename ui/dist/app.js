import"./chunk-TL7JSB5Q.js";import"./chunk-VIX3UXXX.js";
