/**
 * Decisions from outside. Everything is checked before the only answer there can be is written: that something waits under this
 * id and still does, that its time is not over, and that the decision fits it.
 */
import { envelopeOf } from "../session/codec.ts";
import { RathError } from "../session/errors.ts";
import { type Event, isCalled, isReturned, isStarted, opOf } from "../session/event.ts";
import { Log, type Node } from "../session/log.ts";
import { modelCallBefore } from "../session/request.ts";
import type { Decided, Decision, Pending } from "../session/session.ts";
import { deadlineOf, pendingOf } from "../session/views.ts";
import { validating } from "../tool/schema.ts";
import { fetchBlobs, fromStored, readEvent } from "./load.ts";
import { findEvent } from "./run-record.ts";
import { rowOfRun } from "./run-row.ts";
import type { Runtime } from "./runtime.ts";
import { invalidDecision, validateAnswer } from "./validate-answer.ts";
import { mayBeLost, namedBy, waitsByItself } from "./waits.ts";

/** Writes the decision, and gives the run that waits for it. */
export async function decide(runtime: Runtime, id: string, decision: Decision): Promise<string | undefined> {
  const { mark, call } = await asked(runtime, id);
  const pending = pendingOf(mark, runtime.platform, call);
  const newest = await newestOf(runtime, call);
  if (newest !== id) throw tooLate(id, newest === undefined ? "has a result already" : "was started since");
  const deadline = pending.kind === "question" || pending.kind === "approval" ? deadlineOf(call, runtime.platform) : undefined;
  await validateAnswer(pending, decision, opOf(call.kind as "ask.called"));
  await refuseUnasked(runtime, pending, mark, call);
  await refuseUnfit(runtime, pending, decision, call);
  await refuseUnheard(runtime, pending, mark, call);
  await runtime.answers.give(id, decision, mark.run, deadline);
  return mark.run;
}

/** What was decided about something that waited, or still waits: who said what, when and why. */
export async function decisionOn(runtime: Runtime, id: string): Promise<Decided> {
  return decidedOn(runtime, await asked(runtime, id));
}

/** What is to be decided, with everything that whoever decides needs to see. */
export interface Question {
  readonly decided: Decided;
  /** Whether it still waits: nobody decided it, it has no result, and its time is not over. */
  readonly waits: boolean;
  /** The event that asked. */
  readonly call: Event;
  /** JSON Schema of the input that an approval is for. */
  readonly schema: object | undefined;
}

export async function questionUnder(runtime: Runtime, id: string): Promise<Question> {
  const found = await asked(runtime, id);
  const decided = await decidedOn(runtime, found);
  const { call } = found;
  const deadline = deadlineOf(call, runtime.platform);
  const isOver = deadline !== undefined && deadline <= runtime.platform.time();
  const waits = decided.id === undefined && !isOver && (await newestOf(runtime, call)) === id;
  const store = await runtime.store();
  const schema = decided.pending.kind === "approval" ? await inputSchemaOf(runtime, call) : undefined;
  for await (const stored of store.events({ ids: [call.id] }))
    return { decided, waits, call: await readEvent(runtime.platform, store, stored), schema };
  throw notPending(id);
}

async function decidedOn(runtime: Runtime, { mark, call }: { readonly mark: Node; readonly call: Node }): Promise<Decided> {
  const { id } = mark;
  const given = await runtime.answers.find(id);
  const { answer, approve, input, outcome, reason, expired } = given?.data ?? {};
  const said = { answer, approve, input, outcome, reason, expired };
  return {
    pending: pendingOf(mark, runtime.platform, call),
    ...(given === undefined ? {} : { id: given.id, by: given.by, at: given.at }),
    ...Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined)),
  };
}

/** The event something is pending under, and the call it belongs to. */
async function asked(runtime: Runtime, id: string): Promise<{ readonly mark: Node; readonly call: Node }> {
  const { platform } = runtime;
  const store = await runtime.store();
  let mark: Node | undefined;
  for (let next: string | undefined = typeof id === "string" ? id : undefined; next !== undefined; ) {
    let found: Node | undefined;
    let before: string | undefined;
    for await (const event of store.events({ ids: [next] })) {
      const envelope = envelopeOf(platform, event);
      found = fromStored(platform, event, new Log(event.session), [], envelope);
      before = envelope.facts.call ?? envelope.parents[0];
    }
    mark ??= found;
    if (mark !== undefined && found !== undefined && isCalled(found.kind)) {
      await fetchBlobs(platform, store, [found]);
      return { mark, call: found };
    }
    next = found !== undefined && isStarted(found.kind) ? before : undefined;
  }
  throw notPending(id);
}

function notPending(id: string): RathError {
  return new RathError("pending.not-found", `Nothing is pending under ${id}: see rath.pending().`, { details: { pending: id } });
}

/** The event a call is pending under now: itself, or the newest mark that it was started. Undefined when it has a result on disk. */
async function newestOf(runtime: Runtime, call: Node): Promise<string | undefined> {
  let last = call.id;
  let newest = call.id;
  for await (const event of (await runtime.store()).events({ session: call.log.id, from: call.step + 1 })) {
    const { kind, facts } = envelopeOf(runtime.platform, event);
    if (isCalled(kind)) last = event.id;
    if ((facts.call ?? last) !== call.id) continue;
    if (isReturned(kind)) return undefined;
    if (isStarted(kind)) newest = event.id;
  }
  return newest;
}

function tooLate(id: string, why: string): RathError {
  return new RathError("pending.answered", `${id} ${why}: nothing waits under it any more.`, { details: { pending: id } });
}

/** Nobody waits for a yes or no that was not asked for: it would be heard only by whoever resumes the run. */
async function refuseUnasked(runtime: Runtime, { id, kind, run }: Pending, mark: Node, call: Node): Promise<void> {
  if (kind !== "approval" || waitsByItself(call, call.data(runtime.platform))) return;
  const asks = runtime.asks(id);
  if (asks === true) return;
  const row = run === undefined ? undefined : await rowOfRun(await runtime.store(), run);
  // Outside the runs of the store only its own process knows. In them the record does, also of what is about to be asked again.
  if (row === undefined ? asks === undefined : namesIt(runtime, await saidSince(runtime, row.id, mark), id)) return;
  throw new RathError("pending.not-found", `Nobody is asked to approve ${id}: it begins by itself, or asks later. See rath.pending().`, {
    details: { pending: id },
  });
}

/** Who asked knows best what fits; where that is another process, what it put on record must do. */
async function refuseUnfit(runtime: Runtime, { id, kind }: Pending, decision: Decision, call: Node): Promise<void> {
  const here = runtime.waiting().find(({ mark }) => mark.id === id)?.effect;
  const problem = async (check: (() => unknown) | undefined): Promise<void> => {
    try {
      await check?.();
    } catch (error) {
      throw RathError.is(error, "pending.invalid-answer") ? error : invalidDecision((error as Error).message);
    }
  };
  if (kind === "question" && "answer" in decision) await problem(() => here?.accept?.(decision.answer));
  if (kind !== "approval" || !("approve" in decision) || !decision.approve || decision.input === undefined) return;
  if (here !== undefined) {
    if (here.edited === undefined) throw invalidDecision("it takes no other input");
    return problem(() => here.edited?.(decision.input));
  }
  const schema = await inputSchemaOf(runtime, call);
  const checked = schema === undefined ? undefined : await validating(schema as never, schema)(decision.input);
  if (checked !== undefined && "problems" in checked)
    throw invalidDecision(`the changed input does not fit: ${checked.problems.slice(0, 20).join("; ")}`);
}

/** What a tool takes: recorded with a call from code, else with the model call that asked for it. */
async function inputSchemaOf(runtime: Runtime, call: Node): Promise<object | undefined> {
  if (call.kind !== "tool.called") return undefined;
  const { schema, name, index } = call.data<"tool.called">(runtime.platform);
  if (schema !== undefined) return JSON.parse(schema) as object;
  if (index === undefined) return undefined;
  const log = (await runtime.load([call.log.id])).get(call.log.id);
  const loaded = log === undefined ? undefined : findEvent(log, call.id);
  const model = loaded === undefined ? undefined : modelCallBefore(loaded);
  if (model === undefined) return undefined;
  const { tools } = JSON.parse(model.data<"model.called">(runtime.platform).configuration) as {
    readonly tools: readonly { readonly name: string; readonly input: object }[];
  };
  return tools.find((tool) => tool.name === name)?.input;
}

/** What became of an effect is asked only once it is lost, and only where somebody would hear the answer. */
async function refuseUnheard(runtime: Runtime, { id, kind, run, session }: Pending, mark: Node, call: Node): Promise<void> {
  if (kind !== "unknown" || run === undefined || runtime.waiting().some((one) => one.mark.id === id)) return;
  const refused = (why: string): RathError => new RathError("pending.not-found", `${id} ${why}.`, { details: { pending: id } });
  const row = await rowOfRun(await runtime.store(), run);
  if (row === undefined)
    throw refused(`belongs to a process that is gone and cannot be resumed: fork session ${session} before it and go on there`);
  const said = await saidSince(runtime, run, mark);
  if (namesIt(runtime, said, id)) return;
  if (!mayBeLost(call, runtime.platform)) throw refused("may be repeated, so it is done again and nobody is asked");
  // An answer that came while it is being done would be taken for what became of it after a crash.
  if (row.status !== "waiting" && !said.some((one) => one.kind === "run.resumed"))
    throw refused("is being done: it is lost once its run was taken up again without a result of it");
}

function namesIt({ platform }: Runtime, said: readonly Node[], id: string): boolean {
  return said.some((one) => namedBy(one, platform).includes(id));
}

/** What a run said in its own log after it had called or started something. */
async function saidSince(runtime: Runtime, run: string, mark: Node): Promise<readonly Node[]> {
  const log = new Log(run, "run");
  const said: Node[] = [];
  for await (const event of (await runtime.store()).events({ session: run }))
    if (event.order > mark.order) said.push(fromStored(runtime.platform, event, log, []));
  return said;
}
