/** The sandbox contract: commands that are ended by a limit or by whoever asked. */

import type { OpenSandbox } from "../sandbox/sandbox.ts";
import { pause, rejects, type SandboxCase, timed } from "./sandbox-case.ts";
import { expect } from "./vitest.ts";

/** Far less than the commands here take when nobody ends them. */
const soonMs = 10_000;

/** Says that it runs, then takes long. One that is stopped before it began may be refused instead. */
const begins = "echo begun > begun.txt; sleep 60";

/** Returns once that command runs. */
async function begun(sandbox: OpenSandbox): Promise<void> {
  for (const from = performance.now(); performance.now() - from < soonMs; await pause(20))
    if ((await sandbox.read("begun.txt").catch(() => "")).length > 0) return;
  throw new Error("the command never began");
}

export const stopCases: readonly SandboxCase[] = [
  {
    name: "an aborted command ends soon and says that it was cancelled",
    async run({ open }) {
      const sandbox = await open();
      await sandbox.exec("true");
      const abort = new AbortController();
      const running = sandbox.exec(begins, { signal: abort.signal });
      running.catch(() => {});
      await begun(sandbox);
      abort.abort();
      const { value, ms } = await timed(running);
      expect(value.stopped).toBe("cancelled");
      expect(value.exitCode).not.toBe(0);
      expect(ms).toBeLessThan(soonMs);
      expect((await sandbox.exec("echo again")).stdout).toBe("again\n");
    },
  },
  {
    name: "a command that was aborted before it began does nothing",
    async run({ open }) {
      const sandbox = await open();
      await sandbox.exec("echo ran > ran.txt", { signal: AbortSignal.abort() }).catch(() => {});
      await rejects(sandbox.read("ran.txt"));
    },
  },
  {
    name: "a command ends at its timeout, and says so",
    async run({ open }) {
      const sandbox = await open();
      const { value, ms } = await timed(sandbox.exec("sleep 60", { timeoutMs: 300 }));
      expect(value.stopped).toBe("time");
      expect(value.exitCode).toBeGreaterThan(128);
      expect(ms).toBeLessThan(soonMs);
      expect(await sandbox.exec("exit 7", { timeoutMs: 60_000 })).toMatchObject({ exitCode: 7 });
      expect((await sandbox.exec("exit 7", { timeoutMs: 60_000 })).stopped).toBe(undefined);
    },
  },
  {
    name: "the limit of the placement holds, whatever a command asks for",
    async run({ open }) {
      const sandbox = await open({ limits: { time: "300ms" } });
      for (const options of [{}, { timeoutMs: 60_000 }]) {
        const { value, ms } = await timed(sandbox.exec("sleep 60", options));
        expect(value.stopped).toBe("time");
        expect(ms).toBeLessThan(soonMs);
      }
    },
  },
  {
    name: "what a stopped command had started is stopped too",
    async run({ open }) {
      const sandbox = await open();
      await sandbox.exec("(sleep 1; echo late > late.txt) & sleep 60", { timeoutMs: 300 });
      await pause(1500);
      await rejects(sandbox.read("late.txt"));
    },
  },
  {
    name: "a command that writes too much is ended, and what it wrote first is kept",
    async run({ open }) {
      const sandbox = await open({ limits: { output: "64kb" } });
      await sandbox.write("big.txt", "0123456789abcde\n".repeat(65_536));
      const { stdout, stopped } = await sandbox.exec("cat big.txt");
      expect(stopped).toBe("output");
      expect(stdout.length).toBeGreaterThan(0);
      expect(stdout.length).toBeLessThanOrEqual(65_536);
      expect(stdout.startsWith("0123456789abcde\n")).toBe(true);
      expect((await sandbox.exec("cat big.txt >&2")).stopped).toBe("output");
      expect((await sandbox.exec("echo again")).stdout).toBe("again\n");
    },
  },
  {
    name: "closing ends a command that runs",
    async run({ open }) {
      const sandbox = await open();
      await sandbox.exec("true");
      const running = sandbox.exec(begins).catch(() => undefined);
      await begun(sandbox);
      const { ms } = await timed(Promise.all([running, sandbox[Symbol.asyncDispose]()]));
      expect(ms).toBeLessThan(soonMs);
    },
  },
];
