/** The tools where they are used most: on files of a directory, with programs of the host, kept off everything else. */
import { mkdtemp, readFile as readHostFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Bench, bench } from "../../../test/support/tool-context.ts";
import { localSandbox } from "../../sandbox/local.ts";
import type { OpenSandbox } from "../../sandbox/sandbox.ts";
import { editFile, listFiles, readFile, runCode, searchFiles, shell, writeFile } from "./tools.ts";

const backend = localSandbox();
const missing = await backend.ready?.().then(
  () => undefined,
  (error: Error) => error.message,
);
if (missing !== undefined) console.warn(`skipped: ${missing}`);

describe.skipIf(missing !== undefined)("the tools in a local sandbox", () => {
  let directory: string;
  let sandbox: OpenSandbox;
  let call: Bench["call"];
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "openrath-tools-"));
    sandbox = await backend.open({ session: "s", directory, network: "none", env: {} });
    ({ call } = await bench({}, { sandbox }));
  });
  afterAll(async () => {
    await sandbox?.[Symbol.asyncDispose]();
    await rm(directory, { recursive: true, force: true });
  });

  test("write, read, edit, list and search files", async () => {
    expect(await call(writeFile, { path: "src/ü b.txt", content: "one\ntwo\n" })).toBe("Created src/ü b.txt: 2 lines, 8 bytes.");
    expect(await call(writeFile, { path: "/workspace/src/ü b.txt", content: "one\r\ntwo\r\n" })).toMatch(/^Replaced/);
    expect(await call(editFile, { path: "src/ü b.txt", find: "one\ntwo", replace: "1\n2" })).toMatch(/^Changed 1 place/);
    expect(await readHostFile(join(directory, "src/ü b.txt"), "utf8")).toBe("1\r\n2\r\n");
    expect(await call(readFile, { path: "src/ü b.txt" })).toBe("1\r\n2\r\n");
    expect(await call(listFiles, {})).toEqual(["src/", "src/ü b.txt"]);
    expect(await call(searchFiles, { pattern: "^2$" })).toEqual(["src/ü b.txt:2: 2"]);
    await expect(call(readFile, { path: "src/nothing" })).rejects.toThrow(
      'There is no file "src/nothing". Its directory has: src/ü b.txt.',
    );
    await expect(call(readFile, { path: "/etc/passwd" })).rejects.toMatchObject({ code: "sandbox.outside" });
  });

  test("run commands, and programs by their text", async () => {
    expect(await call(shell, { command: "echo out; echo err >&2; exit 3" })).toMatchObject({
      stdout: "out\n",
      stderr: "err\n",
      exitCode: 3,
    });
    expect(await call(shell, { command: "sleep 60", timeout: 0.3 })).toMatchObject({ stopped: "time" });
    expect(await call(runCode, { language: "bash", code: "echo $((6 * 7))" })).toMatchObject({ stdout: "42\n", exitCode: 0 });
    const ran = await call(runCode, { language: "python", code: "print(6 * 7)" }).catch((error: Error) => error.message);
    if (typeof ran === "string") expect(ran).toMatch(/^This sandbox has no python3/);
    else expect(ran).toMatchObject({ stdout: "42\n", exitCode: 0 });
  });

  test("start a process, read on from it and end it", async () => {
    const started = (await call(shell, { command: "echo begun; sleep 60", background: true })) as unknown as {
      process: string;
      stdout: string;
    };
    expect(started.stdout).toBe("begun\n");
    expect(await call(shell, { process: started.process })).toEqual({ process: started.process, stdout: "", stderr: "" });
    expect(await call(shell, { process: started.process, stop: true })).toMatchObject({
      process: started.process,
      exitCode: expect.any(Number),
    });
  });
});
