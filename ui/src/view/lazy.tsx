// Code that is loaded when it is first shown.
import { signal, type Signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import { Fault } from "../net/fault.ts";
import { FaultBox } from "./states.tsx";

type Loaded<P> = { view: ComponentType<P> } | { failed: true } | undefined;

/** A component whose code comes later. */
export class Lazy<P extends object> {
  readonly #load: () => Promise<ComponentType<P>>;
  readonly #state: Signal<Loaded<P>> = signal(undefined);
  #asked = false;

  constructor(load: () => Promise<ComponentType<P>>) {
    this.#load = load;
  }

  /** Loads the code, if that has not been asked for yet. */
  async load(): Promise<void> {
    if (this.#asked) return;
    this.#asked = true;
    this.#state.value = undefined;
    try {
      const view = await this.#load();
      this.#state.value = { view };
    } catch {
      this.#asked = false;
      this.#state.value = { failed: true };
    }
  }

  /** The component, once its code is there. */
  readonly View = (props: P) => {
    useEffect(() => void this.load(), []);
    const state = this.#state.value;
    if (!state) return <div aria-busy="true" />;
    if ("view" in state) return <state.view {...props} />;
    // Browsers remember that a module could not be loaded: only a reload asks for it again.
    const fault = new Fault("unreachable", "a part of heaptap's page could not be loaded", "script", "is it running?");
    return <FaultBox fault={fault} retry={() => location.reload()} />;
  };
}
