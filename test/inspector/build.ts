/** Builds the inspector once for a run of tests, to where a server that runs from source looks for it. */
import { fileURLToPath } from "node:url";
import { build } from "vite";

export async function setup(): Promise<void> {
  // As it is shipped: a build for tests is several times slower.
  const before = process.env["NODE_ENV"];
  process.env["NODE_ENV"] = "production";
  await build({ root: fileURLToPath(new URL("../../inspector", import.meta.url)), logLevel: "error" });
  process.env["NODE_ENV"] = before;
}
