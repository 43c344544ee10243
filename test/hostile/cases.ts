import { fileCases } from "./cases-files.ts";
import { kernelCases } from "./cases-kernel.ts";
import { limitCases } from "./cases-limits.ts";
import { processCases } from "./cases-processes.ts";
import type { Case } from "./stage.ts";

/** In the order of their numbers. */
export const cases: readonly Case[] = [...fileCases, ...processCases, ...limitCases, ...kernelCases].sort((a, b) =>
  a.name.localeCompare(b.name),
);
