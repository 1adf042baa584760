import"./chunk-AQNW5ZPN.js";import"./chunk-MWJCEZ3L.js";
