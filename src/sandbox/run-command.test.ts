import fc from "fast-check";
import { expect, test } from "vitest";
import type { Exit, Spawned, Spawner, SpawnRequest } from "../workspace/spawner.ts";
import { spawner } from "../workspace/spawner.ts";
import { asText, type CommandRun, runCommand } from "./run-command.ts";

const env = { PATH: "/usr/bin:/bin" };
const run = (command: string, more: Partial<CommandRun> = {}) =>
  runCommand(spawner(), {
    argv: ["/bin/sh", "-c", command],
    env,
    timeMs: 20_000,
    output: 1 << 20,
    kill: (process) => process.kill(),
    ...more,
  }).then(asText);

test("gives what a command wrote and how it ended", async () => {
  const result = await run("cat; echo fault >&2; exit 7", { stdin: Buffer.from("given") });
  expect(result).toEqual({ exitCode: 7, stdout: "given", stderr: "fault\n", durationMs: expect.any(Number) });
});

test("a signal is named, whether the process or its shell tells of it", async () => {
  expect(await run("kill -TERM $$")).toMatchObject({ exitCode: 143, signal: "SIGTERM" });
  expect(await run("sh -c 'kill -SEGV $$'; exit $?")).toMatchObject({ exitCode: 139, signal: "SIGSEGV" });
  expect(await run("exit 255")).not.toHaveProperty("signal");
  expect(await run("exit 200")).not.toHaveProperty("signal");
});

test("the time of a command ends it", async () => {
  const result = await run("echo begun; exec sleep 30", { timeMs: 300 });
  expect(result).toMatchObject({ exitCode: 137, signal: "SIGKILL", stopped: "time", stdout: "begun\n" });
  expect(result.durationMs).toBeLessThan(5000);
});

test("output ends at its limit, of each stream alone", async () => {
  const result = await run("printf 123456789 >&2; printf 12345678; exec yes", { output: 10 });
  expect(result).toMatchObject({ stopped: "output", stdout: "12345678y\n", stderr: "123456789" });
  expect(await run("printf 1234567890", { output: 10 })).toMatchObject({ exitCode: 0, stdout: "1234567890" });
});

test("the first byte of the output tells that a command began, and is not part of it", async () => {
  let begun = 0;
  const onBegin = () => {
    begun++;
  };
  expect(await run("exit 1", { onBegin })).toMatchObject({ exitCode: 1, stdout: "" });
  expect(await run("echo said >&2", { onBegin })).toMatchObject({ stderr: "said\n" });
  expect(begun).toBe(0);
  expect(await run("printf .; printf 1234567890; exit 2", { onBegin, output: 10 })).toMatchObject({ exitCode: 2, stdout: "1234567890" });
  expect(begun).toBe(1);
});

test("the disk is asked while a command runs, and one that cannot be asked is full", async () => {
  let asked = 0;
  const written = async () => ++asked * 60;
  expect(await run("exec sleep 30", { disk: { most: 100, written } })).toMatchObject({ stopped: "disk", exitCode: 137 });
  expect(asked).toBe(2);
  const broken = () => Promise.reject(new Error("no"));
  expect(await run("exec sleep 30", { disk: { most: 100, written: broken } })).toMatchObject({ stopped: "disk" });
});

test("the disk is asked once more when a command has ended by itself", async () => {
  let most = 100;
  const disk = { most, written: async () => most };
  expect(await run("exit 3", { disk })).toMatchObject({ exitCode: 3 });
  most = 101;
  expect(await run("echo said; exit 3", { disk })).toMatchObject({ stopped: "disk", exitCode: 3, stdout: "said\n" });
});

test("a cancelled command ends at once", async () => {
  const controller = new AbortController();
  const onOutput = () => controller.abort();
  const running = run("echo begun; exec sleep 30", { signals: [undefined, controller.signal], onOutput });
  const result = await running;
  expect(result).toMatchObject({ stopped: "cancelled", exitCode: 137 });
  expect(result.durationMs).toBeLessThan(5000);
});

test("one that was cancelled before is not started", async () => {
  const never: Spawner = { spawn: () => Promise.reject(new Error("started")) };
  const signals = [AbortSignal.abort()];
  const ran = runCommand(never, { argv: ["true"], timeMs: 1, output: 1, kill: () => {}, signals });
  expect(asText(await ran)).toMatchObject({ stopped: "cancelled", exitCode: 137, stdout: "" });
});

test("one that was cancelled while it was being started is ended", async () => {
  const controller = new AbortController();
  let end: (exit: Exit) => void = () => {};
  const exited = new Promise<Exit>((resolve) => {
    end = resolve;
  });
  const slow: Spawner = {
    spawn: async () => {
      controller.abort();
      return { pid: 1, exited, kill: () => end({ code: undefined, signal: "SIGKILL" }), keepsAlive: () => {} };
    },
  };
  const ran = runCommand(slow, {
    argv: ["true"],
    timeMs: 9999,
    output: 1,
    kill: (each) => each.kill(),
    signals: [undefined, controller.signal],
  });
  expect(await ran).toMatchObject({ stopped: "cancelled" });
});

test("what a listener throws comes out when the command is over", async () => {
  const onOutput = () => {
    throw new Error("not wanted");
  };
  const begun = performance.now();
  await expect(run("echo x; exec sleep 30", { onOutput })).rejects.toThrow("not wanted");
  expect(performance.now() - begun).toBeLessThan(5000);
});

test("text in pieces is the text as a whole, however it is cut", async () => {
  const bytes = fc.oneof(
    fc.uint8Array(),
    fc.string({ unit: "grapheme" }).map((text) => Buffer.from(text)),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(bytes), async (pieces) => {
      let heard = "";
      const result = await runCommand(speaking(pieces), {
        argv: ["x"],
        timeMs: 1000,
        output: 1 << 20,
        kill: () => {},
        onOutput: (_from, text) => {
          heard += text;
        },
      });
      expect(heard).toBe(asText(result).stdout);
      expect(Buffer.from(result.stdout).equals(Buffer.concat(pieces))).toBe(true);
    }),
  );
});

function speaking(pieces: readonly Uint8Array[]): Spawner {
  return {
    async spawn({ onOutput }: SpawnRequest): Promise<Spawned> {
      for (const piece of pieces) onOutput?.("stdout", piece);
      return { pid: 1, exited: Promise.resolve({ code: 0, signal: undefined }), kill: () => {}, keepsAlive: () => {} };
    },
  };
}
