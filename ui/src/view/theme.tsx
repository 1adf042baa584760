// Light and dark follow the system, unless the reader has chosen one.
import { signal } from "@preact/signals";

const themes = ["system", "light", "dark"] as const;
type Theme = (typeof themes)[number];
const key = "heaptap.theme";

function kept(): Theme {
  try {
    const value = localStorage.getItem(key);
    return themes.find((theme) => theme === value) ?? "system";
  } catch {
    return "system"; // the browser keeps nothing
  }
}

const chosen = signal<Theme>(kept());
const systemDark = matchMedia("(prefers-color-scheme: dark)");

/** Changes whenever colours do, for what is drawn and not styled. */
export const themeChanges = signal(0);
systemDark.addEventListener("change", () => themeChanges.value++);

export function applyTheme(): void {
  document.documentElement.dataset["theme"] = chosen.value;
}

export function ThemeButton() {
  const next = themes[(themes.indexOf(chosen.value) + 1) % themes.length] ?? "system";
  const choose = () => {
    chosen.value = next;
    try {
      localStorage.setItem(key, next);
    } catch {
      // It lasts as long as the page.
    }
    applyTheme();
    themeChanges.value++;
  };
  return (
    <button type="button" onClick={choose} title={`change to ${next}`}>
      Theme: {chosen.value}
    </button>
  );
}
