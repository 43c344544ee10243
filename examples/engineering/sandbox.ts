/** Where commands run: isolated on this machine where that can be had, else in a simulation. */
import { exec } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { openrath, RathError } from "openrath";
import { shell } from "openrath/tools";
import { type Tests, verdict } from "./team.ts";

/** Why a program cannot run in the sandbox "local"; undefined when it can. */
export async function whyNotLocal(program: string): Promise<string | undefined> {
  await using rath = openrath({ store: "memory" });
  const call = rath
    .session()
    .to("local")
    .call(shell, { command: `${program} --version` });
  const tried = await call.catch((error: RathError) => error);
  if (RathError.is(tried)) return tried.message;
  return tried.output.exitCode === 0 ? undefined : `${program} is not seen in "local": install it under /usr or /opt.`;
}

/** The tests for the simulated shell, which has no programs: on this machine, on a copy of the files. It isolates nothing, so it is for scripts alone. */
export function testsHere(command: string): Tests {
  return async ({ sandbox }) => {
    const folder = await mkdtemp(join(tmpdir(), "openrath-tests-"));
    try {
      for await (const { path, kind } of sandbox.list()) if (kind === "file") await writeFile(join(folder, path), await sandbox.read(path));
      const ended = promisify(exec)(command, { cwd: folder, timeout: 30_000 });
      return verdict(
        await ended.then(
          ({ stdout, stderr }) => ({ exitCode: 0, stdout, stderr }),
          ({ code, stdout, stderr }) => ({ exitCode: Number(code ?? 1), stdout: String(stdout), stderr: String(stderr) }),
        ),
      );
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  };
}
