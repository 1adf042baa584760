// The page of a tab without a token: how to get a code.
import type { App } from "../app.ts";
import type { Fault } from "../net/fault.ts";
import { codeIn } from "../net/session.ts";

export function Invite({ app, fault }: { app: App; fault: Fault | undefined }) {
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const field = (event.currentTarget as HTMLFormElement).elements.namedItem("code");
    if (!(field instanceof HTMLInputElement)) return;
    // The reader may have pasted the whole address.
    const code = codeIn(field.value.slice(field.value.indexOf("#") + 1)) || field.value;
    if (code.trim() !== "") void app.session.redeem(code);
  };
  return (
    <main class="invite">
      <h1>This tab needs a code</h1>
      {fault && (
        <p class="wrong" role="alert">
          <bdi>
            {fault.message}. {fault.todo}
          </bdi>
        </p>
      )}
      <p>
        Recordings belong to the person who made them, so the page asks who you are. Press <kbd>Enter</kbd> in the
        terminal where <code>heaptap open</code> or <code>heaptap serve</code> runs: it prints an address with a new
        code, good for 30 seconds and for one use. Open that address, or paste it here.
      </p>
      <form onSubmit={submit}>
        <label for="code">Code or address</label>
        <input id="code" name="code" autocomplete="off" spellcheck={false} required autofocus />
        <button type="submit">Go on</button>
      </form>
      <p class="quiet">
        If another tab of this browser shows these recordings, this one goes on by itself as soon as that one answers.
      </p>
    </main>
  );
}
