/** The laws that hold in every world, whatever went wrong in it. */
import { verifySession } from "../../src/audit/check-record.ts";
import { composeRath } from "../../src/openrath.ts";
import { nodePlatform } from "../../src/runtime/platform.ts";
import { runtimeOf } from "../../src/runtime/replay.ts";
import { loadRun, type RunRecord } from "../../src/runtime/run-record.ts";
import { dataText } from "../../src/session/codec.ts";
import type { Session } from "../../src/session/session.ts";
import { placeOf } from "../../src/session/value.ts";
import { whatOf } from "../../src/session/what.ts";
import type { StoredEvent } from "../../src/store/store.ts";
import { openTestKey } from "./key.ts";
import { isEnd } from "./observed-store.ts";
import { leaseMs, lookMs, type PlannedRun } from "./plan.ts";
import { textOf } from "./thrown.ts";
import type { World } from "./world.ts";

/** What the runs of a world came to: how each ended, and the digest of what it did. */
export type Outcomes = ReadonlyMap<string, { readonly status: string; readonly what: string }>;

/** Everything that is wrong, each as "law: what". */
export async function check(world: World, calm?: Outcomes): Promise<{ readonly problems: readonly string[]; readonly outcomes: Outcomes }> {
  const found: string[] = [...world.seen.problems, ...world.problems];
  const outcomes = new Map<string, { readonly status: string; readonly what: string }>();
  if (found.length > 0) return { problems: found, outcomes };
  const rath = composeRath(
    { store: { ...world.base, [Symbol.asyncDispose]: async () => {} }, implicitForks: "allow" },
    { openKey: openTestKey, worker: "checker" },
  );
  try {
    found.push(...(await acknowledged(world)));
    const answers = await answersIn(world);
    found.push(...once(world, answers), ...keyed(world));
    for (const planned of world.plan.runs) {
      const id = world.ids.get(planned.name) as string;
      const run = await rath.attach(id);
      if (!isEnd.has(await run.status())) {
        found.push(`ended: the row of ${planned.name} says ${await run.status()} after it had ended`);
        continue;
      }
      const settled = await run.settle();
      const record = await loadRun(runtimeOf(settled.session), id);
      const { status } = settled;
      outcomes.set(planned.name, { status, what: whatIs(settled.session) });
      found.push(...ended(planned, record, status), ...received(planned, record), ...limits(world, planned, record, status, answers));
      if (settled.status === "failed" && settled.error.code !== "run.deadline")
        found.push(`ended: ${planned.name} failed with ${textOf(settled.error)}`);
      // It takes as long as the rest of the world: in every third one, and wherever somebody was taken over.
      const verified = world.plan.seed % 3 === 0 || world.seen.fenced > 0 ? await verifySession(settled.session) : undefined;
      if (verified?.ok === false) found.push(`chain: ${planned.name} ${verified.problems.map(({ problem }) => problem).join("; ")}`);
      const same = calm?.get(planned.name);
      if (same !== undefined && (same.status !== status || same.what !== whatIs(settled.session)))
        found.push(`result: ${planned.name} came to ${status} ${whatIs(settled.session)}, and calmly to ${same.status} ${same.what}`);
    }
  } catch (error) {
    found.push(`check: ${textOf(error)}`);
  } finally {
    await rath.close();
  }
  return { problems: found, outcomes };
}

function whatIs(session: Session): string {
  const runtime = runtimeOf(session);
  return whatOf(placeOf(session).node, runtime.platform, (node) => runtime.textOf(node), new Map());
}

/** What the store said it has, it has. */
async function acknowledged(world: World): Promise<string[]> {
  const ids = [...world.seen.stored.keys()];
  const there = new Set<string>();
  for await (const { id } of world.base.events({ ids })) there.add(id);
  return ids.filter((id) => !there.has(id)).map((id) => `acknowledged: event ${id} is not in the store`);
}

interface Answer {
  readonly id: string;
  readonly question: string;
  readonly cancel?: boolean;
  readonly outcome?: unknown;
}

/** Answers and requests to cancel. A mailbox has no key twice. */
async function answersIn(world: World): Promise<readonly Answer[]> {
  const answers: Answer[] = [];
  for await (const { id } of world.base.sessions({ log: "answer" })) {
    const keys = new Set<string>();
    for await (const event of world.base.events({ session: id })) {
      const { key, ...data } = dataOf(event) as Answer & { readonly key?: string };
      if (key !== undefined && keys.has(key)) throw new Error(`signals: ${key} was sent twice`);
      if (key === undefined) answers.push({ ...data, id: event.id });
      else keys.add(key);
    }
  }
  return answers;
}

function dataOf({ data }: StoredEvent): unknown {
  return JSON.parse(dataText(nodePlatform, data as Uint8Array));
}

function once(world: World, answers: readonly Answer[]): string[] {
  const allowed = new Map<string, number>();
  for (const { question, outcome } of answers) {
    const place = outcome === "run-again" ? world.unknown.get(question) : undefined;
    if (place !== undefined) allowed.set(place, (allowed.get(place) ?? 1) + 1);
  }
  const counts = new Map<string, number>();
  for (const { place, repeat } of world.happenings) if (repeat === "once") counts.set(place, (counts.get(place) ?? 0) + 1);
  return [...counts]
    .filter(([place, count]) => count > (allowed.get(place) ?? 1))
    .map(([place, count]) => `once: ${place} happened ${count} times`);
}

function keyed(world: World): string[] {
  const keys = new Map<string, string>();
  return world.happenings.flatMap(({ place, repeat, key }) => {
    if (repeat !== "keyed") return [];
    const known = keys.get(place) ?? key;
    keys.set(place, known);
    return known === key ? [] : [`keyed: ${place} happened under ${key} and ${known}`];
  });
}

function ended({ name }: PlannedRun, record: RunRecord, status: string): string[] {
  const ends = record.journal.filter((node) => node.kind === "run.ended");
  if (ends.length !== 1 || ends.at(-1) !== record.journal.findLast(({ kind }) => kind !== "run.signed"))
    return [`ended: ${name} has ${ends.length} ends, or goes on after one`];
  return record.ended?.status === status ? [] : [`ended: ${name} is ${status} and its log says ${record.ended?.status}`];
}

/** Each signal went to one `receive`. */
function received({ name }: PlannedRun, record: RunRecord): string[] {
  const taken = record.program.flatMap((node) =>
    node.kind === "receive.returned" ? (node.data<"receive.returned">(nodePlatform)?.signal ?? []) : [],
  );
  return new Set(taken).size === taken.length ? [] : [`signals: ${name} received one twice`];
}

/** Whoever takes a run up sees that it is cancelled; whoever executes it hears of it, and of its deadline, soon. */
function limits(world: World, planned: PlannedRun, record: RunRecord, status: string, answers: readonly Answer[]): string[] {
  const { seen, schedule } = world;
  const calm = schedule.began + world.plan.calmAt;
  const patience = 2 * leaseMs + 2 * lookMs;
  const over = seen.ended.get(record.id) as number;
  const problems: string[] = [];
  const request = answers.find(({ question, cancel }) => cancel === true && question === record.journal[0]?.id);
  if (request !== undefined && status !== "cancelled") {
    const asked = seen.stored.get(request.id) as number;
    if (seen.grants.some(({ run, at }) => run === record.id && at > asked && at < over))
      problems.push(`cancel: ${planned.name} was taken up after it was cancelled, and is ${status}`);
    if (over > Math.max(asked, calm) + patience) problems.push(`cancel: ${planned.name} is ${status} long after it was cancelled`);
  }
  if (planned.deadlineAt !== undefined && status === "done") {
    const deadline = schedule.began + planned.deadlineAt;
    if (over > Math.max(deadline, calm) + patience) problems.push(`deadline: ${planned.name} is done ${over - deadline} ms after it`);
  }
  return problems;
}
