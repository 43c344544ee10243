/** The runner of the conformance suites, where it is installed: the rest of `openrath/testing` works without it. */
import type * as Vitest from "vitest";

const name = "vitest";
const found = (await import(name).catch(() => undefined)) as typeof Vitest | undefined;

function missing(): never {
  throw new Error("The conformance suites need vitest, and it is not installed: npm install --save-dev vitest");
}
const absent = new Proxy(missing, { get: missing }) as unknown;

export const { describe, expect, test } =
  found ?? ({ describe: absent, expect: absent, test: absent } as Pick<typeof Vitest, "describe" | "expect" | "test">);
