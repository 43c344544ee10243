/** `bisect` where contents were erased: what a command says without them is no verdict. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Session } from "../../src/session/session.ts";
import { writeFile as writes } from "../../src/tool/builtin/tools.ts";
import { call, lastingStore, rathOn } from "./world.ts";

// Mutant: the command is run without the erased file.
test("a place with an erased content cannot be told", async () => {
  const workspace = await mkdtemp(join(tmpdir(), "openrath-bisect-"));
  try {
    await writeFile(join(workspace, "tides.md"), "High water is at noon.\n");
    const store = lastingStore();
    const rath = rathOn(store);
    let session: Session = rath.session("Begin").to("memory", { workspace });
    for (const content of ["one", "two"]) session = await session.call(writes, { path: "other.md", content });
    const argv = ["bisect", session.id, "--host", "--run", "grep -q noon tides.md"];
    expect((await call(store, argv, { terminal: false })).err).toContain("it does not fail");
    await rath.erase({ matching: "noon" }, { by: "human:ada", reason: "asked to" });
    await rath.close();
    const { exit, err } = await call(store, argv, { terminal: false });
    expect(exit).toBe(1);
    expect(err).toContain('a content was erased, since the command would miss it: "tides.md"');
    expect(err).toContain("it cannot be told: the newest place could not be checked");
  } finally {
    await rm(workspace, { recursive: true, force: true });
  }
});
