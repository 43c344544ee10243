/** A filter that is written: it counts once nobody has typed for a moment. */
import type { RefObject } from "react";
import { useTyped } from "./use-typed.ts";

interface Props {
  readonly label: string;
  readonly value: string;
  readonly set: (value: string | undefined) => void;
  readonly field?: RefObject<HTMLInputElement | null>;
}

export function FilterText({ label, value, set, field }: Props) {
  const [text, setText] = useTyped(value, (typed) => set(typed === "" ? undefined : typed));
  return (
    <input
      ref={field}
      type="search"
      aria-label={label}
      placeholder={label}
      value={text}
      maxLength={200}
      onChange={(event) => setText(event.target.value)}
      onKeyDown={(event) => {
        if (event.key === "Escape" || event.key === "Enter") event.currentTarget.blur();
      }}
    />
  );
}
