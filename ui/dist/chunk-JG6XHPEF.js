import{e as t}from"./chunk-TO33JLVQ.js";function r(o,e){return{href:t({...o.place.value,...e}),follow:()=>o.change(e)}}export{r as a};
