import"./chunk-ATJTH5QF.js";import"./chunk-MWJCEZ3L.js";
