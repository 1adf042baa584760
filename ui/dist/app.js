import"./chunk-GECVSUOY.js";import"./chunk-M56MYLTV.js";
