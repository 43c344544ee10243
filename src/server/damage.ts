/** What is damaged on disk. Who asks for many things is answered without it: whoever asks for it alone is told what is wrong. */
import { RathError } from "../session/errors.ts";

/** It will not be otherwise when it is tried again. */
export function isDamage(error: unknown): boolean {
  return RathError.is(error) && /^(?:store\.corrupt$|event\.)/.test(error.code);
}
