/**
 * Programs that mean harm, in `local`, as whoever runs the tests. Not here, and why: 30, 31 and 35 are about the host's own code on
 * the files of a workspace; 32 is about archives that are unpacked by the host, which does not happen; 38 needs lists of hosts, which
 * `local` refuses by name.
 */
import { rmSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { localSandbox } from "../../src/sandbox/local.ts";
import { cases } from "./cases.ts";
import { plainScripts } from "./plain-node.ts";
import { perform } from "./stage.ts";

const impossible = await localSandbox()
  .ready?.()
  .then(
    () => undefined,
    (error: Error) => error.message,
  );
if (impossible !== undefined && process.env["CI"])
  throw new Error(`Here everything is tested, and the hostile cases cannot be: ${impossible}`);
if (impossible !== undefined) console.warn(`The hostile cases are left out: ${impossible}`);

let built: ReturnType<typeof plainScripts>;
beforeAll(() => {
  built = plainScripts(["script-descriptors.ts", "script-crash.ts"]);
});
afterAll(() => rmSync(built.folder, { recursive: true, force: true }));

test.skipIf(impossible !== undefined).each(cases.map((each) => [each.name, each] as const))("%s", async (_name, hostile) => {
  const reason = await perform(hostile, built.scripts);
  if (typeof reason === "string") console.info(`${hostile.name}: not tried, ${reason}`);
});

test("38 lists of hosts are refused by name", async () => {
  const spec = { session: "s", directory: "/tmp", network: { allow: ["example.com"] }, env: {} };
  await expect(localSandbox().open(spec)).rejects.toMatchObject({
    code: "sandbox.unavailable",
    message: expect.stringMatching(/cannot limit the network to a list \(example\.com\).*"none" or "all"/),
  });
});
