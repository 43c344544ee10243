/** What a server is, and what whoever calls may do there. */
import { writeFormats } from "../../audit/export/write.ts";
import { version } from "../../runtime/version.ts";
import type { Store } from "../../store/store.ts";
import { info as infoResource } from "../../wire/api/info.ts";
import { route } from "../route.ts";

let known: string | undefined;

export const info = route({
  name: "info",
  at: "GET /v1/info",
  needs: "key",
  summary: "What this server is, and what the caller may do",
  answer: infoResource,
  handle: async ({ caller, runtime, server }) => {
    known ??= version();
    const store = await runtime.store();
    const { tenant, project, identity, key, roles, permissions } = caller;
    return {
      ...{ name: "openrath" as const, version: known, tenant, project },
      ...(store.kind === undefined ? {} : { store: store.kind }),
      caller: { identity, ...(key === undefined ? {} : { key }), roles, permissions: [...permissions] },
      limits: { ...server.limits },
      workflows: Object.keys(runtime.workflows),
      formats: writeFormats,
      features: featuresOf(store),
    };
  },
});

function featuresOf(store: Store): readonly string[] {
  const { erase, remove, sweep, watch } = store;
  const has = { erase, gc: remove === undefined || sweep === undefined ? undefined : sweep, watch };
  return Object.entries(has).flatMap(([name, able]) => (able === undefined ? [] : [name]));
}
