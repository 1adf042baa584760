import"./chunk-YEUFVDFF.js";import"./chunk-M56MYLTV.js";
