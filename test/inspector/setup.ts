/** Lends all test files of one run a stage that is only looked at; it is built when the first asks. */
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
