/** One audit of everything: what is on record of each session, held against what the tools themselves wrote into the ledger. */
import { type Session, verify } from "openrath";
import { cost, decisions } from "openrath/audit";
import type { Pool } from "pg";

export type Audit = Awaited<ReturnType<typeof audit>>;
export type Audited = Awaited<ReturnType<typeof audited>>;
type Ledger = readonly { readonly key: string; readonly asked: number }[];

export async function audit(sessions: ReadonlyMap<string, Session>, db: Pool, killed: number) {
  const { rows: ledger } = await db.query<Ledger[number]>("SELECT key, asked FROM ledger");
  const all: Audited[] = [];
  for (const [ticket, session] of sessions) all.push(await audited(ticket, session, ledger));
  const effects = all.flatMap((one) => one.effects);
  const done = effects.filter(({ outcome }) => outcome === "ok").length;
  const once = effects.every((effect) => effect.done === (effect.outcome === "ok" ? 1 : 0)) && ledger.length === done;
  const decided = all.flatMap((one) => one.decisions);
  const costs = all.flatMap((one) => one.costs);
  const routes = all.flatMap((one) => one.routes);
  const taken = all.filter(({ takenOver }) => takenOver > 0).length;
  const state = (about: string, says: string, holds = true) => ({ about, holds, says });
  const every = (about: "verified" | "replayed" | "answered", how: string) =>
    state(
      about,
      `${all.filter((one) => one[about]).length} of ${all.length} sessions: ${how}`,
      all.every((one) => one[about]),
    );
  const statements = [
    every("verified", `${total(all, ({ events }) => events)} events, from the stored bytes and their signatures`),
    every("replayed", "the same again, with nothing called"),
    every("answered", "by their check"),
    state("effects", `${done} of ${effects.length} calls were let happen, and the ledger has ${ledger.length}: each once`, once),
    state("asked again", `${effects.filter(({ asked }) => asked > 1).length} after a crash, under the same key`),
    state("taken over", `${taken} sessions; ${killed} workers were killed`, killed === 0 || taken > 0),
    state("unknown", `${decided.filter(({ about }) => about === "unknown").length} after a crash; a person said what had become of each`),
    state(
      "decided",
      tally(decided, ({ by, about, refused }) => `${by}: ${about}${refused ? " refused" : ""}`),
    ),
    state("routes", tally(routes, String)),
    state(
      "tokens",
      tally(
        costs,
        ({ agent }) => agent,
        ({ tokens }) => tokens,
      ),
    ),
    state("cost", `$${total(costs, ({ usd }) => usd).toFixed(4)}`),
  ];
  return { statements, sessions: all };
}

async function audited(ticket: string, session: Session, ledger: Ledger) {
  const { ok, events, unsigned, replays } = await verify(session, { replay: true });
  const { rows, interrupted } = await cost(session, { by: "agent" });
  const outside = session.calls.filter(({ tool }) => tool === "refund" || tool === "send_voucher");
  return {
    ...{ ticket, session: session.id, answer: session.text, answered: session.checks.at(-1)?.passed === true, events },
    ...{ verified: ok && unsigned === 0, replayed: replays.length > 0 && replays.every(({ identical }) => identical) },
    routes: session.routes.map(({ choice }) => choice),
    // What became of it on record, how often the world has it, and how often the world was asked for it.
    effects: outside.map(({ id, tool, outcome }) => {
      const entries = ledger.filter(({ key }) => key === id);
      return { key: id, tool, outcome: outcome.type, done: entries.length, asked: total(entries, ({ asked }) => asked) };
    }),
    decisions: (await decisions(session)).map(({ pending, by, approve, reason }) => {
      return { by, about: pending.kind, refused: approve === false, reason };
    }),
    takenOver: interrupted.filter(({ abandoned }) => abandoned).length,
    costs: rows.map(({ name, usage }) => ({ agent: name, tokens: usage.input + usage.output, usd: usage.usd })),
  };
}

function total<T>(things: readonly T[], number: (thing: T) => number): number {
  return things.reduce((sum, thing) => sum + number(thing), 0);
}

/** Each name with how often it is there, or with what it sums up to. */
function tally<T>(things: readonly T[], name: (thing: T) => string, number = (_: T): number => 1): string {
  const sums = [...new Set(things.map(name))].map((one) => [
    one,
    total(
      things.filter((thing) => name(thing) === one),
      number,
    ),
  ]);
  return sums.flatMap(([one, sum]) => (sum === 0 ? [] : `${one} ${sum}`)).join(", ");
}
