// "Open in editor": a link that the editor has registered with the system. The reader chooses the editor; only schemes
// of known editors are allowed, because a link may start any program that has registered one.

export interface Editor {
  name: string;
  /** {path} and {line} stand for the place. */
  template: string;
}

export const editors: readonly Editor[] = [
  { name: "VS Code", template: "vscode://file{path}:{line}" },
  { name: "VSCodium", template: "vscodium://file{path}:{line}" },
  { name: "Cursor", template: "cursor://file{path}:{line}" },
  { name: "Zed", template: "zed://file{path}:{line}" },
  { name: "CLion", template: "jetbrains://clion/navigate/reference?path={path}:{line}" },
  { name: "IntelliJ IDEA", template: "idea://open?file={path}&line={line}" },
  { name: "PyCharm", template: "pycharm://open?file={path}&line={line}" },
  { name: "MacVim", template: "mvim://open?url=file://{path}&line={line}" },
  { name: "Sublime Text", template: "subl://open?url=file://{path}&line={line}" },
  { name: "TextMate", template: "txmt://open?url=file://{path}&line={line}" },
];

const schemes: ReadonlySet<string> = new Set([
  ...editors.map(({ template }) => template.slice(0, template.indexOf(":"))),
  ...["vscode-insiders", "windsurf", "clion", "goland", "rustrover", "rider", "nvim", "emacs", "kate"],
]);

/** The most characters of a template. */
const longest = 200;

/** A template as it can be used; undefined: why not. */
export function parseTemplate(text: string): { template: string } | { why: string } {
  const template = text.trim();
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//.exec(template)?.[1];
  if (scheme === undefined) return { why: "begin with the editor's scheme, such as vscode://file{path}:{line}" };
  if (!schemes.has(scheme)) return { why: `${scheme}: is not the scheme of an editor that heaptap knows` };
  if (template.length > longest) return { why: `write no more than ${longest} characters` };
  if (/[^\x21-\x7e]/.test(template)) return { why: "write no spaces, and no characters beyond ASCII" };
  if (!template.includes("{path}")) return { why: "write {path} for the file's path, and {line} for the line" };
  return { template };
}

/** The link to a place; undefined if the path is not one that an editor can open. */
export function editorLink(template: string, path: string, line: number): string | undefined {
  const checked = parseTemplate(template);
  if ("why" in checked || !path.startsWith("/") || path.includes("\0")) return undefined;
  const escaped = path.replace(/[\ud800-\udfff]/gu, "\ufffd").split("/").map(encodeURIComponent).join("/");
  return checked.template.replaceAll(/\{(path|line)\}/g, (_, name) =>
    name === "path" ? escaped : String(Math.max(1, Math.floor(line) || 1)),
  );
}

const storeKey = "heaptap.editor";

/** The template that the reader has chosen; else that of VS Code. */
export function keptTemplate(store: Pick<Storage, "getItem"> | undefined): string {
  try {
    const checked = parseTemplate(store?.getItem(storeKey) ?? "");
    if ("template" in checked) return checked.template;
  } catch {
    // The browser keeps nothing.
  }
  return editors[0]?.template ?? "";
}

/** Keeps a template that parseTemplate has passed. */
export function keepTemplate(store: Pick<Storage, "setItem"> | undefined, template: string): void {
  try {
    store?.setItem(storeKey, template);
  } catch {
    // It lasts as long as the page.
  }
}
