import"./chunk-SKNZHNYG.js";import"./chunk-7EBHGOVE.js";
