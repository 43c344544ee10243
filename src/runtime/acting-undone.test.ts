/** An attempt that does not count leaves nothing running. */
import { expect, test } from "vitest";
import { memorySandbox } from "../sandbox/memory.ts";
import type { SandboxBackend } from "../sandbox/sandbox.ts";
import type { SandboxProcess } from "../session/session.ts";
import { testRath } from "../testing/test-rath.ts";
import { tool } from "../tool/tool.ts";

/** A placement with background processes, which run until they are stopped. */
function withProcesses(): { readonly backend: SandboxBackend; readonly running: Set<string> } {
  const running = new Set<string>();
  const memory = memorySandbox();
  let count = 0;
  const start = async (command: string | readonly string[]): Promise<SandboxProcess> => {
    const id = `p${++count}`;
    running.add(id);
    return {
      id,
      command: String(command),
      get exitCode() {
        return running.has(id) ? undefined : 143;
      },
      read: async () => ({ stdout: "", stderr: "" }),
      stop: async () => void running.delete(id),
    };
  };
  const open: SandboxBackend["open"] = async (spec) => Object.assign(await memory.open(spec), { start });
  return { backend: { ...memory, kind: "lasting", open }, running };
}

test("a process that an attempt started is stopped when the attempt does not count, and nobody speaks of it", async () => {
  const { backend, running } = withProcesses();
  let attempts = 0;
  const serve = tool({
    name: "serve",
    description: "Starts a server.",
    input: { type: "object" },
    writes: "files",
    repeat: "safe",
    retry: { attempts: 2 },
    run: async (_, { sandbox }) => {
      const process = await sandbox.start?.("serve");
      attempts++;
      if (attempts === 1) throw new Error("not yet");
      return process?.id;
    },
  });
  await using rath = testRath({ sandboxes: { lasting: backend } });
  const served = await rath.session("x").to("lasting", {}).call(serve, {});
  expect([attempts, served.output, [...running]]).toEqual([2, "p2", ["p2"]]);
  expect(served.calls.at(-1)?.acted).toMatchObject({ started: [{ id: "p2" }] });
  const later = await served.do("look", ({ sandbox }) => sandbox.write("a", "b"));
  expect(later.pending).toMatchObject([{ kind: "process", process: "p2" }]);
  expect(JSON.stringify([...later.events()].map(({ data }) => data))).not.toContain("p1");
});
