import{e as t}from"./chunk-YXHD7YYQ.js";function r(o,e){return{href:t({...o.place.value,...e}),follow:()=>o.change(e)}}export{r as a};
