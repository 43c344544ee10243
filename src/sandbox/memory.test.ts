import { describe, expect, test, vi } from "vitest";
import { memorySandbox } from "./memory.ts";
import type { OpenSandbox, SandboxSpec } from "./sandbox.ts";

const open = (spec: Partial<SandboxSpec> = {}): Promise<OpenSandbox> =>
  memorySandbox().open({ session: "s", directory: undefined, network: "none", env: {}, ...spec });
const text = async (sandbox: OpenSandbox, path: string): Promise<string> => Buffer.from(await sandbox.read(path)).toString();
const entries = async (sandbox: OpenSandbox, path?: string) => {
  const found = [];
  for await (const entry of sandbox.list(path)) found.push(entry);
  return found;
};

describe("a memory sandbox", () => {
  test("says what it is", () => {
    const { kind, capabilities } = memorySandbox();
    expect([kind, capabilities]).toEqual(["memory", { isolation: "process", network: true, fork: false, snapshot: false }]);
  });

  test("has an id that is the same for the same program", async () => {
    const backend = memorySandbox();
    const spec = { directory: undefined, network: "none", env: {} } as const;
    const ids = [];
    for (const session of ["a", "a", "b"]) ids.push((await backend.open({ ...spec, session })).id);
    expect(ids).toEqual(["memory-a-1", "memory-a-2", "memory-b-1"]);
  });

  test("keeps the files that were there before its first command, empty directories too", async () => {
    const sandbox = await open();
    await sandbox.write("a/b.txt", "before");
    await sandbox.write("gone/x", "");
    await sandbox.remove("gone/x");
    expect((await sandbox.exec("cat a/b.txt; ls -d gone")).stdout).toBe("beforegone\n");
    expect(await text(sandbox, "a/b.txt")).toBe("before");
  });

  test("does not lose what is written while its first command comes", async () => {
    const sandbox = await open();
    await Promise.all([
      sandbox.write("1", "1"),
      sandbox.exec("echo x > 2"),
      sandbox.write("3", "3"),
      sandbox.remove("none"),
      sandbox.exec("echo y > 4"),
    ]);
    expect((await entries(sandbox)).map(({ path }) => path)).toEqual(["1", "2", "3", "4"]);
  });

  test("does not lose what is written while its files move", async () => {
    const sandbox = await open();
    for (let n = 0; n < 50; n++) await sandbox.write(`old/${n}`, "");
    const running = sandbox.exec("true");
    const written: Promise<void>[] = [];
    for (let n = 0; n < 200; n++) {
      written.push(sandbox.write(`new/${n}`, ""));
      await (n % 10 === 0 ? new Promise(setImmediate) : undefined);
    }
    await Promise.all([running, ...written]);
    expect([(await entries(sandbox, "old")).length, (await entries(sandbox, "new")).length]).toEqual([50, 200]);
  });

  test("tells modes, and where links lead", async () => {
    const sandbox = await open();
    await sandbox.write("run.sh", "");
    await sandbox.write("plain", "");
    expect(await entries(sandbox)).toEqual([
      { path: "plain", kind: "file", mode: 0o644 },
      { path: "run.sh", kind: "file", mode: 0o644 },
    ]);
    await sandbox.exec("chmod 755 run.sh; ln -s run.sh link; mkdir dir");
    expect(await entries(sandbox)).toMatchObject([
      { path: "dir", kind: "directory", mode: 0o755 },
      { path: "link", kind: "link", target: "run.sh" },
      { path: "plain", kind: "file", mode: 0o644 },
      { path: "run.sh", kind: "file", mode: 0o755 },
    ]);
  });

  test("follows no link out of the workspace, and none in a circle", async () => {
    const sandbox = await open();
    await sandbox.exec(
      "mkdir dir; ln -s /tmp far; ln -s ../.. dir/up; ln -s /tmp/x leak; ln -s b a; ln -s a b; ln -s /workspace/dir whole; echo x > dir/x",
    );
    const outside = { code: "sandbox.outside" };
    for (const path of ["leak", "far/x", "dir/up/tmp/x", "a", "b/c"]) {
      await expect(sandbox.read(path)).rejects.toMatchObject(outside);
      await expect(sandbox.write(path, "x")).rejects.toMatchObject(outside);
    }
    await expect(entries(sandbox, "far")).rejects.toMatchObject(outside);
    await expect(sandbox.remove("far/x")).rejects.toMatchObject(outside);
    expect(await text(sandbox, "whole/x")).toBe("x\n");
    await sandbox.remove("far");
    expect((await sandbox.exec("ls -d /tmp")).stdout).toBe("/tmp\n");
  });

  test("has none of the host's programs, files and network", async () => {
    const sandbox = await open({ network: "all" });
    for (const program of ["node", "git", "curl", "python3"]) expect((await sandbox.exec([program, "--version"])).exitCode).toBe(127);
    expect((await sandbox.exec(["cat", process.execPath])).exitCode).toBe(1);
    expect((await sandbox.exec("env | sort")).stdout).toBe("HOME=/workspace\nPATH=/usr/bin:/bin\n");
  });

  test("ends a busy loop at its time, and soon when there is none", async () => {
    const sandbox = await open();
    const loop = "while true; do :; done";
    expect(await sandbox.exec(loop, { timeoutMs: 100 })).toMatchObject({ stopped: "time", exitCode: 137, signal: "SIGKILL", stderr: "" });
    expect((await sandbox.exec(loop)).exitCode).toBe(126);
  });

  test("goes on after its own directories were removed", async () => {
    const sandbox = await open();
    await sandbox.exec("rm -rf /workspace /tmp");
    expect((await sandbox.exec("pwd; echo x > y; cat y")).stdout).toBe("/workspace\nx\n");
    expect(await text(sandbox, "y")).toBe("x\n");
    await expect(sandbox.remove(".")).rejects.toMatchObject({ code: "sandbox.denied" });
  });

  test("takes a script from its input, and quotes the name of a program", async () => {
    const sandbox = await open();
    expect((await sandbox.exec(["bash", "-s"], { stdin: "echo $((1 + 1))" })).stdout).toBe("2\n");
    expect((await sandbox.exec(["it's; echo x"])).stdout).toBe("");
  });

  test("refuses a limit that is none", async () => {
    await expect((await open({ limits: { output: "much" } })).exec("ls")).rejects.toMatchObject({ code: "value.unsupported" });
  });
});

describe("without just-bash", () => {
  test("files work, and commands say what to install", async () => {
    vi.doMock("just-bash", () => {
      throw new Error("Cannot find package 'just-bash'");
    });
    try {
      const sandbox = await open();
      await sandbox.write("a/b", "kept");
      await expect(sandbox.exec("ls")).rejects.toMatchObject({
        code: "sandbox.unavailable",
        message: expect.stringMatching(/npm install just-bash/),
      });
      await expect(sandbox.exec("ls")).rejects.toMatchObject({ code: "sandbox.unavailable" });
      expect(await text(sandbox, "a/b")).toBe("kept");
      await sandbox.write("c", "");
      await sandbox.remove("a");
      expect((await entries(sandbox)).map(({ path }) => path)).toEqual(["c"]);
      await expect(sandbox.read("a/b")).rejects.toMatchObject({ code: "sandbox.failed", message: 'There is nothing at "a/b".' });
    } finally {
      vi.doUnmock("just-bash");
    }
  });
});
