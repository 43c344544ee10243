import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { hostSandbox } from "./host.ts";
import type { OpenSandbox, SandboxSpec } from "./sandbox.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "openrath-host-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const open = (spec: Partial<SandboxSpec> = {}): Promise<OpenSandbox> =>
  hostSandbox().open({ session: "s", directory, network: "all", env: {}, ...spec });

test("says that it isolates nothing", () => {
  expect(hostSandbox()).toMatchObject({ kind: "host", capabilities: { isolation: "none", network: false, directory: true } });
});

test("commands run in the directory, with a few variables and those that were named", async () => {
  process.env["HOST_MARK"] = "mark";
  await using sandbox = await open({ env: { OWN: "own" } });
  const { stdout } = await sandbox.exec("pwd; env");
  expect(stdout).toContain(`${directory}\n`);
  expect(stdout).toMatch(/^OWN=own$/m);
  const names = stdout
    .split("\n")
    .slice(1)
    .filter(Boolean)
    .map((line) => line.split("=")[0])
    .filter((name) => !["PWD", "SHLVL", "_"].includes(name as string));
  expect(names.sort()).toEqual(["HOME", "LANG", "OWN", "PATH", "TMPDIR"]);
});

test("a list is run as it is, and what is not there is exit code 127 or an error that says so", async () => {
  await using sandbox = await open();
  expect(await sandbox.exec(["printf", "%s", "a b; $c"])).toMatchObject({ exitCode: 0, stdout: "a b; $c" });
  expect((await sandbox.exec(["no-such-program"])).exitCode).toBe(127);
});

test("files are read, written, listed and removed", async () => {
  await using sandbox = await open();
  await sandbox.write("a/b c", "text");
  await sandbox.write(`${directory}/d`, new Uint8Array([0, 255]));
  expect(readFileSync(join(directory, "a/b c"), "utf8")).toBe("text");
  expect([...(await sandbox.read("d"))]).toEqual([0, 255]);
  const seen: unknown[] = [];
  for await (const entry of sandbox.list()) seen.push(entry);
  expect(seen).toContainEqual({ path: "a", kind: "directory", mode: 0o755 });
  await sandbox.remove("a");
  await sandbox.remove("a");
  await expect(sandbox.read("a/b c")).rejects.toMatchObject({ code: "sandbox.failed", details: { missing: true } });
});

test.each(["../x", "/etc/passwd", "a/../../x"])("%s is outside", async (path) => {
  await using sandbox = await open();
  await expect(sandbox.read(path)).rejects.toMatchObject({ code: "sandbox.outside" });
  await expect(sandbox.write(path, "")).rejects.toMatchObject({ code: "sandbox.outside" });
  await expect(sandbox.remove(path)).rejects.toMatchObject({ code: "sandbox.outside" });
  await expect(sandbox.exec("true", { cwd: path })).rejects.toMatchObject({ code: "sandbox.outside" });
});

test.each(["", ".", "a/.."])("the workspace itself, %j, is neither written nor removed", async (path) => {
  await using sandbox = await open();
  await expect(sandbox.remove(path)).rejects.toMatchObject({ code: "sandbox.outside" });
  await expect(sandbox.write(path, "")).rejects.toMatchObject({ code: "sandbox.outside" });
});

test("limits hold for a process", async () => {
  await using sandbox = await open({ limits: { file: "1mb", time: "400ms" } });
  expect(await sandbox.exec(["dd", "if=/dev/zero", "of=big", "bs=64k", "count=64"])).toMatchObject({ signal: "SIGXFSZ" });
  expect(await sandbox.exec("sleep 30 & sleep 30")).toMatchObject({ stopped: "time" });
});

test("closing it ends what runs", async () => {
  const sandbox = await open();
  const running = sandbox.exec("sleep 30");
  await sandbox[Symbol.asyncDispose]();
  expect(await running).toMatchObject({ stopped: "cancelled" });
});

test("what it cannot do is refused by name", async () => {
  await expect(open({ network: { allow: ["a"] } })).rejects.toMatchObject({ code: "sandbox.unavailable" });
  await expect(open({ layers: [{ path: "a", from: "/usr" }] })).rejects.toMatchObject({ code: "sandbox.unavailable" });
  await expect(open({ directory: undefined })).rejects.toMatchObject({ code: "sandbox.failed" });
});
