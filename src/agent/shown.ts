/** What watchers have been shown of a reply. An attempt after a cut begins again: what was shown is not shown twice. */
import type { InnerEffectContext } from "../session/host.ts";
import type { ModelPart } from "../session/model.ts";

export class Shown {
  readonly #context: InnerEffectContext;
  /** What earlier attempts showed, and what this one has said so far. */
  #before = "";
  #text = "";
  #parted = false;

  constructor(context: InnerEffectContext) {
    this.#context = context;
  }

  /** A new attempt. */
  begin(): void {
    if (this.#text.length > this.#before.length || this.#parted) this.#before = this.#text;
    this.#text = "";
    this.#parted = false;
  }

  show(part: Exclude<ModelPart, { type: "reply" }>): void {
    if (part.type === "reasoning-delta") this.#context.emit(part);
    if (part.type !== "text-delta") return;
    const said = this.#text.length;
    this.#text += part.text;
    if (this.#parted || said >= this.#before.length) this.#context.emit(part);
    else if (!this.#before.startsWith(this.#text) && !this.#text.startsWith(this.#before)) {
      this.#parted = true;
      this.#context.emit({ type: "text-delta", text: this.#text, restart: true });
    } else if (this.#text.length > this.#before.length)
      this.#context.emit({ type: "text-delta", text: this.#text.slice(this.#before.length) });
  }

  /** What had arrived when an attempt was cut. */
  cut(): { readonly text?: string } {
    return this.#text === "" ? {} : { text: this.#text };
  }
}
