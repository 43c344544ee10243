/** Runs: started, found, followed, steered. They are queued for whoever works on this store; this server may be one of them. */
import type { z } from "@hono/zod-openapi";
import { givenTo, type RunOptions } from "../../runtime/queue-run.ts";
import { type Run, startedBefore } from "../../runtime/run-handle.ts";
import { loadRun } from "../../runtime/run-record.ts";
import { hasEnded, rowOfRun } from "../../runtime/run-row.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { unknownWorkflow } from "../../runtime/take-up.ts";
import { RathError } from "../../session/errors.ts";
import { keyedRunId } from "../../session/id.ts";
import { encode } from "../../session/json.ts";
import type { Node } from "../../session/log.ts";
import type { Content, Limits, Session } from "../../session/session.ts";
import { placeOf } from "../../session/value.ts";
import { toParts } from "../../session/views.ts";
import type { RunRow } from "../../store/store.ts";
import { pageOf } from "../../wire/api/page.ts";
import {
  cancelRequest,
  ofRun,
  resultQuery,
  resumeRequest,
  runDetail,
  runOutcome,
  runQuery,
  runRequest,
  runResource,
  signalRequest,
} from "../../wire/api/run.ts";
import { plainJson } from "../../wire/neutral.ts";
import { noSuchPlace } from "../cursor.ts";
import { inTurn } from "../in-turn.ts";
import { openSession } from "../open-session.ts";
import { takePlace } from "../queue.ts";
import { type Call, route } from "../route.ts";
import { anyRunNamed, detailOf, outcomeOf, rowNamed, rowResource } from "../run-outcome.ts";
import { contentOf } from "./sessions.ts";

type Starting = Call<undefined, undefined, z.infer<typeof runRequest>>;

export const startRun = route({
  name: "startRun",
  at: "POST /v1/runs",
  needs: "runs:write",
  summary: "Start a run. The same key and input give the same run, with 200 instead of 201",
  body: runRequest,
  answer: runResource,
  status: 201,
  orStatus: 200,
  handle: async (call) => {
    const { runtime, body } = call;
    const names = Object.keys(runtime.workflows);
    if (names.length > 0 && !names.includes(body.workflow)) throw unknownWorkflow(body.workflow);
    const key = keyOf(call);
    const run = await (key === undefined
      ? started(call, undefined, undefined)
      : inTurn(runtime, `key ${key}`, () => startedOnce(call, key)));
    const row = rowResource(await rowNamed(runtime, run.id));
    return startedBefore.has(run) ? json(row, 200) : row;
  },
});

/**
 * Calls of this server with one key start one after the other: each finds what the one before it was given. Another process may still be
 * faster between the look and the start, and the session is another one then: it is looked once more before anything is refused.
 */
async function startedOnce(call: Starting, key: string): Promise<Run> {
  const before = await runWithKey(call, key);
  try {
    return await started(call, key, before);
  } catch (error) {
    const meanwhile = before === undefined ? await runWithKey(call, key) : undefined;
    if (meanwhile === undefined) throw error;
    return started(call, key, meanwhile);
  }
}

async function runWithKey({ runtime }: Starting, key: string): Promise<RunRow | undefined> {
  return rowOfRun(await runtime.store(), keyedRunId(runtime.platform, key));
}

async function started(call: Starting, key: string | undefined, before: RunRow | undefined): Promise<Run> {
  const { rath, runtime, body, server } = call;
  const { workflow, priority, deadline, limits } = body;
  const input = await inputOf(call, before);
  try {
    if (before === undefined) await takePlace(runtime, server.limits.queue);
    return await rath.run(workflow, input, {
      ...{ key, priority, deadline: deadlineOf(deadline), limits: limits as Limits | undefined },
      queue: true,
    });
  } catch (error) {
    takeBack(input);
    throw error;
  }
}

/** What was said for a run that was not started: nobody has it, and whoever tries again would go on beside it. */
function takeBack(input: Session): void {
  const { node } = placeOf(input);
  const { log, prior } = node;
  const isLast = log.tip === node && log.owner === undefined && prior !== undefined && log.storedHead === prior;
  if (isLast && !node.stored && node.queued === undefined) log.rewind();
}

/** From the header, the body, or both where they say the same. */
function keyOf({ body, request }: Starting): string | undefined {
  const header = request.headers.get("idempotency-key") ?? undefined;
  if (header === undefined || body.key === header) return body.key;
  if (body.key !== undefined)
    throw new RathError("request.invalid", "body.key: is another one than that of the header Idempotency-Key: give one of them.");
  const { data, error } = runRequest.shape.key.safeParse(header);
  if (error !== undefined) throw new RathError("request.invalid", `Idempotency-Key: ${error.issues[0]?.message ?? "is no key"}.`);
  return data;
}

/** A time, or so long from now. */
function deadlineOf(given: string | undefined): RunOptions["deadline"] {
  if (given === undefined) return undefined;
  return /^\d{4}-/.test(given) ? new Date(given) : (given as NonNullable<Limits["time"]>);
}

async function inputOf(call: Starting, before: RunRow | undefined): Promise<Session> {
  const { rath, caller, body } = call;
  const { session: id, message, title, tags } = body;
  const said = message === undefined ? undefined : contentOf(message);
  if (id === undefined) return rath.session(said, { title, tags, principal: caller.identity });
  const same = before === undefined ? undefined : await givenBefore(call, before.id, said);
  if (same !== undefined) return same;
  const session = await openSession(call, id);
  return said === undefined ? session : session.say(said);
}

/**
 * What a run with the same key was given, when that is what is asked for now: the session has gone on since, with the run above all, and
 * its newest event is another one. Undefined when the run began elsewhere: then the key is used for something else.
 */
async function givenBefore({ runtime, body }: Starting, run: string, said: Content | undefined): Promise<Session | undefined> {
  const [id = "", at] = body.session?.split("@") ?? [];
  const given = givenTo(await loadRun(runtime, run));
  const place = said === undefined ? given : saidTo(given);
  const isHere = place?.log.id.startsWith(id) === true && (at === undefined || isAt(place, at));
  return isHere && (said === undefined || isSaid(runtime, given, said)) ? runtime.outside(given) : undefined;
}

/** The place that something was said to: where others were writing, it lies on an implicit fork of it. */
function saidTo({ parent }: Node): Node | undefined {
  return parent?.kind === "session.forked" && parent.log.fork?.implicit === true ? parent.parent : parent;
}

/** Nine digits and fewer are a step. */
function isAt({ step, id }: Node, at: string): boolean {
  return /^\d{1,9}$/.test(at) ? step === Number(at) : id.startsWith(at);
}

/** As it is stored, without secrets: what was read back has its fields in another order than what is given now. */
function isSaid({ platform, redact }: Runtime, node: Node, said: Content): boolean {
  if (node.kind !== "message.added" || node.erased) return false;
  const { parts } = node.data<"message.added">(platform);
  return encode(parts, platform, () => undefined).text === encode(toParts(said), platform, redact).text;
}

export const getRuns = route({
  name: "getRuns",
  at: "GET /v1/runs",
  needs: "runs:read",
  summary: "The runs of the project, the newest first",
  query: runQuery,
  answer: pageOf(runResource),
  handle: async ({ runtime, query: { limit, after, order, ...wanted } }) => {
    const store = await runtime.store();
    if (after !== undefined && (await rowOfRun(store, after)) === undefined) throw noSuchPlace();
    const rows: RunRow[] = [];
    for await (const row of store.runs({ ...wanted, after, newestFirst: order === "newest" })) {
      rows.push(row);
      if (rows.length > limit) break;
    }
    const items = rows.slice(0, limit).map(rowResource);
    return { items, ...(rows.length > limit ? { next: items.at(-1)?.id as string } : {}) };
  },
});

export const getRun = route({
  name: "getRun",
  at: "GET /v1/runs/{run}",
  needs: "runs:read",
  summary: "A run: where it stands, what it was started with, and how it came out",
  params: ofRun,
  answer: runDetail,
  handle: async (call) => detailOf(call, await anyRunNamed(call.runtime, call.params.run)),
});

export const cancelRun = route({
  name: "cancelRun",
  at: "POST /v1/runs/{run}/cancel",
  needs: "runs:write",
  summary: "Cancel a run, durably, whoever executes it",
  params: ofRun,
  body: cancelRequest,
  answer: runResource,
  status: 202,
  handle: async ({ rath, runtime, params, body, caller }) => {
    const run = await rath.attach(params.run);
    await run.cancel(body.reason, { by: caller.identity });
    return rowResource(await rowNamed(runtime, run.id));
  },
});

export const resumeRun = route({
  name: "resumeRun",
  at: "POST /v1/runs/{run}/resume",
  needs: "runs:write",
  summary: "Have a run go on: whoever works on this store takes it next",
  params: ofRun,
  body: resumeRequest,
  answer: runResource,
  status: 202,
  handle: async ({ rath, runtime, params, body }) => {
    const { id, status } = await rowNamed(runtime, params.run);
    if (hasEnded(status))
      throw new RathError("run.ended", `Run ${id} has ended (${status}): there is nothing to go on with.`, { details: { run: id } });
    if (body.onDivergence !== undefined) await rath.resume(id, { onDivergence: body.onDivergence });
    else await wake(runtime, id);
    return rowResource(await rowNamed(runtime, id));
  },
});

/** It is due at once, for any worker. */
async function wake(runtime: Runtime, run: string): Promise<void> {
  await (await runtime.store()).append({ branches: [], wake: [run] });
}

export const sendSignal = route({
  name: "sendSignal",
  at: "POST /v1/runs/{run}/signals",
  needs: "runs:write",
  summary: "Send a signal that session.receive in the run takes, now or later",
  params: ofRun,
  body: signalRequest,
  answer: runResource,
  status: 202,
  handle: async ({ rath, runtime, params, body, caller }) => {
    await rath.send(params.run, body.signal, body.data, { by: caller.identity, key: body.key });
    return rowResource(await rowNamed(runtime, params.run));
  },
});

export const getResult = route({
  name: "getResult",
  at: "GET /v1/runs/{run}/result",
  needs: "runs:read",
  summary: "What a run came to; waits for it a while, and answers 202 when it has not ended",
  params: ofRun,
  query: resultQuery,
  answer: runOutcome,
  orStatus: 202,
  handle: async (call) => {
    const { query, params } = call;
    const row = await settledRow(call, params.run, query.until === "settled", query.wait * 1000);
    const outcome = await outcomeOf(call, row);
    return hasEnded(outcome.status) ? outcome : json(outcome, 202);
  },
});

/** Looked at often at first, since most that are waited for have just been started. */
const [soonMs, laterMs] = [20, 250];

async function settledRow({ runtime, signal, server }: Call, run: string, waitingToo: boolean, forMs: number): Promise<RunRow> {
  const until = performance.now() + forMs;
  for (let pause = soonMs; ; pause = Math.min(pause * 1.5, laterMs)) {
    const row = await anyRunNamed(runtime, run);
    const left = until - performance.now();
    const over = hasEnded(row.status) || (waitingToo && row.status === "waiting") || left <= 0;
    if (over || signal.aborted || server.stopping.aborted) return row;
    await pausing(Math.min(pause, left), [signal, server.stopping]);
  }
}

function pausing(forMs: number, signals: readonly AbortSignal[]): Promise<void> {
  return new Promise((resolve) => {
    const over = (): void => {
      clearTimeout(timer);
      for (const signal of signals) signal.removeEventListener("abort", over);
      resolve();
    };
    const timer = setTimeout(over, forMs);
    for (const signal of signals) signal.addEventListener("abort", over);
  });
}

function json(value: unknown, status: number): Response {
  return new Response(plainJson(value), { status, headers: { "content-type": "application/json" } });
}
