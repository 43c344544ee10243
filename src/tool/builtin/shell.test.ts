import { describe, expect, test } from "vitest";
import { bench } from "../../../test/support/tool-context.ts";
import type { CommandResult, ExecOptions, Sandbox, SandboxProcess } from "../../session/session.ts";
import { shorten } from "./shorten.ts";
import { runCode, shell } from "./tools.ts";

describe("shell", () => {
  test("gives what a command came to; a failing one is a result", async () => {
    const { call } = await bench({ "a.txt": "one\ntwo\n" });
    expect(await call(shell, { command: "wc -l < a.txt; echo bad >&2; exit 3" })).toMatchObject({
      stdout: "2\n",
      stderr: "bad\n",
      exitCode: 3,
    });
    expect(await call(shell, { command: "no-such-program" })).toMatchObject({ exitCode: 127 });
  });

  test("is stopped at its timeout, or by the signal", async () => {
    const { call } = await bench();
    expect(await call(shell, { command: "sleep 30", timeout: 0.2 })).toMatchObject({ stopped: "time" });
    const stopped = await bench({}, { signal: AbortSignal.timeout(200) });
    expect(await stopped.call(shell, { command: "sleep 30" })).toMatchObject({ stopped: "cancelled" });
  });

  test("is given two minutes when nobody says otherwise", async () => {
    const given: (ExecOptions | undefined)[] = [];
    const exec = async (_: unknown, options?: ExecOptions): Promise<CommandResult> => {
      given.push(options);
      return { exitCode: 0, stdout: "", stderr: "", durationMs: 1 };
    };
    const { call } = await bench({}, { sandbox: { exec } as unknown as Sandbox });
    await call(shell, { command: "x" });
    await call(shell, { command: "x", timeout: 1.5 });
    expect(given.map((options) => options?.timeoutMs)).toEqual([120_000, 1500]);
  });

  test("shows of long output how it begins and ends, and says how much is between", async () => {
    const lines = Array.from({ length: 10_000 }, (_, n) => `line ${n}\n`).join("");
    const { call } = await bench({ "long.txt": lines });
    const { stdout } = await call(shell, { command: "cat long.txt" });
    expect(stdout.length).toBeLessThan(21_000);
    expect(stdout.startsWith("line 0\nline 1\n")).toBe(true);
    expect(stdout.endsWith("line 9999\n")).toBe(true);
    const [, left] =
      /\n\[… (\d+) characters are left out here; the whole output is kept in the record of this call …\]\nline \d+\n/.exec(stdout) ?? [];
    expect(lines.length - Number(left)).toBe(stdout.replace(/\n\[….*…\]\n/, "").length);
  });

  test("never cuts a character in two", () => {
    for (const text of ["😀".repeat(20_000), `x${"😀".repeat(20_000)}`, `x${"😀".repeat(20_000)}y`])
      expect((shorten(text) as string & { isWellFormed(): boolean }).isWellFormed()).toBe(true);
    expect(shorten("x".repeat(20_000))).toBe("x".repeat(20_000));
  });

  test("tells output as it comes, but not every byte of it", async () => {
    const exec = async (_: unknown, options?: ExecOptions): Promise<CommandResult> => {
      for (let n = 0; n < 1000; n++) options?.onOutput?.("stdout", `${n} ${"x".repeat(1000)}\n`);
      return { exitCode: 0, stdout: "", stderr: "", durationMs: 1 };
    };
    const { call, told } = await bench({}, { sandbox: { exec } as unknown as Sandbox });
    await call(shell, { command: "x" });
    expect(told.length).toBeLessThan(6);
    expect(told[0]).toContain("0 xxx");
    expect(told.at(-1)).toContain("999 xxx");
    expect(Math.max(...told.map((piece) => piece.length))).toBeLessThan(2100);
  });

  test.each<readonly [object, RegExp]>([
    [{}, /either command or process/],
    [{ command: "ls", process: "1" }, /either command or process/],
    [{ command: "ls", stop: true }, /stop ends a process/],
    [{ command: "ls", background: true, timeout: 3 }, /has no timeout/],
    [{ command: "ls", background: true }, /no background processes/],
    [{ process: "p9" }, /no background process "p9"/],
    [{ command: "" }, /invalid/],
    [{ command: "ls", timeout: 0 }, /invalid/],
  ])("refuses %j", async (input, message) => {
    const { call } = await bench();
    await expect(call(shell, input)).rejects.toThrow(message);
  });

  test("starts processes, reads on from them and ends them", async () => {
    const process = { id: "p1", command: "serve", exitCode: undefined as number | undefined, waiting: "ready\n" };
    const sandbox = {
      start: async (command: string) => {
        expect(command).toBe("serve");
        return sandbox.process("p1");
      },
      process: (id: string): SandboxProcess | undefined =>
        id !== "p1"
          ? undefined
          : {
              ...process,
              get exitCode() {
                return process.exitCode;
              },
              read: async () => {
                const stdout = process.waiting;
                process.waiting = "";
                return { stdout, stderr: "" };
              },
              stop: async () => {
                process.exitCode = 143;
                process.waiting += "bye\n";
              },
            },
    };
    const { call } = await bench({}, { sandbox: sandbox as unknown as Sandbox });
    expect(await call(shell, { command: "serve", background: true })).toEqual({ process: "p1", stdout: "ready\n", stderr: "" });
    expect(await call(shell, { process: "p1" })).toEqual({ process: "p1", stdout: "", stderr: "" });
    // What is left out is in no record: nobody is told that it is.
    process.waiting = "line\n".repeat(10_000);
    const { stdout } = await call(shell, { process: "p1" });
    expect(stdout).toMatch(/\n\[… \d+ characters are left out here; they are kept nowhere: .* …\]\n/);
    expect(await call(shell, { process: "p1", stop: true })).toEqual({ process: "p1", stdout: "bye\n", stderr: "", exitCode: 143 });
  });
});

describe("run_code", () => {
  test("runs a program and leaves no file behind", async () => {
    const { call, sandbox } = await bench({ "a.txt": "hi" });
    expect(await call(runCode, { language: "bash", code: 'for i in 1 2; do echo "$i $(cat a.txt)"; done; exit 4' })).toMatchObject({
      stdout: "1 hi\n2 hi\n",
      exitCode: 4,
    });
    const left: string[] = [];
    for await (const { path } of sandbox.list()) left.push(path);
    expect(left).toEqual(["a.txt"]);
  });

  test("says which languages there are, and that an interpreter is missing", async () => {
    const { call } = await bench();
    await expect(call(runCode, { language: "cobol", code: "" })).rejects.toThrow(/invalid.*javascript.*python.*bash/);
    await expect(runCode["~run"]({ language: "toString", code: "" }, {} as never)).rejects.toThrow(
      '"toString" is not known: use javascript, python, bash.',
    );
    await expect(call(runCode, { language: "javascript", code: "1" })).rejects.toThrow(
      "This sandbox has no node, so javascript cannot be run here",
    );
  });

  test("gives the code to the interpreter as input", async () => {
    const given: unknown[] = [];
    const exec = async (command: unknown, options?: ExecOptions): Promise<CommandResult> => {
      given.push([command, options?.stdin]);
      return { exitCode: 0, stdout: "", stderr: "", durationMs: 1 };
    };
    const { call } = await bench({}, { sandbox: { exec } as unknown as Sandbox });
    for (const language of ["javascript", "python", "bash"]) await call(runCode, { language, code: "'; x" });
    expect(given).toEqual([
      [["node", "-"], "'; x"],
      [["python3", "-"], "'; x"],
      [["bash", "-s"], "'; x"],
    ]);
  });
});
