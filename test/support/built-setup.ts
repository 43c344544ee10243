/** Lends all test files of one run what is built for them: the package, its declarations, the inspector. Each is made when the first asks. */
import { execFile } from "node:child_process";
import { copyFile, mkdir, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { build } from "vite";
import type { TestProject } from "vitest/node";
import { lend } from "./lender.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const node = (...argv: readonly string[]) => promisify(execFile)(process.execPath, argv, { cwd: root });

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = join(root, ".bundled", `package-${process.pid}`);
  const made: Promise<string>[] = [];
  const once = (make: () => Promise<string>): (() => Promise<string>) => {
    let making: Promise<string> | undefined;
    return () => {
      if (making !== undefined) return making;
      making = make();
      made.push(making);
      return making;
    };
  };
  const inspector = once(buildInspector);
  const lenders = {
    inspectorPort: await lend(inspector),
    builtPort: await lend(once(() => buildPackage(join(folder, "built"), inspector))),
    declaredPort: await lend(once(() => declare(join(folder, "declared")))),
  };
  for (const [name, { port }] of Object.entries(lenders)) project.provide(name as keyof typeof lenders, port);
  return async () => {
    for (const lender of Object.values(lenders)) lender.close();
    await Promise.allSettled(made);
    await rm(folder, { recursive: true, force: true });
  };
}

async function buildPackage(folder: string, inspector: () => Promise<string>): Promise<string> {
  await mkdir(join(folder, "dist"), { recursive: true });
  await copyFile(join(root, "package.json"), join(folder, "package.json"));
  await node("scripts/bundle.mjs", join(folder, "dist"));
  await symlink(await inspector(), join(folder, "dist/inspector"));
  return folder;
}

async function declare(folder: string): Promise<string> {
  // Whether the types are right is said by `npm run check:types`.
  await node("node_modules/typescript/bin/tsc", "-p", "tsconfig.build.json", "--noCheck", "--outDir", folder);
  return folder;
}

/** To where a server that runs from source looks for it. */
async function buildInspector(): Promise<string> {
  // As it is shipped: a build for tests is several times slower.
  const before = process.env["NODE_ENV"];
  process.env["NODE_ENV"] = "production";
  try {
    await build({ root: join(root, "inspector"), logLevel: "error" });
  } finally {
    process.env["NODE_ENV"] = before;
  }
  return join(root, "dist/inspector");
}
