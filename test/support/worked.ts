/** A server over a file, with a worker beside it unless nobody works, for tests of runs and what waits in them. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import type { RathOptions } from "../../src/rath-options.ts";
import type { Rath } from "../../src/runtime/rath.ts";
import type { ServerOptions } from "../../src/server/server.ts";
import type { EffectContext, Session } from "../../src/session/session.ts";
import { tool } from "../../src/tool/tool.ts";
import { Flow } from "./flow.ts";
import { otherProcess } from "./other-process.ts";
import { type ServedRath, serve } from "./served.ts";

export const refund = tool({
  name: "refund",
  description: "Refunds an order.",
  input: z.object({ order: z.string(), cents: z.number().int() }),
  repeat: "keyed",
  writes: "world",
  needsApproval: () => true,
  run: ({ cents }) => `refunded ${cents}`,
});

/** Asks a person, but not for long. */
const asksBriefly = (input: z.ZodType<object>) =>
  tool({
    ...{ name: "brief", description: "Asks.", input, repeat: "once", needsApproval: () => true },
    approvalExpires: "1ms",
    run: () => 1,
  });

/** An effect that asks within itself, and goes on whatever comes of it. */
function gate(name: string, within: (session: Session) => Promise<Session>): Flow {
  const run = async (inside: { readonly session: Session }): Promise<unknown> =>
    within(inside.session).then(
      ({ output }) => output,
      () => "no",
    );
  return new Flow(async (session) => session.do("gate", run, { repeat: "nested" }), name);
}

/** Workflows that end at once, fail, ask, wait for a signal, want an approval, or never end. */
export const workflows = {
  echo: new Flow(async (session) => session.do("echo", () => session.messages.at(-1)?.text ?? ""), "echo"),
  fail: new Flow(async () => Promise.reject(new Error("it went wrong")), "fail"),
  ask: new Flow(async (session) => session.ask("Send it?", z.object({ send: z.boolean() }), { to: "role:approver" }), "ask"),
  askAda: new Flow(async (session) => session.ask("Which?", undefined, { to: "human:ada" }), "askAda"),
  askAny: new Flow(async (session) => session.ask("Any?"), "askAny"),
  askInside: new Flow(
    async (session) =>
      session.do("gate", async (inside) => (await inside.session.ask("Which?", undefined, { to: "human:ada" })).output, {
        repeat: "nested",
      }),
    "askInside",
  ),
  askDeep: gate("askDeep", async (session) =>
    session.do("inner", async (inside) => (await inside.session.detach().ask("Which?", undefined, { to: "human:ada" })).output, {
      repeat: "nested",
    }),
  ),
  approveInside: gate("approveInside", async (session) => session.call(refund, { order: "o-1", cents: 7 })),
  expireInside: gate("expireInside", async (session) => session.call(asksBriefly(z.object({})), {})),
  // Whether it asks is known only once its input was looked at.
  expireLate: gate("expireLate", async (session) => session.call(asksBriefly(z.object({}).refine(async () => true)), {})),
  payInside: gate("payInside", async (session) => session.do("pay", () => "paid", { repeat: "once" })),
  askThree: new Flow(async (session) => {
    const asked = await Promise.all(["a", "b", "c"].map((label) => session.fork(label).ask(label)));
    return asked[0] as (typeof asked)[number];
  }, "askThree"),
  receive: new Flow(async (session) => session.receive("paid"), "receive"),
  approve: new Flow(async (session) => session.call(refund, { order: "o-1", cents: 7 }), "approve"),
  endless: new Flow(
    async (session) =>
      session.do("wait", ({ signal }) => new Promise((_, no) => signal.addEventListener("abort", () => no(new Error("stopped"))))),
    "endless",
  ),
};

export interface Worked extends ServedRath {
  readonly file: string;
  /** Begins to work; tests that look at a queue first call it later. */
  work(): void;
  /** Another server process on the same file. */
  another(options?: ServerOptions): ServedRath;
}

export async function worked(options: ServerOptions & { readonly idle?: boolean } & Pick<RathOptions, "policy"> = {}): Promise<Worked> {
  const { idle = false, policy, ...how } = options;
  const folder = await mkdtemp(join(tmpdir(), "openrath-worked-"));
  const file = join(folder, "store.db");
  const open = (): Rath =>
    otherProcess(file, { workflows: { ...workflows, askElsewhere }, ...(policy === undefined ? {} : { policy }) }, { lookMs: 20 });
  const askElsewhere: Flow = new Flow(async (session) => {
    const echoed = await session.do("echo", () => "x", { repeat: "safe" });
    const elsewhere = async ({ session: inner, key }: EffectContext) => (await (await rath.run("askAda", inner, { key })).result()).output;
    return echoed.do("gate", elsewhere, { repeat: "keyed" });
  }, "askElsewhere");
  const rath = open();
  const server = serve(rath, { auth: "none-on-loopback", ...how });
  const others: ServedRath[] = [];
  const stop = new AbortController();
  let working: Promise<void> | undefined;
  const work = (): void => {
    working ??= rath.work({ signal: stop.signal, drain: "1ms" });
  };
  if (!idle) work();
  return {
    ...server,
    file,
    work,
    another: (more = {}) => {
      const other = serve(open(), { auth: "none-on-loopback", ...how, ...more });
      others.push(other);
      return other;
    },
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await working;
      for (const other of others) await other[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
      // What was cut off may still write for a moment.
      await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 20 });
    },
  };
}
