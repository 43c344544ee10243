/** Numbers about the server and the project, as Prometheus reads them. */
import { ofProject } from "../metrics.ts";
import { route } from "../route.ts";

export const metrics = route({
  name: "metrics",
  at: "GET /v1/metrics",
  needs: "metrics:read",
  summary: "Numbers for Prometheus: of the caller's project, and of the server for those of the project it was started for",
  media: "text/plain; version=0.0.4",
  handle: async ({ runtime, server, tenant, project }) => {
    const { own } = server.projects;
    const mine = own.tenant === tenant && own.project === project;
    const text = (await ofProject(runtime)) + (mine ? await server.metrics.ofServer() : "");
    return new Response(text, { headers: { "content-type": "text/plain; version=0.0.4; charset=utf-8" } });
  },
});
