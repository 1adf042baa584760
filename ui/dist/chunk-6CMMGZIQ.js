import{e as t}from"./chunk-6UVNNAW4.js";function r(o,e){return{href:t({...o.place.value,...e}),follow:()=>o.change(e)}}export{r as a};
