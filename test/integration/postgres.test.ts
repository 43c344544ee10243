/** A whole Rath on PostgreSQL: what one process begins, others execute, answer, watch and remember. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { composeRath } from "../../src/openrath.ts";
import type { RathOptions } from "../../src/rath-options.ts";
import type { Rath } from "../../src/runtime/rath.ts";
import type { Workflow } from "../../src/workflow/workflow.ts";
import { Flow } from "../support/flow.ts";
import { freshDatabase } from "../support/postgres.ts";
import { until } from "../support/processes.ts";

let database: Awaited<ReturnType<typeof freshDatabase>>;
const raths: Rath[] = [];
const stop = new AbortController();
const work: Promise<void>[] = [];

beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(async () => {
  stop.abort();
  await Promise.all(work);
  for (const rath of raths) await rath.close();
  await database[Symbol.asyncDispose]();
});

function process(options: RathOptions = {}): Rath {
  const rath = composeRath({ implicitForks: "allow", ...options, store: database.url }, { times: { parkGraceMs: 1 } });
  raths.push(rath);
  return rath;
}

const workflows: Record<string, Workflow> = {
  asks: new Flow(async (session) => (await session.ask("May I?")).do("echo", () => "went on", { repeat: "safe" })),
  hears: new Flow((session) => session.receive("paid")),
  naps: new Flow(async (session) => (await session.wait("3s")).do("up", () => "up", { repeat: "safe" })),
  steps: new Flow(async (session) => {
    let now = session;
    for (let i = 0; i < 5; i++) now = await now.do(`step ${i}`, () => i, { repeat: "once" });
    return now;
  }),
  learns: new Flow((session) => session.remember({ key: "deploys", content: "Deploys happen on Tuesdays." })),
  recalls: new Flow((session) => session.recall("when do deploys happen?")),
  stuck: new Flow((session) => session.do("stuck", () => new Promise(() => {}), { repeat: "safe" })),
};

describe("on PostgreSQL", () => {
  let client: Rath;
  beforeAll(() => {
    client = process();
    for (let i = 0; i < 2; i++) work.push(process({ workflows }).work({ signal: stop.signal, drain: "1s" }));
  });

  const queued = async (name: string) => client.run(name, client.session("Go"), { queue: true });

  test("a question is answered in one process and gone on with in another, soon", async () => {
    const run = await queued("asks");
    const settled = await run.settle();
    expect(settled.status).toBe("waiting");
    const [pending] = settled.status === "waiting" ? settled.pending : [];
    await client.decide(pending?.id ?? "", { by: "ann", answer: "yes" });
    expect((await run.result()).output).toBe("went on");
  });

  test("a signal reaches a parked run", async () => {
    const run = await queued("hears");
    await run.settle();
    await client.send(run.id, "paid", { amount: 12 });
    expect((await run.result()).output).toEqual({ amount: 12 });
  });

  test("a timer ends where nobody of those who began it needs to be", async () => {
    const run = await queued("naps");
    expect((await run.settle()).status).toBe("waiting");
    expect((await run.result()).output).toBe("up");
  });

  test("whoever watches sees every event once, in order, while another process does the work", async () => {
    const run = await queued("steps");
    const kinds: string[] = [];
    for await (const part of run.stream()) if (part.type === "event" && part.event.kind === "do.returned") kinds.push(part.event.id);
    expect(kinds).toHaveLength(5);
    expect(new Set(kinds).size).toBe(5);
    expect([...(await run.result()).events()].filter(({ kind }) => kind === "do.returned").map(({ id }) => id)).toEqual(kinds);
  });

  test("what one run learned another one knows, in another process", async () => {
    await (await queued("learns")).result();
    const recalled = await (await queued("recalls")).result();
    expect(JSON.stringify(recalled.output)).toContain("Tuesdays");
  });

  test("a cancel reaches the process that executes within a second", async () => {
    const run = await queued("stuck");
    await until(async () => (await run.status()) === "running", "it runs");
    const began = performance.now();
    await run.cancel("enough");
    expect((await run.settle()).status).toBe("cancelled");
    expect(performance.now() - began).toBeLessThan(2000);
  });
});
