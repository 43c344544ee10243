/** What differs between two sessions. */

import { diff } from "../../audit/diff.ts";
import { diffResource } from "../../wire/api/diff.ts";
import { diffQuery } from "../../wire/api/session-queries.ts";
import { textResponse } from "../download.ts";
import { openSession } from "../open-session.ts";
import { route } from "../route.ts";

export const getDiff = route({
  name: "getDiff",
  at: "GET /v1/diff",
  needs: "sessions:read",
  summary: "What differs between two sessions, or two places in one",
  query: diffQuery,
  answer: diffResource,
  handle: async (call) => {
    const { a, b, format } = call.query;
    const found = await diff(await openSession(call, a), await openSession(call, b), { signal: call.signal });
    if (format === "text") return textResponse(String(found), "text/plain");
    return format === "html" ? textResponse(found.toHtml(), "text/html") : found;
  },
});
