import{a as p}from"./chunk-3B6DOZH5.js";import{r as o}from"./chunk-CHL6PGHO.js";function l(t){let{app:e,...r}=t;return o(p,{...r,go:n=>e.go(n)})}export{l as a};
