import{L as t}from"./chunk-KAVWKICO.js";function r(o,e){return{href:t({...o.place.value,...e}),follow:()=>o.change(e)}}export{r as a};
