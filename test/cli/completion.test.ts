/** The scripts of `openrath completion`, read by the shells they are for. */
import { execFile, spawnSync } from "node:child_process";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { memoryStore } from "../../src/store/memory.ts";
import type { Store } from "../../src/store/store.ts";
import { call } from "../golden-cli/world.ts";

let folder = "";
let script = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "openrath-completion-"));
  // What the script calls for ids.
  await writeFile(join(folder, "openrath"), "#!/bin/sh\nprintf '0199aaaa-1\\tFirst\\n0199bbbb-2\\tSecond one\\n'\n");
  await chmod(join(folder, "openrath"), 0o755);
  script = join(folder, "openrath.bash");
  await writeFile(script, (await call(memoryStore(), ["completion", "bash"], { terminal: false })).out);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** What bash offers for a line whose last word is being typed. */
async function offered(line: string): Promise<readonly string[]> {
  const words = line.split(" ");
  const program = `source ${script}; COMP_WORDS=(${words.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${words.length - 1}; _openrath; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout } = await promisify(execFile)("bash", ["--norc", "--noprofile", "-c", program], {
    cwd: folder,
    env: { PATH: `${folder}:${process.env["PATH"]}` },
  });
  return stdout.trimEnd().split("\n");
}

test("bash completes commands, subcommands, options, choices, ids and files", async () => {
  expect(await offered("openrath re")).toEqual(["resume", "replay", "rerun", "resolve"]);
  expect(await offered("openrath approvals ap")).toEqual(["approve"]);
  expect(await offered("openrath verify --wr")).toEqual(["--write-anchor"]);
  expect(await offered("openrath resume --on-divergence ")).toEqual(["pause", "fork", "fail"]);
  expect(await offered("openrath log 0199b")).toEqual(["0199bbbb-2"]);
  expect(await offered("openrath log --graph 0199")).toEqual(["0199aaaa-1", "0199bbbb-2"]);
  expect(await offered("openrath import openrath.b")).toEqual(["openrath.bash"]);
  expect(await offered("openrath verify --anchor openrath.b")).toEqual(["openrath.bash"]);
});

for (const shell of ["zsh", "fish"])
  test(`${shell} can read its script`, async (context) => {
    const { out, exit } = await call(memoryStore(), ["completion", shell], { terminal: false });
    expect(exit).toBe(0);
    for (const word of ["write-anchor", "approvals", "pause", "openrath completion ids"]) expect(out).toContain(word);
    const file = join(folder, `script.${shell}`);
    await writeFile(file, out);
    const read = spawnSync(shell, ["-n", file]);
    if (read.error !== undefined) context.skip(`${shell} is not installed here: its script was made and not read`);
    expect([read.status, String(read.stderr)]).toEqual([0, ""]);
  });

test("ids that a shell would expand are left out, and what fails says nothing", async () => {
  const store = memoryStore();
  const hostile: Store = {
    ...store,
    async *sessions() {
      for (const id of ["$(touch owned)", "`x`", "a b", "0199cccc-3"])
        yield { id, head: "0".repeat(64), run: undefined, log: "session" as const, title: "a\tb\n\u001b[2J`$(x)`" };
    },
  };
  const { out, err, exit } = await call(hostile, ["completion", "ids"], { terminal: false });
  expect([out, err, exit]).toEqual(["0199cccc-3\ta b 2J x\n", "", 0]);
  const broken = () => Promise.reject(new Error("no store"));
  expect(await call(broken, ["completion", "ids"], { terminal: false })).toMatchObject({ out: "", err: "", exit: 0 });
});
