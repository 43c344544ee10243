/**
 * What every sandbox backend must do, as vitest tests for backends of ours and of others.
 *
 * @example
 * sandboxConformance({ name: "memory", create: () => memorySandbox() });
 */

import type { SandboxBackend } from "../sandbox/sandbox.ts";
import { type Conformance, registerCases } from "./conformance.ts";
import { givenSandboxes } from "./sandbox-case.ts";
import { execCases } from "./sandbox-exec-cases.ts";
import { fileCases } from "./sandbox-file-cases.ts";
import { lifeCases } from "./sandbox-life-cases.ts";
import { test } from "./vitest.ts";

/** Opening a sandbox may mean starting a machine. */
const timeoutMs = 120_000;

/**
 * Registers the tests of the sandbox contract. What a backend does not offer by its `capabilities` is skipped by itself, and says
 * so; everything else only by name and with a reason. A skip that names no test is an error. Backends that work in a directory of
 * the host are given a temporary one.
 */
export function sandboxConformance(subject: Conformance<SandboxBackend>): void {
  const cases = [...execCases, ...fileCases, ...lifeCases];
  registerCases("sandbox", subject, cases, ({ name, run, unless }) =>
    test(
      name,
      async ({ skip }) => {
        const backend = await subject.create();
        const missing = unless?.(backend);
        if (missing !== undefined) skip(missing);
        await using given = givenSandboxes(backend, skip);
        await run(given);
      },
      timeoutMs,
    ),
  );
}
