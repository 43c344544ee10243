/** The package as it is built, once for all test files of a run: a process of it starts in a fifth of the time that its sources take. */
import { rmSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import { inject } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { bundling } from "../../scripts/bundling.mjs";
import { borrow } from "./lender.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Where the folder of the package is told; asking builds it. */
    readonly builtPort: number;
    /** Where the folder of its declarations is told; asking makes them. */
    readonly declaredPort: number;
    /** Where the folder of the inspector is told; asking builds it. */
    readonly inspectorPort: number;
  }
}

const root = fileURLToPath(new URL("../../", import.meta.url));

/** Its folder, with `package.json` and `dist`. */
export function builtPackage(): Promise<string> {
  return borrow(inject("builtPort"));
}

/** The folder of the inspector, which a server that runs from source shows too. */
export function builtInspector(): Promise<string> {
  return borrow(inject("inspectorPort"));
}

/** The folder of its declarations, as they lie in `dist`. */
export function declarations(): Promise<string> {
  return borrow(inject("declaredPort"));
}

/** The file to hand to Node for `openrath`. */
export async function builtCommand(): Promise<string> {
  return join(await builtPackage(), "dist/cli/main.js");
}

/** The file of a door, to be imported by a process: `"openrath/testing"`. */
export async function builtDoor(name = "openrath"): Promise<string> {
  const path: string | undefined = (manifest.exports as Readonly<Record<string, string>>)[name.replace("openrath", ".")];
  if (path === undefined) throw new Error(`The package has no door ${name}.`);
  return join(await builtPackage(), path);
}

const written: string[] = [];

/**
 * A program of a user, whose imports of the package lead to what is built: gives the file to hand to Node.
 *
 * A text is taken as if it lay in the file.
 */
export async function program(file: string, text?: string): Promise<string> {
  const name = basename(file).replace(/\.m?ts$/, "");
  const folder = join(root, ".bundled", `program-${process.pid}-${written.length}`);
  if (written.push(folder) === 1)
    process.once("exit", () => {
      for (const one of written) rmSync(one, { recursive: true, force: true });
    });
  const bundle = await rolldown({
    ...bundling,
    external: /^(?!@oxc-project\/|openrath(?:\/|$))[@a-z]/,
    input: { [name]: file },
    plugins: [
      {
        name: "program",
        resolveId: async (id) => (/^openrath(\/|$)/.test(id) ? { id: await builtDoor(id), external: "absolute" } : id === file ? id : null),
        load: (id) => (id === file ? text : null),
      },
    ],
  });
  await bundle.write({ dir: folder, format: "esm", chunkFileNames: "[name].js" });
  return join(folder, `${name}.js`);
}
