/** The runner of the conformance suites, where it is installed: the rest of `openrath/testing` works without it. */
import type * as Vitest from "vitest";

const name = "vitest";
let reason = "";
const found = (await import(name).catch((error: Error) => {
  reason = error.message;
})) as typeof Vitest | undefined;

function missing(): never {
  throw new Error(`The conformance suites need vitest, which cannot be imported (${reason}): npm install --save-dev vitest fast-check`);
}
const absent = new Proxy(missing, { get: missing }) as unknown;

export const { describe, expect, test } =
  found ?? ({ describe: absent, expect: absent, test: absent } as Pick<typeof Vitest, "describe" | "expect" | "test">);
