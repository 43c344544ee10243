/** A value as JSON that people read. */
import { neutralJson } from "../../../src/wire/neutral.ts";
import { GivenText } from "../parts/given-text.tsx";

export function JsonText({ value }: { readonly value: unknown }) {
  return <GivenText text={typeof value === "string" ? value : neutralJson(value, 2)} mono />;
}
