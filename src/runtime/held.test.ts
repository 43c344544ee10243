import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openrath } from "../openrath.ts";
import { RathError } from "../session/errors.ts";
import { testRath } from "../testing/test-rath.ts";
import { tool } from "../tool/tool.ts";

const run = tool({
  name: "run",
  description: "Runs a command.",
  input: { type: "object", properties: { command: { type: "string" } } },
  writes: "files",
  run: async (given, { sandbox }) => (await sandbox.exec((given as { readonly command: string }).command)).stdout,
});

test("files that cannot be recorded fail the call that made them, not those after it", async () => {
  await using rath = testRath();
  const placed = await rath.session("work").to("host", { network: "all" }).call(run, { command: "echo kept > kept" });
  const error = await placed.call(run, { command: "for i in $(seq 250); do mkdir d; cd d; done" }).catch((thrown: unknown) => thrown);
  if (!RathError.is(error, "effect.failed") || error.session === undefined) throw error;
  const { session: deep } = error;
  const after = await deep.call(run, { command: "cat kept; ls" });
  expect(after.output).toBe("kept\nkept\n");
});

test("the store is no part of a workspace that it lies in", async () => {
  const directory = await mkdtemp(join(tmpdir(), "held-"));
  await writeFile(join(directory, "mine"), "x");
  await writeFile(join(directory, ".openrathignore"), "!signing-key.pem\n");
  const rath = openrath({ store: join(directory, "run.db") });
  await rath.session("of somebody else").do("talk", () => "private");
  const session = rath.session("work").to("host", { workspace: directory, network: "all" });
  const listed = await session.call(run, { command: "ls" });
  expect(listed.output).toBe("mine\n");
  await rath.close();
  await rm(directory, { recursive: true });
});
