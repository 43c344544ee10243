/** What must hold after a storm. Every finding is a sentence; none is good news. */
import { isDeepStrictEqual } from "node:util";
import { verify } from "../../src/audit/verify.ts";
import { nodePlatform } from "../../src/runtime/platform.ts";
import type { Rath } from "../../src/runtime/rath.ts";
import { hasEnded } from "../../src/runtime/run-row.ts";
import { parseEnvelope } from "../../src/session/codec.ts";
import { answerLogId } from "../../src/session/id.ts";
import type { Store } from "../../src/store/store.ts";
import type { Decider } from "./decider.ts";
import { expectedOf, onceEffects } from "./orders.ts";
import type { Act, Witness } from "./witness.ts";

export interface Findings {
  readonly stuck: readonly string[];
  readonly wrong: readonly string[];
  readonly twice: readonly string[];
  readonly lost: readonly string[];
  readonly unsound: readonly string[];
  /** How much there was to be wrong. */
  readonly acts: number;
  readonly acknowledged: number;
  readonly probed: number;
}

export interface Aftermath {
  readonly rath: Rath;
  readonly store: Store;
  readonly witness: Witness;
  readonly orders: ReadonlyMap<string, string>;
  readonly decider: Decider;
}

export async function check({ rath, store, witness, orders, decider }: Aftermath): Promise<Findings> {
  const acts = witness.acts();
  const stuck: string[] = [];
  const wrong: string[] = [];
  const unsound: string[] = [];
  for (const [id, order] of orders) {
    const run = await rath.attach(id);
    const status = await run.status();
    if (!hasEnded(status)) {
      const pending = (await rath.pending({ run: id })).map((one) => one.kind);
      stuck.push(`${order} (${id}) is ${status}; pending: ${pending.join(", ") || "nothing"}; ${await journalOf(store, id)}`);
      continue;
    }
    const settled = await run.settle();
    if (settled.status !== "done") wrong.push(`${order} ended as ${status}: ${settled.status === "failed" ? settled.error.message : ""}`);
    else if (!isDeepStrictEqual(settled.session.output, expectedOf(order)))
      wrong.push(`${order} came to ${JSON.stringify(settled.session.output)}`);
    const { problems } = await verify(settled.session);
    for (const { event, problem } of problems) unsound.push(`${order}: ${problem} (${event})`);
  }
  const keys = new Set(acts.map(({ key }) => key));
  return {
    stuck,
    wrong,
    twice: [...twice(acts, [...orders.values()])],
    lost: [...(await lostEvents(store, keys)), ...(await lostDecisions(store, [...decider.decided.keys()]))],
    unsound,
    acts: acts.length,
    acknowledged: keys.size + decider.decided.size + orders.size,
    probed: acts.filter(({ how }) => how === "probed").length,
  };
}

/** The last words of a run. */
async function journalOf(store: Store, run: string): Promise<string> {
  const said: string[] = [];
  for await (const event of store.events({ session: run })) {
    const { kind, at } = parseEnvelope(nodePlatform.text(event.envelope));
    said.push(`${at.slice(14)} ${kind} ${Buffer.from(event.data ?? []).subarray(16, 100)}`);
  }
  return said
    .filter((text) => !text.includes("run.signed"))
    .slice(-5)
    .join(" · ");
}

/** What may happen once and did not, and keys that were not the same each time or not of one effect alone. */
function* twice(acts: readonly Act[], orders: readonly string[]): Iterable<string> {
  const byEffect = new Map<string, Act[]>();
  for (const act of acts) {
    if (act.how !== "once" && act.how !== "keyed") continue;
    const name = `${act.effect} of ${act.run}`;
    byEffect.set(name, [...(byEffect.get(name) ?? []), act]);
  }
  for (const order of orders) {
    for (const effect of onceEffects(order)) {
      const times = byEffect.get(`${effect} of ${order}`)?.length ?? 0;
      if (times !== 1) yield `${effect} of ${order} happened ${times} times`;
    }
    const keys = new Set(byEffect.get(`book of ${order}`)?.map(({ key }) => key));
    if (keys.size !== 1) yield `book of ${order} used ${keys.size} keys`;
  }
  const owners = new Map<string, string>();
  for (const [name, done] of byEffect)
    for (const { key } of done) {
      if (owners.has(key) && owners.get(key) !== name) yield `key ${key} was used for ${name} and ${owners.get(key)}`;
      owners.set(key, name);
    }
}

/** Whoever acts has been told that its call is on disk: none of them may be missing. */
async function lostEvents(store: Store, keys: ReadonlySet<string>): Promise<string[]> {
  const found = new Set<string>();
  for await (const { id } of store.events({ ids: [...keys] })) found.add(id);
  return [...keys].filter((key) => !found.has(key)).map((key) => `call ${key} was acknowledged and is lost`);
}

async function lostDecisions(store: Store, questions: readonly string[]): Promise<string[]> {
  const lost: string[] = [];
  for (const question of questions) {
    let events = 0;
    for await (const _ of store.events({ session: answerLogId(nodePlatform, question) })) events++;
    if (events !== 1) lost.push(`the decision on ${question} was acknowledged, and its log has ${events} events`);
  }
  return lost;
}
