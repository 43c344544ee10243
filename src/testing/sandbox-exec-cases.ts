/** The sandbox contract: commands. Only what every POSIX shell has is used, so that a simulated one can pass. */

import { rejects, type SandboxCase, textOf, timed } from "./sandbox-case.ts";
import { stopCases } from "./sandbox-stop-cases.ts";
import { expect } from "./vitest.ts";

const strange = ["a  b", "$HOME", "; echo x", "*", 'it\'s "so"', "ü→😀", "-n", ""];

export const execCases: readonly SandboxCase[] = [
  {
    name: "output, errors and the exit code of a command are told apart",
    async run({ open }) {
      const sandbox = await open();
      expect(await sandbox.exec("echo out; echo err >&2; exit 3")).toMatchObject({ stdout: "out\n", stderr: "err\n", exitCode: 3 });
      const { stopped, signal, durationMs, ...rest } = await sandbox.exec("true");
      expect(rest).toEqual({ stdout: "", stderr: "", exitCode: 0 });
      expect([stopped, signal, durationMs >= 0]).toEqual([undefined, undefined, true]);
    },
  },
  {
    name: "a command that fails or is not there is a result",
    async run({ open }) {
      const sandbox = await open();
      expect(await sandbox.exec("false")).toMatchObject({ exitCode: 1 });
      for (const command of ["no-such-program-here --help", ["no-such-program-here", "--help"]]) {
        const { exitCode, stderr } = await sandbox.exec(command);
        expect(exitCode).toBe(127);
        expect(stderr).toContain("no-such-program-here");
      }
      expect((await sandbox.exec("if then")).exitCode).not.toBe(0);
    },
  },
  {
    name: "text is given to a shell",
    async run({ open }) {
      const sandbox = await open();
      const { stdout } = await sandbox.exec("for word in one 'two three'; do echo \"$word\"; done | tr a-z A-Z && echo end");
      expect(stdout).toBe("ONE\nTWO THREE\nend\n");
      expect((await sandbox.exec("  echo first\n\n# a remark\n  echo second\n")).stdout).toBe("first\nsecond\n");
    },
  },
  {
    name: "a list is run as it is, each part one argument",
    async run({ open }) {
      const sandbox = await open();
      const { stdout } = await sandbox.exec(["printf", "%s|", ...strange]);
      expect(stdout).toBe(strange.map((part) => `${part}|`).join(""));
      expect(await sandbox.exec(["sh", "-c", "echo inner; exit 4"])).toMatchObject({ stdout: "inner\n", exitCode: 4 });
      expect((await sandbox.exec(["echo hello"])).exitCode).not.toBe(0);
    },
  },
  {
    name: "commands begin in the workspace, or where cwd says",
    async run({ open }) {
      const sandbox = await open();
      await sandbox.write("sub/inner/name.txt", "inside");
      expect((await sandbox.exec("cat sub/inner/name.txt")).stdout).toBe("inside");
      expect((await sandbox.exec("cat name.txt", { cwd: "sub/inner" })).stdout).toBe("inside");
      expect((await sandbox.exec(["cat", "name.txt"], { cwd: "sub/./inner/" })).stdout).toBe("inside");
      const { stdout: root } = await sandbox.exec("pwd");
      expect((await sandbox.exec("cat inner/name.txt", { cwd: `${root.trim()}/sub` })).stdout).toBe("inside");
      await sandbox.exec("cd sub");
      expect((await sandbox.exec("pwd")).stdout).toBe(root);
    },
  },
  {
    name: "a command whose cwd is not there does not run",
    async run({ open }) {
      const sandbox = await open();
      const result = await sandbox.exec("echo ran > ran.txt; pwd", { cwd: "missing" }).catch(() => undefined);
      expect(result?.exitCode).not.toBe(0);
      await rejects(sandbox.read("ran.txt"));
      await rejects(sandbox.read("missing/ran.txt"));
    },
  },
  {
    name: "a command reads its stdin, which is empty when none is given",
    async run({ open }) {
      const sandbox = await open();
      const text = `first\nü→😀\n${"x".repeat(100_000)}`;
      expect((await sandbox.exec("cat", { stdin: text })).stdout).toBe(text);
      expect((await sandbox.exec(["cat"], { stdin: text })).stdout).toBe(text);
      expect((await sandbox.exec("cat; echo end")).stdout).toBe("end\n");
    },
  },
  {
    name: "a command that does not read its stdin ends all the same",
    async run({ open }) {
      const sandbox = await open();
      expect(await sandbox.exec("exit 5", { stdin: "x".repeat(1_000_000) })).toMatchObject({ exitCode: 5 });
    },
  },
  {
    name: "the environment is what was named, and nothing of the host",
    async run({ open }) {
      process.env["OPENRATH_CONFORMANCE_SECRET"] = "of the host";
      try {
        const sandbox = await open({ env: { GREETING: "hé llo=$1 'q'\nnext", EMPTY: "" } });
        expect((await sandbox.exec("printf '%s' \"$GREETING\"")).stdout).toBe("hé llo=$1 'q'\nnext");
        const { stdout: env } = await sandbox.exec("env");
        expect(env.split("\n")).toContain("EMPTY=");
        expect(env).not.toContain("OPENRATH_CONFORMANCE_SECRET");
        await sandbox.exec("export KEPT=1");
        expect((await sandbox.exec(["env"])).stdout).not.toContain("KEPT");
      } finally {
        delete process.env["OPENRATH_CONFORMANCE_SECRET"];
      }
    },
  },
  {
    name: "output is text, whole where it is cut into pieces",
    async run({ open }) {
      const sandbox = await open();
      expect((await sandbox.exec("printf '%s' 'ü→😀'; printf '%s' '日本' >&2")).stdout).toBe("ü→😀");
      const text = "a😀é".repeat(50_000);
      await sandbox.write("long.txt", text);
      const pieces = { stdout: "", stderr: "" };
      const result = await sandbox.exec("cat long.txt; echo told >&2", {
        onOutput: (from, piece) => {
          pieces[from] += piece;
        },
      });
      expect(result.stdout === text).toBe(true);
      expect(pieces.stdout === text).toBe(true);
      expect([result.stderr, pieces.stderr]).toEqual(["told\n", "told\n"]);
    },
  },
  {
    name: "commands see the files of those before them, and many run at once",
    async run({ open }) {
      const sandbox = await open();
      await sandbox.exec("echo one > shared.txt");
      const results = await Promise.all(
        Array.from({ length: 8 }, (_, n) => sandbox.exec(`cat shared.txt; echo ${n} > ${n}.txt; echo ${n}`)),
      );
      expect(results.map(({ stdout }) => stdout)).toEqual(results.map((_, n) => `one\n${n}\n`));
      for (const n of results.keys()) expect(await textOf(sandbox, `${n}.txt`)).toBe(`${n}\n`);
    },
  },
  {
    name: "a million bytes of output are all there",
    async run({ open }) {
      const sandbox = await open();
      const text = "0123456789abcde\n".repeat(65_536);
      await sandbox.write("big.txt", text);
      const { value, ms } = await timed(sandbox.exec("cat big.txt"));
      expect(value.stdout === text).toBe(true);
      expect(value.stopped).toBe(undefined);
      expect(ms).toBeLessThan(10_000);
    },
  },
  ...stopCases,
];
