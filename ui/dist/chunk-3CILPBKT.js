import{b as p}from"./chunk-X7QUB7DR.js";import{r as o}from"./chunk-CHL6PGHO.js";function l(t){let{app:e,...r}=t;return o(p,{...r,go:n=>e.go(n)})}export{l as a};
