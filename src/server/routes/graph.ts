/** The branches of a session: as data and as drawings. */

import { graph } from "../../audit/graph.ts";
import { graphResource } from "../../wire/api/graph.ts";
import { ofSession } from "../../wire/api/place.ts";
import { graphQuery } from "../../wire/api/session-queries.ts";
import { textResponse } from "../download.ts";
import { openSession } from "../open-session.ts";
import { route } from "../route.ts";

export const getGraph = route({
  name: "getGraph",
  at: "GET /v1/sessions/{session}/graph",
  needs: "sessions:read",
  summary: "The branches behind a session and beside it, and how they take part in each other",
  params: ofSession,
  query: graphQuery,
  answer: graphResource,
  handle: async (call) => {
    const session = await openSession(call, call.params.session, call.query.at);
    const { nodes, edges, ...drawn } = await graph(session, { signal: call.signal });
    switch (call.query.format) {
      case "json":
        return { nodes, edges };
      case "svg":
        return textResponse(drawn.toSvg(), "image/svg+xml");
      case "mermaid":
        return textResponse(drawn.toMermaid(), "text/plain");
      case "dot":
        return textResponse(drawn.toDot(), "text/plain");
      default:
        return call.query.format satisfies never;
    }
  },
});
