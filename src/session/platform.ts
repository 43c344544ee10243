/** What the value needs from the machine it runs on. Injected, so that `session/` uses no `node:` module and runs in browsers too. */
export interface Platform {
  /** SHA-256 in lower-case hex, over UTF-8 text or bytes. */
  sha256(content: string | Uint8Array): string;
  bytes(text: string): Uint8Array;
  text(bytes: Uint8Array): string;
  /** UTF-8 of the text behind 16 fresh secret bytes, the salt of an event. Tests inject a counted source. */
  salted(text: string): Uint8Array;
  /** ISO time of now. */
  time(): string;
  /** Milliseconds of a clock that never goes back, to measure durations with. */
  elapsed(): number;
  /** A new sortable id for a session or a run that has no parent. */
  newId(): string;
}

/** How many bytes of salt precede the data of an event. */
export const saltBytes = 16;
