/** What `verify` says of a record that somebody else signed: how much they signed, and nothing of a tail that is not there. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { write } from "../../src/audit/export/write.ts";
import { projectOf } from "../../src/cli/project.ts";
import { openrath } from "../../src/index.ts";
import { Flow } from "../support/flow.ts";
import { call } from "./world.ts";

// Mutant: events of unknown keys are counted as not signed.
test("events that a key not known here signed are not called unsigned", async () => {
  const folder = await mkdtemp(join(tmpdir(), "openrath-key-"));
  try {
    await using there = openrath({ store: "memory" });
    const made = await (await there.run(new Flow((at) => at.do("work", () => 1), "work"), there.session("Sign it"))).result();
    await write(made, join(folder, "bundle"));
    const here = async () => {
      const rath = openrath({ store: "memory" });
      await rath.import(join(folder, "bundle"));
      return projectOf(rath, undefined);
    };
    const { both, exit } = await call(here, ["verify", made.id], { terminal: true });
    expect(exit).toBe(1);
    const [, checked = "", signed = ""] = /; (\d+) events checked, (\d+) signed by a key that is not known here\n/.exec(both) ?? [];
    // The statement itself is signed, and is no event that it covers.
    expect(Number(signed)).toBe(Number(checked) - 1);
    expect(both).toContain(`not checked: 1 key that signed ${signed} events and is not known here: only you can say whether it is trusted`);
    expect(both).not.toMatch(/not signed yet|no signed statement covers/);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

// Mutant: what no statement covers is always said to have come after the newest one.
test("of a record that nobody signed it is not said that a statement is still to come", async () => {
  const folder = await mkdtemp(join(tmpdir(), "openrath-key-"));
  try {
    await using there = openrath({ store: "memory" });
    const made = await there.session("Outside a run").do("work", () => 1);
    await write(made, join(folder, "bundle"));
    const here = async () => {
      const rath = openrath({ store: "memory" });
      await rath.import(join(folder, "bundle"));
      return projectOf(rath, undefined);
    };
    const { both } = await call(here, ["verify", made.id], { terminal: true });
    expect(both).toMatch(/^intact: (\d+) events checked, none signed\n/);
    expect(both).toMatch(/not checked: \d+ events that no signed statement covers: there is none in this record\n/);
    expect(both).not.toMatch(/not signed yet|came after the newest one/);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
