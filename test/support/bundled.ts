/**
 * A script of the tests as one bundle, so that each process that runs it starts in a fifth of the time that compiling its sources takes.
 * It lies two folders deep, as the sources and the package do: paths to files of the package hold.
 */
import { copyFileSync, mkdirSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import { bundling } from "../../scripts/bundling.mjs";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** Bundles it; gives the file to hand to Node. */
export async function bundled(script: URL): Promise<string> {
  const input = fileURLToPath(script);
  const name = basename(input, ".ts");
  const folder = join(root, ".bundled", `${name}-${process.pid}`);
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const bundle = await rolldown({ ...bundling, input: { [name]: input } });
  await bundle.write({ dir: folder, format: "esm", chunkFileNames: "[name].js" });
  // Found from there as from src/workspace.
  const spawner = "workspace/spawner-process.mjs";
  mkdirSync(join(root, ".bundled/workspace"), { recursive: true });
  copyFileSync(join(root, "src", spawner), join(root, ".bundled", spawner));
  return join(folder, `${name}.js`);
}
