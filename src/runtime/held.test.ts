import { expect, test } from "vitest";
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
