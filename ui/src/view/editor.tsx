// Which editor opens source files: a choice that is kept.
import { signal, useSignal } from "@preact/signals";
import { editors, keepTemplate, keptTemplate, parseTemplate } from "../model/editor.ts";
import { storage } from "./storage.ts";

/** The template of links to the editor. */
export const editorTemplate = signal(keptTemplate(storage()));

/** Chooses one of the known editors, or another template. */
export function EditorChoice() {
  const typed = useSignal(editorTemplate.value);
  const why = useSignal("");
  const set = (text: string) => {
    typed.value = text;
    const checked = parseTemplate(text);
    why.value = "why" in checked ? checked.why : "";
    if (!("template" in checked)) return;
    editorTemplate.value = checked.template;
    keepTemplate(storage(), checked.template);
  };
  const known = editors.find(({ template }) => template === typed.value);
  return (
    <fieldset class="editor">
      <legend>Editor</legend>
      <select aria-label="editor" value={known?.name ?? ""} onChange={(event) => {
        const chosen = editors.find(({ name }) => name === event.currentTarget.value);
        if (chosen) set(chosen.template);
      }}>
        {editors.map(({ name }) => (
          <option key={name}>{name}</option>
        ))}
        {!known && <option value="">another</option>}
      </select>
      <input
        aria-label="address that opens a file in the editor"
        value={typed.value}
        spellcheck={false}
        aria-invalid={why.value !== ""}
        onInput={(event) => set(event.currentTarget.value)}
      />
      {why.value && <p class="wrong">{why.value}</p>}
    </fieldset>
  );
}
