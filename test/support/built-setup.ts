/** Lends all test files of one run the package as it is built, and its declarations: each is made when the first file asks. */
import { execFile } from "node:child_process";
import { copyFile, mkdir, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { TestProject } from "vitest/node";
import { lend } from "./lender.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Where the folder of the package is told; asking builds it. */
    readonly builtPort: number;
    /** Where the folder of its declarations is told; asking makes them. */
    readonly declaredPort: number;
  }
}

const root = fileURLToPath(new URL("../../", import.meta.url));
const node = (...argv: readonly string[]) => promisify(execFile)(process.execPath, argv, { cwd: root });

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = join(root, ".bundled", `package-${process.pid}`);
  let built: Promise<string> | undefined;
  let declared: Promise<string> | undefined;
  const lenders = [
    await lend(() => {
      built ??= build(join(folder, "built"));
      return built;
    }),
    await lend(() => {
      declared ??= declare(join(folder, "declared"));
      return declared;
    }),
  ] as const;
  project.provide("builtPort", lenders[0].port);
  project.provide("declaredPort", lenders[1].port);
  return async () => {
    for (const lender of lenders) lender.close();
    await Promise.allSettled([built, declared]);
    await rm(folder, { recursive: true, force: true });
  };
}

async function build(folder: string): Promise<string> {
  await mkdir(join(folder, "dist"), { recursive: true });
  await copyFile(join(root, "package.json"), join(folder, "package.json"));
  await node("scripts/bundle.mjs", join(folder, "dist"));
  await symlink(join(root, "dist/inspector"), join(folder, "dist/inspector"));
  return folder;
}

async function declare(folder: string): Promise<string> {
  // Whether the types are right is said by `npm run check:types`.
  await node("node_modules/typescript/bin/tsc", "-p", "tsconfig.build.json", "--noCheck", "--outDir", folder);
  return folder;
}
