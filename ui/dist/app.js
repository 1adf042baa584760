import"./chunk-R6AKRWUJ.js";import"./chunk-M56MYLTV.js";
