/** A rerun on the command line stops when one of its own effects asks, and only then. */
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test, vi } from "vitest";
import { projectOf } from "../../src/cli/project.ts";
import type { Rath, Session } from "../../src/index.ts";
import { memoryStore } from "../../src/store/memory.ts";
import type { Store } from "../../src/store/store.ts";
import { testRath } from "../../src/testing/test-rath.ts";
import { call, type Shown } from "../golden-cli/world.ts";
import { Flow } from "../support/flow.ts";

const asks = new Flow((session) => session.ask("May it be released?"), "asks");

type Work = (rath: Rath, inner: Session) => Promise<unknown>;

/** Makes a session with a workflow of one effect, and executes it again with another message; the effect does this then. */
async function rerunOf(store: Store, work: Work): Promise<Shown> {
  let again = false;
  const open = (): Rath => {
    const effect: Work = async (...given) => {
      if (again) await work(...given);
      return "done";
    };
    const flow = new Flow((session) => session.do("work", ({ session: inner }) => effect(rath, inner), { repeat: "safe" }), "work");
    const rath = testRath({ store, workflows: { work: flow, asks } });
    return rath;
  };
  const first = open();
  const { id } = await (await first.run("work", first.session("Once"))).result();
  await first.close();
  again = true;
  return call(() => projectOf(open(), undefined), ["rerun", id, "--set", "message=Twice"], { terminal: false });
}

/** Outlives those who open it. */
function lasting(): Store {
  return { ...memoryStore(), [Symbol.asyncDispose]: async () => {} };
}

function gate(): { readonly open: () => void; readonly opened: Promise<void> } {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

describe("openrath rerun", () => {
  // Mutant: what any run of the store asks is taken for its own.
  test("goes on while another run begins to wait for a person", async () => {
    const store = lasting();
    const [begun, free] = [gate(), gate()];
    const shown = rerunOf(store, async () => {
      begun.open();
      await free.opened;
    });
    await begun.opened;
    await using other = testRath({ store, workflows: { asks } });
    expect((await (await other.run("asks", other.session("Beside it"))).settle()).status).toBe("waiting");
    // Longer than it takes to look for what waits.
    await sleep(300);
    free.open();
    expect(await shown).toMatchObject({ exit: 0, out: expect.stringContaining("output\tdone") });
  });

  test("waits for a run that was started inside it, which a person answers elsewhere", async () => {
    const store = lasting();
    const shown = rerunOf(store, async (rath, inner) => (await rath.run("asks", inner.say("Inside it"))).result());
    await using other = testRath({ store, workflows: { asks } });
    const pending = await vi.waitFor(async () => {
      const [one] = await other.pending();
      return one ?? expect.unreachable("nothing waits");
    });
    // Longer than it takes to look for what waits.
    await sleep(300);
    await other.decide(pending.id, { answer: "yes", by: "human:ada" });
    expect(await shown).toMatchObject({ exit: 0, out: expect.stringContaining("output\tdone") });
  });

  test("warns in words that fit the command when an effect may not be repeated", async () => {
    const heard: string[] = [];
    const hear = ({ message }: Error): void => void heard.push(message);
    process.on("warning", hear);
    const open = (): Rath => testRath({ store, workflows: { pay: new Flow((session) => session.do("pay", () => 1), "pay") } });
    const store = lasting();
    const first = open();
    const { id } = await (await first.run("pay", first.session("Once"))).result();
    await first.close();
    const shown = await call(() => projectOf(open(), undefined), ["rerun", id, "--set", "message=Twice"], { terminal: false });
    process.off("warning", hear);
    expect(shown).toMatchObject({ exit: 8, err: expect.stringContaining("next: the same command with --live") });
    expect(heard).toStrictEqual([
      expect.stringMatching(/^"pay" may not be repeated .*\(openrath rerun --live\), or decide here, in the program/),
    ]);
  });
});
