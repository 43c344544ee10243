/** What watchers have been shown of a reply. An attempt after a cut begins again: what was shown is not shown twice. */
import type { InnerEffectContext } from "../session/host.ts";
import type { ModelPart } from "../session/model.ts";

export class Shown {
  readonly #context: InnerEffectContext;
  readonly #text = new Said();
  readonly #reasoning = new Said();

  constructor(context: InnerEffectContext) {
    this.#context = context;
  }

  /** A new attempt. */
  begin(): void {
    this.#text.begin();
    this.#reasoning.begin();
  }

  show(part: Exclude<ModelPart, { type: "reply" }>): void {
    if (part.type === "text-delta") this.#emit(this.#text.add(part.text));
    if (part.type !== "reasoning-delta") return;
    const fresh = this.#reasoning.add(part.text);
    if (fresh !== undefined) this.#context.emit({ type: "reasoning-delta", text: fresh.text });
  }

  /** The reply is whole: if less was said than shown, watchers begin again. */
  end(): void {
    this.#emit(this.#text.end());
  }

  #emit(fresh: Fresh | undefined): void {
    if (fresh !== undefined) this.#context.emit({ type: "text-delta", ...fresh });
  }

  /** What had arrived when an attempt was cut. */
  cut(): { readonly text?: string } {
    return this.#text.said === "" ? {} : { text: this.#text.said };
  }
}

/** What watchers have not seen; with `restart`, in place of what they saw. */
interface Fresh {
  readonly text: string;
  readonly restart?: true;
}

class Said {
  /** What this attempt has said so far. */
  said = "";
  /** What earlier attempts showed, as long as this one may say the same. */
  #before = "";

  begin(): void {
    if (this.said.length > this.#before.length) this.#before = this.said;
    this.said = "";
  }

  add(text: string): Fresh | undefined {
    const shown = Math.max(this.said.length, this.#before.length);
    this.said += text;
    if (!this.said.startsWith(this.#before) && !this.#before.startsWith(this.said)) return this.end();
    return this.said.length > shown ? { text: this.said.slice(shown) } : undefined;
  }

  end(): Fresh | undefined {
    if (this.said.startsWith(this.#before)) return undefined;
    this.#before = "";
    return { text: this.said, restart: true };
  }
}
