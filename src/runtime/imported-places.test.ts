/** What a bundle says of where tools act: it is on record, and nothing acts there. */
import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Flow } from "../../test/support/flow.ts";
import { write } from "../audit/export/write.ts";
import { composeRath, openrath } from "../openrath.ts";
import { stateOf } from "../session/fold.ts";
import type { Node } from "../session/log.ts";
import type { Session } from "../session/session.ts";
import { placeOf } from "../session/value.ts";
import { memoryStore } from "../store/memory.ts";
import { nodePlatform } from "./platform.ts";
import type { Rath } from "./rath.ts";
import { runtimeOf } from "./replay.ts";

let folder: string;
let files: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "openrath-imported-"));
  files = join(folder, "files");
  await mkdir(files);
  await writeFile(join(files, "note.txt"), "of this machine");
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const look = (session: Session): Promise<Session<string>> =>
  session.do("look", async ({ sandbox }) => Buffer.from(await sandbox.read("note.txt")).toString());

const isRefused = { code: "sandbox.denied", message: expect.stringMatching(/came with a bundle.*session\.to\(…\)/s) };

/** A session of another machine, placed there, as a bundle. */
async function bundle(name: string, act: (placed: Session) => Session | Promise<Session>, workspace = files): Promise<string> {
  await using elsewhere = openrath({ store: "memory" });
  const file = join(folder, `${name}.jsonl`);
  await write(await elsewhere.save(await act(elsewhere.session("x").to("memory", { workspace }))), file);
  return file;
}

async function refusing(session: Session): Promise<void> {
  const error = await look(session).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ cause: isRefused });
}

describe("a placement that came with a bundle", () => {
  let unused: string;
  beforeAll(async () => {
    unused = await bundle("unused", (session) => session);
  });
  const importing = (rath: Rath, file = unused): Promise<Session> => rath.import(file);

  // Mutants: it is only warned of; only values of the imported branch itself are looked at.
  test("is refused, on every branch that has it", async () => {
    await using rath = openrath({ store: "memory" });
    const session = await importing(rath);
    expect(session.placement?.sandbox).toBe("memory");
    await refusing(session);
    await refusing(session.fork("a"));
    await refusing(session.detach());
    await refusing(await rath.session("y").merge(session));
  });

  // Mutant: the directory is looked at for its placement alone.
  test("leaves no directory behind to another placement, which is refused as long as there are no files on record", async () => {
    await using rath = openrath({ store: "memory" });
    await refusing((await importing(rath)).to("memory"));
    const gone = join(folder, "gone");
    await cp(files, gone, { recursive: true });
    const file = await bundle("gone", look, gone);
    await rm(gone, { recursive: true });
    expect((await look((await importing(rath, file)).to("memory"))).output).toBe("of this machine");
  });

  test("may be said again here, in this process and in another one", async () => {
    const store = join(folder, "again.db");
    await using rath = openrath({ store });
    const placed = (await importing(rath)).to("memory", { workspace: files });
    expect((await look(placed)).output).toBe("of this machine");
    await using other = openrath({ store });
    expect((await look(await other.open(placed.id))).output).toBe("of this machine");
  });

  test("is refused in every process", async () => {
    const store = join(folder, "processes.db");
    await using rath = openrath({ store });
    const { id } = await importing(rath);
    await using other = openrath({ store });
    await refusing(await other.open(id));
  });

  test("is taken where whoever imports it trusts it", async () => {
    await using rath = openrath({ store: "memory" });
    expect((await look(await rath.import(unused, { placed: true }))).output).toBe("of this machine");
  });

  // Mutant: what was here before is answered too.
  test("that was made here stays what it was when it comes back", async () => {
    const store = join(folder, "back.db");
    await using rath = openrath({ store });
    const file = join(folder, "back.jsonl");
    await write(await rath.save(rath.session("x").to("memory", { workspace: files })), file);
    await using other = openrath({ store });
    expect((await look(await other.import(file))).output).toBe("of this machine");
  });

  // Mutant: the answer stays behind when retention lets the session go.
  test("is imported again and again, and refused each time", async () => {
    let now = Date.now();
    const platform = { ...nodePlatform, time: () => new Date(now++).toISOString() };
    await using rath = composeRath({ store: memoryStore({ clock: () => now }) }, { platform });
    await refusing(await importing(rath));
    await refusing(await importing(rath));
    now += 100 * 86_400_000;
    expect((await rath.gc({ sessionsOlderThan: "90d" })).sessions).not.toEqual([]);
    await refusing(await importing(rath));
  });
});

// Mutant: what code says again is refused as well.
test("a run that goes on here acts where its own code says", async () => {
  const flow = new Flow(async (session) => {
    const asked = await session.to("memory", { workspace: files }).ask("Go on?");
    return look(asked);
  }, "flow");
  const file = join(folder, "parked.jsonl");
  await using elsewhere = openrath({ store: "memory", workflows: { flow } });
  const run = await elsewhere.run(flow, elsewhere.session("x"));
  await run.settle();
  await write(await elsewhere.open(run.session), file);
  await using rath = openrath({ store: "memory", workflows: { flow } });
  await rath.import(file);
  const [pending] = await rath.pending();
  await rath.decide(pending?.id ?? "", { by: "human:ada", answer: "yes" });
  expect((await (await rath.resume(run.id)).result()).output).toBe("of this machine");
});

// Mutant: the directory that a run of the bundle found is taken with its files.
test("what was found in a directory elsewhere is its files, not where they lay", async () => {
  const file = await bundle("captured", (session) => new Flow(look, "flow").forward(session));
  for (const placed of [false, true]) {
    await using rath = openrath({ store: "memory" });
    const session = await rath.import(file, { placed });
    const { node } = placeOf(session);
    const found = await runtimeOf(session).sandboxes.captureOf(node, stateOf(node).base as Node);
    expect(found).toMatchObject({ directory: placed ? files : "", layers: [] });
  }
});
