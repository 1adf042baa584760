import"./chunk-J7M655OC.js";import"./chunk-7EBHGOVE.js";
