import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { sharedStore } from "../../test/support/shared-store.ts";
import type { Session } from "../session/session.ts";
import { testRath } from "../testing/test-rath.ts";
import { tool } from "../tool/tool.ts";
import { Workflow } from "../workflow/workflow.ts";

test("a resumed run begins with the files it found, though another looked since", async () => {
  const directory = await mkdtemp(join(tmpdir(), "probe-"));
  await writeFile(join(directory, "n"), "then");
  const store = sharedStore();
  let crash = true;
  const seen: string[] = [];
  const look = tool({
    name: "look",
    description: "L",
    input: { type: "object" },
    writes: "files",
    repeat: "safe",
    run: async (_, { sandbox }) => {
      const text = Buffer.from(await sandbox.read("n")).toString();
      seen.push(text);
      if (crash) await new Promise(() => {});
      return text;
    },
  });
  class W extends Workflow {
    async forward(s: Session): Promise<Session> {
      return s.call(look, {});
    }
  }
  const one = testRath({ store, workflows: { w: new W() } });
  const base = await one.save(one.session("x").to("memory", { workspace: directory }));
  const { id } = await one.run("w", base);
  while (seen.length === 0) await new Promise((d) => setTimeout(d, 5));
  await one.close();
  await writeFile(join(directory, "n"), "now");
  crash = false;
  await using two = testRath({ store, workflows: { w: new W() }, implicitForks: "allow" });
  const other = (await two.open(base.id)).at(base.step).fork("other");
  expect((await other.call(look, {})).output).toBe("now");
  const done = await (await two.resume(id)).result();
  expect(done.output).toBe("then");
  await rm(directory, { recursive: true });
});

test("a run that found what another had found before says so itself", async () => {
  const directory = await mkdtemp(join(tmpdir(), "found-"));
  await writeFile(join(directory, "n"), "then");
  const store = sharedStore();
  let crash = false;
  const seen: string[] = [];
  const look = tool({
    name: "look",
    description: "Looks.",
    input: { type: "object" },
    writes: "files",
    repeat: "safe",
    run: async (_, { sandbox }) => {
      seen.push(Buffer.from(await sandbox.read("n")).toString());
      if (crash) await new Promise(() => {});
    },
  });
  class Look extends Workflow {
    async forward(session: Session): Promise<Session> {
      return session.call(look, {});
    }
  }
  const work = new Look();
  const one = testRath({ store, workflows: { work } });
  const base = await one.save(one.session("x").to("memory", { workspace: directory }));
  await (await one.run("work", base.fork("a"))).result();
  crash = true;
  const { id } = await one.run("work", base.fork("b"));
  while (seen.length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
  await one.close();
  await writeFile(join(directory, "n"), "now");
  crash = false;
  await using two = testRath({ store, workflows: { work } });
  await (await two.resume(id)).result();
  expect(seen).toEqual(["then", "then", "then"]);
  await rm(directory, { recursive: true });
});
