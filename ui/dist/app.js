import"./chunk-SFHJCIY5.js";import"./chunk-MWJCEZ3L.js";
