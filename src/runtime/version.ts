/** Which openrath this is. */
import { readFileSync } from "node:fs";

/** From the manifest two folders up, which is the same from src/ and from dist/. */
export function version(): string {
  const manifest = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(manifest) as { readonly version: string }).version;
}
