import"./chunk-MDTSG6VI.js";import"./chunk-M56MYLTV.js";
