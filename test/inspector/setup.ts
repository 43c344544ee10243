/** What all test files of one run share of the inspector: its build, and a stage that is only looked at, built when the first asks. */
import { fileURLToPath } from "node:url";
import { build } from "vite";
import type { TestProject } from "vitest/node";
import { lend } from "../support/lender.ts";
import type { Looked, Stage } from "./stage.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Where the stage is told; asking builds it. */
    readonly stagePort: number;
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  await built();
  let stage: Promise<Stage> | undefined;
  const lender = await lend(async () => {
    stage ??= import("./stage.ts").then(({ buildStage }) => buildStage());
    const { url, folder, session, taught }: Looked = await stage;
    return JSON.stringify({ url, folder, session, taught });
  });
  project.provide("stagePort", lender.port);
  return async () => {
    lender.close();
    await (await stage)?.[Symbol.asyncDispose]();
  };
}

/** To where a server that runs from source looks for it. */
async function built(): Promise<void> {
  // As it is shipped: a build for tests is several times slower.
  const before = process.env["NODE_ENV"];
  process.env["NODE_ENV"] = "production";
  await build({ root: fileURLToPath(new URL("../../inspector", import.meta.url)), logLevel: "error" });
  process.env["NODE_ENV"] = before;
}
