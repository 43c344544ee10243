/** What is said of a result in clear beside its data: how it ended, what it took, and whether its text can be trusted. */
import { facts } from "../session/codec.ts";
import type { Facts } from "../session/event.ts";
import type { EffectResult } from "../session/host.ts";

interface Taken {
  readonly ms: number | undefined;
  /** The call, where it is not the event before the result. */
  readonly call: string | undefined;
  readonly attempts: number;
  /** It brings no text from outside. */
  readonly trusted: true | undefined;
}

export function spentFacts({ outcome, spent, data }: EffectResult, taken: Taken): Facts {
  const { ms, call } = taken;
  const attempts = spent.attempts ?? taken.attempts;
  // What was thrown may say anything.
  const threw = data["problem"] === "threw" || data["problem"] === "timeout";
  const { injected, outside, trusted = threw ? undefined : taken.trusted } = spent.facts ?? {};
  if (ms === undefined || (spent.usage ?? injected ?? outside ?? trusted) !== undefined)
    return facts({ attempts, call, injected, ms, outcome, outside, trusted, usage: spent.usage });
  return call === undefined ? { attempts, ms, outcome } : { attempts, call, ms, outcome };
}
