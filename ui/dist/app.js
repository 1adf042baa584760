import"./chunk-LBPGLOYL.js";import"./chunk-MWJCEZ3L.js";
