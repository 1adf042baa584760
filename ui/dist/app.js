import"./chunk-JFCCYMGY.js";import"./chunk-M56MYLTV.js";
