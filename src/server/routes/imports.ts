/**
 * Sessions from elsewhere: a bundle is verified before anything of it is stored. That says that it is whole, not that it happened: it may
 * hold decisions in anybody's name, on runs that go on here. So whoever may not decide may not import. Whose sessions they are is what it
 * is for those that are made here: the caller's own, unless they act for people.
 */
import { importSessions } from "../../audit/import/import.ts";
import { RathError } from "../../session/errors.ts";
import { sessionResource } from "../../wire/api/session.ts";
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
      });
      return resourceOf(session);
    } finally {
      underWay--;
    }
  },
});
