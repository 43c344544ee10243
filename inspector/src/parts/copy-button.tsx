/** Copies a text, like an id or the address of a view. */
import { copy } from "./copy.ts";
import { Icon } from "./icon.tsx";

export function CopyButton({ text, what }: { readonly text: string; readonly what: string }) {
  return (
    <button type="button" data-look="plain" aria-label={`Copy ${what}`} title={`Copy ${what}`} onClick={() => copy(text, what)}>
      <Icon name="copy" />
    </button>
  );
}
