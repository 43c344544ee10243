/** Whether this machine can isolate commands. What cannot be tested here is said once, with the reason. */
import { localSandbox } from "../../src/sandbox/local.ts";
import { textOfThrown } from "../../src/session/thrown.ts";

/** Why not, or undefined. */
export const noLocal: string | undefined = await localSandbox()
  .ready?.()
  .then(() => undefined, textOfThrown);
if (noLocal !== undefined && process.env["CI"]) throw new Error(`Here everything is tested, and "local" cannot be: ${noLocal}`);
if (noLocal !== undefined) console.warn(`skipped: tests in the sandbox "local". ${noLocal}`);
