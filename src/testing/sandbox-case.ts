/** What the tests of the sandbox contract are made of. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { OpenSandbox, SandboxBackend, SandboxEntry, SandboxSpec } from "../sandbox/sandbox.ts";
import { RathError } from "../session/errors.ts";
import { expect } from "./vitest.ts";

/** What a test has: the backend, and sandboxes of it that are closed when the test ends. */
export interface SandboxGiven {
  readonly backend: SandboxBackend;
  open(spec?: Partial<SandboxSpec>): Promise<OpenSandbox>;
  /** A new directory of the host, for backends that work in one. */
  directory(): Promise<string | undefined>;
  /** Ends the test, for what only an open sandbox tells: it does not offer this. */
  skip(reason: string): void;
}

/** One test of the suite. */
export interface SandboxCase {
  readonly name: string;
  run(given: SandboxGiven): Promise<void>;
  /** Why a backend that offers less is not asked, or undefined. */
  readonly unless?: (backend: SandboxBackend) => string | undefined;
}

/** What a test has, and what ends it. */
export function givenSandboxes(backend: SandboxBackend, skip: (reason: string) => void): SandboxGiven & AsyncDisposable {
  const opened: OpenSandbox[] = [];
  const directories: string[] = [];
  const directory = async (): Promise<string | undefined> => {
    if (backend.capabilities.directory !== true) return undefined;
    const made = await mkdtemp(join(tmpdir(), "openrath-sandbox-"));
    directories.push(made);
    return made;
  };
  return {
    backend,
    skip,
    directory,
    open: async (spec = {}) => {
      const network = backend.capabilities.network ? "none" : "all";
      const given = { session: "session", network, env: {}, ...spec } as const;
      const sandbox = await backend.open({ directory: await directory(), ...given });
      opened.push(sandbox);
      return sandbox;
    },
    [Symbol.asyncDispose]: async () => {
      for (const sandbox of opened) await sandbox[Symbol.asyncDispose]();
      for (const made of directories) await rm(made, { recursive: true, force: true });
    },
  };
}

/** What is in a directory: kinds by path. */
export async function listed(sandbox: OpenSandbox, path?: string): Promise<Record<string, SandboxEntry["kind"]>> {
  const found: Record<string, SandboxEntry["kind"]> = {};
  for await (const entry of sandbox.list(path)) found[entry.path] = entry.kind;
  return found;
}

/** The text of a file. */
export async function textOf(sandbox: OpenSandbox, path: string): Promise<string> {
  return Buffer.from(await sandbox.read(path)).toString();
}

/** Rejects, and with an error that has a name where a code is expected. */
export async function rejects(promise: Promise<unknown>, code?: string): Promise<void> {
  const error: unknown = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown ?? "nothing",
  );
  expect(error, "it should have rejected").toBeDefined();
  if (code !== undefined) expect(RathError.is(error) ? error.code : error).toBe(code);
}

/** Waits for something and says how long that took. */
export async function timed<T>(promise: Promise<T>): Promise<{ readonly value: T; readonly ms: number }> {
  const began = performance.now();
  return { value: await promise, ms: performance.now() - began };
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
