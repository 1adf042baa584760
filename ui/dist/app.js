import"./chunk-JJMT7KUM.js";import"./chunk-M56MYLTV.js";
