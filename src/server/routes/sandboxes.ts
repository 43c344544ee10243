/** The sandboxes that were ever opened. */

import type { SandboxRecord } from "../../session/session.ts";
import { pageOf } from "../../wire/api/page.ts";
import { sandboxRecord } from "../../wire/api/sandbox.ts";
import { sandboxesQuery } from "../../wire/api/session-queries.ts";
import { route } from "../route.ts";

export const getSandboxes = route({
  name: "getSandboxes",
  at: "GET /v1/sandboxes",
  needs: "sessions:read",
  summary: "Who opened a sandbox, and what became of it",
  query: sandboxesQuery,
  answer: pageOf(sandboxRecord),
  handle: async ({ rath, query }) => {
    const { limit, after, ...asked } = query;
    const items: SandboxRecord[] = [];
    let past = after === undefined;
    for await (const record of rath.sandboxes(asked)) {
      const last = items.at(-1);
      if (last !== undefined && items.length === limit) return { items, next: nameOf(last) };
      if (past) items.push(record);
      past ||= nameOf(record) === after;
    }
    return { items };
  },
});

/** Backends number as they like: the run and the time tell two of one number apart. */
function nameOf({ run, id, opened }: SandboxRecord): string {
  return `${run}.${opened}.${id}`;
}
