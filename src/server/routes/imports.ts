/**
 * Sessions from elsewhere: a bundle is verified before anything of it is stored. That says that it is whole, not that it happened: it may
 * hold decisions in anybody's name, on runs that go on here. So whoever may not decide may not import, and what a bundle brings in
 * somebody's name is what it is when it is made here: the caller's own, unless they act for people. That is so for its sessions, and for
 * what was said to their runs, also to those that have ended: they can be run again from any place. Of a run that goes on here, or that
 * was here before, every recorded result would be the caller's word, also one that stands for what somebody else would have been asked.
 */
import type { Said } from "../../audit/export/bundle-said.ts";
import { importSessions } from "../../audit/import/import.ts";
import { RathError } from "../../session/errors.ts";
import { sessionResource } from "../../wire/api/session.ts";
import type { Caller } from "../caller.ts";
import { mayDecide } from "../may-decide.ts";
import { bodyOf } from "../read-body.ts";
import { route } from "../route.ts";
import { resourceOf } from "../session-resource.ts";
import { principalFor } from "./sessions.ts";

/** A bundle is in memory while it is verified. */
const mostAtOnce = 2;
let underWay = 0;

export const importSession = route({
  name: "importSession",
  at: "POST /v1/imports",
  needs: "sessions:write",
  alsoNeeds: "pending:decide",
  summary: "Take in a bundle, or a session file of OpenRath 1: the bytes of the file",
  takes: "application/octet-stream",
  answer: sessionResource,
  status: 201,
  long: true,
  handle: async ({ runtime, caller, request, server, signal }) => {
    if (underWay >= mostAtOnce)
      throw new RathError("server.busy", `${mostAtOnce} imports are under way, and no more at once: try again.`, {
        retryable: true,
        details: { retryAfter: 1 },
      });
    underWay++;
    try {
      const { session } = await importSessions(runtime, bodyOf(request, server.limits.upload, signal), {
        checkPrincipal: (principal) => void principalFor(caller, principal),
        checkSaid: (said) => refuseUnlessOwn(caller, said),
        checkRun: (run) => refuseToRecord(caller, run),
        checkErasures: () => refuseToErase(caller),
      });
      return resourceOf(session);
    } finally {
      underWay--;
    }
  },
});

/** Nobody decides what a run has recorded, but who may speak for everybody in it. */
function refuseToRecord({ identity, permissions }: Caller, run: string): void {
  if (permissions.has("people:act")) return;
  throw new RathError(
    "access.forbidden",
    `The bundle brings events of run ${run}, which has not ended, has a key or is here already: it would go on, or be told, by results that the bundle says it had. For that ${identity} needs people:act. Nothing was imported.`,
    { details: { needs: "people:act", run } },
  );
}

/** Contents that a bundle calls erased are erased for everybody in the project who has the same. */
function refuseToErase({ identity, permissions }: Caller): void {
  if (permissions.has("sessions:erase")) return;
  throw new RathError(
    "access.forbidden",
    `The bundle brings entries of an erasure log: for that ${identity} needs sessions:erase. Nothing was imported.`,
    { details: { needs: "sessions:erase" } },
  );
}

/** What the caller could have said here, by the routes for it, may come in a bundle too. */
function refuseUnlessOwn(caller: Caller, { kind, event, by, pending }: Said): void {
  const { identity, permissions } = caller;
  if (permissions.has("people:act")) return;
  const may = kind === "signal" ? permissions.has("runs:write") : pending !== undefined && mayDecide(caller, pending);
  if (may && (by === undefined || by === identity)) return;
  const what = kind === "signal" ? "a signal" : "an answer";
  throw new RathError(
    "access.forbidden",
    `The bundle brings ${what} that ${identity} could not have given here${by === undefined ? "" : `, by ${by}`} (event ${event}): it needs people:act. Nothing was imported.`,
    { details: { needs: "people:act", event } },
  );
}
