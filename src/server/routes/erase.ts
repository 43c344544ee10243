/** Erasing for good. Who erases, and why, is on record; whole ids only, so that nothing goes by a slip. */
import type { z } from "@hono/zod-openapi";
import { heedErasures } from "../../runtime/heed-erasures.ts";
import { rowOf } from "../../runtime/load.ts";
import { RathError } from "../../session/errors.ts";
import { eraseAsked, eraseReport } from "../../wire/api/erase.ts";
import { ofSession } from "../../wire/api/place.ts";
import { eraseQuery } from "../../wire/api/session-queries.ts";
import { type Call, route } from "../route.ts";

export const deleteSession = route({
  name: "deleteSession",
  at: "DELETE /v1/sessions/{session}",
  needs: "sessions:erase",
  summary: "Erase what a session says, with what belongs to it alone",
  params: ofSession,
  query: eraseQuery,
  answer: eraseReport,
  long: true,
  handle: async (call) =>
    erased(call, { session: call.params.session }, { reason: call.query.reason, dryRun: call.query.dryRun === "true" }),
});

export const erase = route({
  name: "erase",
  at: "POST /v1/erase",
  needs: "sessions:erase",
  summary: "Erase sessions, events, memories, or whatever holds a text",
  body: eraseAsked,
  answer: eraseReport,
  long: true,
  handle: async (call) => {
    const { reason, dryRun, ...target } = call.body;
    return erased(call, target, { reason, dryRun });
  },
});

async function erased(
  { rath, runtime, caller, server }: Call,
  target: Omit<z.infer<typeof eraseAsked>, "reason" | "dryRun">,
  how: { readonly reason: string; readonly dryRun: boolean },
) {
  const { session } = target;
  if (session !== undefined && (await rowOf(await runtime.store(), session)) === undefined)
    throw new RathError("session.not-found", `There is no session ${session} here. Erasing takes a whole id.`, { details: { session } });
  const { toString: _, ...report } = await rath.erase(target, { by: caller.identity, ...how });
  // What was exported before holds what is erased now.
  if (!how.dryRun) await server.jobs.forget(caller);
  await heedErasures(runtime, 0);
  return report;
}
