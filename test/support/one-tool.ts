/** A tool that does what a test tells it to, and a Rath to call it from. */
import { expect } from "vitest";
import { z } from "zod";
import type { RathError } from "../../src/session/errors.ts";
import type { ToolContext } from "../../src/session/session.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { type ToolOptions, tool } from "../../src/tool/tool.ts";
import { otherProcess } from "./other-process.ts";

export const never = (): Promise<never> => new Promise(() => {});
export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const input = z.object({});
export type Given = ToolOptions<typeof input, unknown>;
export const made = (run: (context: ToolContext) => unknown, more: Partial<Given> = {}) =>
  tool({ name: "t", description: "Does something.", input, repeat: "safe", run: (_, context) => run(context), ...more });

export const rathOn = (times = {}) => otherProcess(memoryStore(), {}, times);
export const rejected = (call: Promise<unknown>): Promise<RathError> =>
  call.then(
    () => expect.fail("it went well"),
    (error: RathError) => error,
  );
