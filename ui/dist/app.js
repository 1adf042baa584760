import"./chunk-XT45LD4X.js";import"./chunk-MWJCEZ3L.js";
