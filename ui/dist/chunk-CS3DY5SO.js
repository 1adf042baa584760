import{K as t}from"./chunk-JJMT7KUM.js";function r(o,e){return{href:t({...o.place.value,...e}),follow:()=>o.change(e)}}export{r as a};
