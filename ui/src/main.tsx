import { render } from "preact";
import { App } from "./app.ts";
import { claimPolicy, type Factory } from "./net/trusted.ts";
import { applyTheme } from "./view/theme.tsx";
import { loadAhead } from "./view/frame.tsx";
import { Page } from "./view/page.tsx";
import { followPointer } from "./view/pointer.ts";

claimPolicy((window as { trustedTypes?: Factory }).trustedTypes);
applyTheme();
followPointer(window);
const app = new App();
loadAhead(app.place.value.page);
const root = document.getElementById("app");
if (!root) throw new Error("index.html has no element #app");
root.replaceChildren();
render(<Page app={app} />, root);
app.start();
