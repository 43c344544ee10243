/** Times as people read them; the exact one is in the title. */
import { ago, within } from "../../../src/wire/format.ts";
import { useNow } from "./use-now.ts";

export function Ago({ at }: { readonly at: string }) {
  const now = useNow();
  return (
    <time dateTime={at} title={at}>
      {ago(at, now)}
    </time>
  );
}

/** In how long; of what is over already, since when. */
export function Within({ at }: { readonly at: string }) {
  const now = useNow();
  return (
    <time dateTime={at} title={at}>
      {Date.parse(at) < now.getTime() ? ago(at, now) : within(at, now)}
    </time>
  );
}
