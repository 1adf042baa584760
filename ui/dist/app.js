import"./chunk-KNLBRO2L.js";import"./chunk-MWJCEZ3L.js";
