/** What waits for people, and what they decide. Who decides is whoever calls, and nobody who a body names. */
import { decisions } from "../../audit/decisions.ts";
import { decisionOn, questionUnder } from "../../runtime/decide.ts";
import type { Decision } from "../../session/session.ts";
import { pageOf } from "../../wire/api/page.ts";
import {
  decided,
  decisionRequest,
  decisionsQuery,
  ofPending,
  pendingDetail,
  pendingQuery,
  pending as pendingResource,
} from "../../wire/api/pending.ts";
import { pageAfter } from "../cursor.ts";
import { newestDecisions } from "../list-decisions.ts";
import { listPending } from "../list-pending.ts";
import { isAsked, mayDecide, notAsked } from "../may-decide.ts";
import { openSession } from "../open-session.ts";
import { route } from "../route.ts";

export const getPending = route({
  name: "getPending",
  at: "GET /v1/pending",
  needs: "pending:read",
  summary: "What waits for people, timers and signals, by the run that was started first",
  query: pendingQuery,
  answer: pageOf(pendingResource),
  handle: async ({ runtime, caller, query }) => listPending(runtime, caller, query),
});

export const getPendingOne = route({
  name: "getPendingOne",
  at: "GET /v1/pending/{pending}",
  needs: "pending:read",
  summary: "What exactly is asked: the call, its input and what would fit, and what was decided",
  params: ofPending,
  answer: pendingDetail,
  handle: async ({ runtime, caller, params }) => {
    const { decided: decision, waits, call, schema } = await questionUnder(runtime, params.pending);
    const { pending } = decision;
    return {
      ...{ pending, waits, decidable: waits && mayDecide(caller, pending), call: { ...call } },
      ...(schema === undefined ? {} : { schema: { ...schema } }),
      ...(decision.id === undefined ? {} : { decision }),
    };
  },
});

export const decide = route({
  name: "decide",
  at: "POST /v1/pending/{pending}/decision",
  needs: "pending:decide",
  summary: "Decide: approve or deny, answer, or say what became of an effect. The first decision counts",
  params: ofPending,
  body: decisionRequest,
  answer: decided,
  handle: async ({ rath, runtime, caller, params, body }) => {
    const { pending } = await decisionOn(runtime, params.pending);
    if (!isAsked(caller, pending)) throw notAsked(pending);
    await rath.decide(params.pending, { ...body, by: caller.identity } as Decision);
    return rath.decision(params.pending);
  },
});

export const getDecision = route({
  name: "getDecision",
  at: "GET /v1/pending/{pending}/decision",
  needs: "pending:read",
  summary: "What was decided, by whom, when and why",
  params: ofPending,
  answer: decided,
  handle: async ({ rath, params }) => rath.decision(params.pending),
});

export const getDecisions = route({
  name: "getDecisions",
  at: "GET /v1/decisions",
  needs: "pending:read",
  summary: "Everything that was decided behind a session, in the order it was asked; without one in the project, the newest first",
  query: decisionsQuery,
  answer: pageOf(decided),
  handle: async (call) => {
    const { session } = call.query;
    if (session === undefined) return newestDecisions(call.runtime, call.query);
    const all = await decisions(await openSession(call, session));
    return pageAfter(all, call.query, ({ id }) => id as string);
  },
});
