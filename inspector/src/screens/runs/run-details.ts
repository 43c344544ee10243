/** More about the runs that are on screen than lists say. */
import type { Client, RunDetail, RunResource } from "../../../../src/client/client.ts";
import { useClient } from "../../client.tsx";
import { AskedOfRows, useAsked } from "../../desk/asked-of-rows.ts";

const known = new WeakMap<Client, AskedOfRows<RunResource, RunDetail>>();

export function useRunDetails() {
  const client = useClient();
  const details = known.get(client) ?? detailsOf(client);
  known.set(client, details);
  return useAsked(details);
}

function detailsOf({ runs }: Client): AskedOfRows<RunResource, RunDetail> {
  return new AskedOfRows({
    idOf: ({ id }) => id,
    stateOf: ({ status, owner = "", wakeAt = "" }) => `${status} ${owner} ${wakeAt}`,
    ask: ({ id }) => runs.get(id),
  });
}
