/** What lasts, like streams that are open: of each caller, and of all. What is over a limit is refused before it begins. */
import { counted } from "../session/counted.ts";
import { limited } from "./rates.ts";

export class OpenStreams {
  readonly #limits: { readonly each: number; readonly all: number; readonly of: string };
  readonly #of = new Map<string, number>();
  #all = 0;

  /** `of` is what they are called where one is refused. */
  constructor(limits: { readonly each: number; readonly all: number; readonly of: string }) {
    this.#limits = limits;
  }

  get all(): number {
    return this.#all;
  }

  /** Takes a place, and gives what frees it, once. */
  take(name: string): () => void {
    const { each, all, of } = this.#limits;
    const own = this.#of.get(name) ?? 0;
    if (own >= each) throw limited(`This key has ${counted(own, of)} open, which is all it may have`, 5);
    if (this.#all >= all) throw limited(`This server has ${counted(this.#all, of)} open, which is all it has room for`, 5);
    this.#of.set(name, own + 1);
    this.#all++;
    let taken = true;
    return () => {
      if (!taken) return;
      taken = false;
      this.#all--;
      const left = (this.#of.get(name) ?? 1) - 1;
      if (left === 0) this.#of.delete(name);
      else this.#of.set(name, left);
    };
  }
}

/** The same body; `ended` is called once it was read to its end, failed, or was given up. Nothing is kept between. */
export function watched(body: ReadableStream<Uint8Array>, ended: () => void): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        try {
          const { done, value } = await reader.read();
          if (!done) return controller.enqueue(value);
          ended();
          controller.close();
        } catch (error) {
          ended();
          controller.error(error);
        }
      },
      cancel: async (reason) => {
        ended();
        await reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}
