/** Whether a record is what was written, whether the program still does what it recorded, and what it would do otherwise. */
import { type Verification, type VerifyOptions, verify } from "../../audit/verify.ts";
import { askedWithin } from "../../runtime/asked-within.ts";
import { type ReplayReport, replay } from "../../runtime/replay.ts";
import { beginRerun, type RerunOptions, withMessage } from "../../runtime/rerun.ts";
import { type RunRecord, runBehind } from "../../runtime/run-record.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { RathError } from "../../session/errors.ts";
import type { Session } from "../../session/session.ts";
import { placeOf } from "../../session/value.ts";
import type { LogRow } from "../../store/store.ts";
import { ofSession } from "../../wire/api/place.ts";
import { placeQuery } from "../../wire/api/session-queries.ts";
import {
  type RerunAsked,
  replayAsked,
  replayReport,
  rerunAsked,
  rerunBegun,
  verification,
  verifyAsked,
} from "../../wire/api/verification.ts";
import type { Workflow } from "../../workflow/workflow.ts";
import { isDamage } from "../damage.ts";
import { isAsked, notAsked } from "../may-decide.ts";
import { openSession } from "../open-session.ts";
import { type Call, route } from "../route.ts";

export const verifySession = route({
  name: "verifySession",
  at: "POST /v1/sessions/{session}/verify",
  needs: "sessions:read",
  summary: "Check the record against its hashes and signatures. What is wrong is in `problems`",
  params: ofSession,
  body: verifyAsked,
  answer: verification,
  long: true,
  handle: async (call) => {
    const { replay: replays = false, ...asked } = call.body;
    if (replays && !call.caller.permissions.has("runs:write"))
      throw new RathError("access.forbidden", "This key may not do that: replaying executes workflows, and needs runs:write.");
    const found = await verified(call, call.params.session, { ...asked, ...(replays ? { replay: true } : {}), signal: call.signal });
    return { ...found, replays: found.replays.map(withoutText) };
  },
});

/** What is damaged may not open any more, and is verified all the same: by what the list of sessions says of it. */
async function verified(call: Call, id: string, options: VerifyOptions): Promise<Verification> {
  try {
    return await verify(await openSession(call, id), options);
  } catch (error) {
    if (!isDamage(error)) throw error;
    const rows: LogRow[] = [];
    for await (const row of (await call.runtime.store()).sessions({})) if (row.log === "session" && row.id.startsWith(id)) rows.push(row);
    const [row, ...others] = rows;
    if (row === undefined || others.length > 0) throw error;
    const { verifyLog } = await import("../../audit/check-record.ts");
    const found = await verifyLog(call.runtime, row, { anchor: options.anchor, keys: options.keys, signal: options.signal });
    if (found.problems.length === 0) throw error;
    return found;
  }
}

export const replaySession = route({
  name: "replaySession",
  at: "POST /v1/sessions/{session}/replay",
  needs: "runs:write",
  summary: "Execute the workflow that made a session again, against its record. Calls nothing and writes nothing",
  params: ofSession,
  body: replayAsked,
  answer: replayReport,
  long: true,
  handle: async (call) => {
    const { from, workflow: name } = call.body;
    const session = await openSession(call, call.params.session);
    const workflow = await workflowFor(call.runtime, session, from, name);
    return withoutText(await replay(session, workflow, { from, signal: call.signal }));
  },
});

export const rerunSession = route({
  name: "rerunSession",
  at: "POST /v1/sessions/{session}/rerun",
  needs: "runs:write",
  summary: "Execute the workflow that made a session again, on a fork, with one thing changed. Answered when it has begun",
  params: ofSession,
  query: placeQuery,
  body: rerunAsked,
  answer: rerunBegun,
  status: 202,
  handle: async (call) => {
    const { from, workflow: name, effects, memory } = call.body;
    const session = await openSession(call, call.params.session, call.query.at);
    const workflow = await workflowFor(call.runtime, session, from, name);
    const admit = (record: RunRecord): Promise<void> => refuseToAnswer(call, record, call.body);
    const options = { from, effects, memory, change: changeOf(call.body), by: call.caller.identity, admit };
    const begun = await bounded(call, () => beginRerun(session, workflow, options));
    await begun.stored();
    return { run: begun.run, session: begun.session, of: session.id };
  },
});

function withoutText({ toString: _, ...report }: ReplayReport) {
  return report;
}

function changeOf({ change, from }: RerunAsked): RerunOptions["change"] {
  if (change === undefined) return undefined;
  if ("event" in change) return "output" in change ? { event: change.event, output: change.output } : change;
  return (given) => withMessage(given, change.message, from === undefined);
}

/** Another result for what people were asked is a decision, also where they were asked within the effect: only they give it who may decide there. */
async function refuseToAnswer({ runtime, caller }: Call, record: RunRecord, { change }: RerunAsked): Promise<void> {
  if (change === undefined || !("event" in change)) return;
  for (const pending of await askedWithin(runtime, record, new Set([change.event]))) {
    if (!caller.permissions.has("pending:decide"))
      throw new RathError("access.forbidden", "This key may not do that: another answer to what people were asked needs pending:decide.", {
        details: { needs: "pending:decide", pending: pending.id },
      });
    if (!isAsked(caller, pending)) throw notAsked(pending);
  }
}

/** The workflow that was named, else the one on record. */
async function workflowFor(runtime: Runtime, session: Session, from: number | undefined, name: string | undefined): Promise<Workflow> {
  const place = from === undefined ? session : session.at(from);
  const wanted = name ?? (await runBehind(runtime, placeOf(place).node)).started.workflow;
  const workflow = Object.hasOwn(runtime.workflows, wanted) ? runtime.workflows[wanted] : undefined;
  if (workflow !== undefined) return workflow as Workflow;
  throw new RathError(
    "run.unknown-workflow",
    `This server has no workflow ${JSON.stringify(wanted)}: it knows ${Object.keys(runtime.workflows).join(", ") || "none"}.`,
    { details: { workflow: wanted } },
  );
}

/** Reruns are executed by the server itself: so many at once, of each project. */
const mostAtOnce = 16;
/** So long one keeps its project open: one that waits for a person must not keep others out for good. */
const heldMs = 3_600_000;
const goingOn = new WeakMap<Runtime, number>();

async function bounded<T extends { readonly ended: Promise<unknown> }>(call: Call, begin: () => Promise<T>): Promise<T> {
  const { runtime, server } = call;
  const count = (by: number): void => void goingOn.set(runtime, (goingOn.get(runtime) ?? 0) + by);
  if ((goingOn.get(runtime) ?? 0) >= mostAtOnce)
    throw new RathError("server.busy", `${mostAtOnce} reruns of this project go on: try again when one of them has ended.`, {
      retryable: true,
    });
  // No row says that it is under way, and the call is over long before: without this its project would be closed to make room.
  const { release } = server.projects.hold(call);
  const held = setTimeout(release, heldMs).unref();
  count(1);
  const over = (): void => {
    count(-1);
    clearTimeout(held);
    release();
  };
  try {
    const begun = await begin();
    // How it ended is on record.
    begun.ended.then(over, over);
    return begun;
  } catch (error) {
    over();
    throw error;
  }
}
