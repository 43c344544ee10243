/** What watchers have been shown of a reply, without secrets. An attempt after a cut begins again: what was shown is not shown twice. */
import type { Host, InnerEffectContext } from "../session/host.ts";
import type { ModelPart } from "../session/model.ts";

export class Shown {
  readonly #context: InnerEffectContext;
  readonly #text: Said;
  readonly #reasoning: Said;

  constructor(context: InnerEffectContext, host: Pick<Host, "clean" | "unfinished">) {
    this.#context = context;
    this.#text = new Said(host);
    this.#reasoning = new Said(host);
  }

  /** A new attempt. */
  begin(): void {
    this.#text.begin();
    this.#reasoning.begin();
  }

  show(part: Exclude<ModelPart, { type: "reply" }>): void {
    if (part.type === "text-delta") this.#emit(this.#text.add(part.text));
    if (part.type === "reasoning-delta") this.#think(this.#reasoning.add(part.text));
  }

  /** The reply is whole: if less was said than shown, watchers begin again. */
  end(): void {
    this.#think(this.#reasoning.rest());
    this.#emit(this.#text.rest());
    this.#emit(this.#text.end());
  }

  #think(fresh: Fresh | undefined): void {
    if (fresh !== undefined) this.#context.emit({ type: "reasoning-delta", text: fresh.text });
  }

  #emit(fresh: Fresh | undefined): void {
    if (fresh !== undefined) this.#context.emit({ type: "text-delta", ...fresh });
  }

  /** What had arrived when an attempt was cut. */
  cut(): { readonly text?: string } {
    this.#emit(this.#text.rest());
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
  readonly #host: Pick<Host, "clean" | "unfinished">;
  /** What earlier attempts showed, as long as this one may say the same. */
  #before = "";
  /** What may become a secret with what comes next. */
  #held = "";

  constructor(host: Pick<Host, "clean" | "unfinished">) {
    this.#host = host;
  }

  begin(): void {
    if (this.said.length > this.#before.length) this.#before = this.said;
    this.said = "";
    this.#held = "";
  }

  add(piece: string): Fresh | undefined {
    const text = this.#held + piece;
    const safe = this.#host.unfinished(text);
    this.#held = text.slice(safe);
    return this.#say(this.#host.clean(text.slice(0, safe)));
  }

  /** What was held back: no more comes. */
  rest(): Fresh | undefined {
    const text = this.#held;
    this.#held = "";
    return this.#say(this.#host.clean(text));
  }

  #say(text: string): Fresh | undefined {
    if (text === "") return undefined;
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
