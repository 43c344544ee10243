/** Secrets once more: everything on record was cleaned when it was written, and what leaves it in a dossier is cleaned again. */
import type { Redact } from "../../session/json.ts";

/** Replaces secrets in what it is given, and counts them. */
export class Cleaner {
  readonly #redact: Redact;
  count = 0;

  constructor(redact: Redact) {
    this.#redact = redact;
  }

  text(text: string): string {
    const found = this.#redact(text);
    this.count += found?.count ?? 0;
    return found?.text ?? text;
  }

  /** The same value, or a copy of it without secrets. Without recursion, since values may be deep. */
  value<T>(value: T): T {
    const top: { value: unknown } = { value };
    const waiting: { readonly holder: Record<string, unknown>; readonly key: string }[] = [{ holder: top, key: "value" }];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const { holder, key } = next;
      const found = holder[key];
      if (typeof found === "string") holder[key] = this.text(found);
      if (typeof found !== "object" || found === null || found instanceof Uint8Array) continue;
      const copy = (Array.isArray(found) ? [...found] : this.#named(found)) as Record<string, unknown>;
      holder[key] = copy;
      for (const name of Object.keys(copy)) waiting.push({ holder: copy, key: name });
    }
    return top.value as T;
  }

  #named(found: object): Record<string, unknown> {
    return Object.fromEntries(Object.entries(found).map(([name, value]) => [this.text(name), value as unknown]));
  }
}
