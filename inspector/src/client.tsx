/** The server as every screen asks it, and what whoever looks may do there. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { createContext, type ReactNode, useCallback, useContext, useMemo, useState } from "react";
import { type Client, connect, type Info, RathError } from "../../src/client/client.ts";
import { serverUrl, storedKey, storeKey } from "./access.ts";
import { Failure } from "./parts/failure.tsx";
import { Loading } from "./parts/loading.tsx";
import { KeyNeeded } from "./shell/key-needed.tsx";

interface Known {
  readonly client: Client;
  readonly info: Info;
  /** Forgets the key. */
  readonly leave: () => void;
}

const context = createContext<Known | undefined>(undefined);

/** Shows what is inside once the server has said who calls; asks for a key where it wants one. */
export function ClientProvider({ problem, children }: { readonly problem: RathError | undefined; readonly children: ReactNode }) {
  const [key, setKey] = useState(storedKey);
  const client = useMemo(() => connect({ url: serverUrl, key }), [key]);
  const {
    data: info,
    error,
    refetch,
  } = useQuery({ queryKey: ["info", key], queryFn: () => client.server.info(), staleTime: Number.POSITIVE_INFINITY });
  const queries = useQueryClient();
  const take = useCallback(
    (given: string | undefined): void => {
      storeKey(given);
      // What one key may read another may not.
      queries.clear();
      setKey(given);
    },
    [queries],
  );
  const known = useMemo(() => (info === undefined ? undefined : { client, info, leave: () => take(undefined) }), [client, info, take]);
  if (known !== undefined) return <context.Provider value={known}>{children}</context.Provider>;
  if (RathError.is(error, "access.unauthenticated")) return <KeyNeeded problem={problem} refused={key !== undefined} take={take} />;
  return error === null ? <Loading what="the server" /> : <Failure error={error} retry={() => void refetch()} />;
}

function useKnown(): Known {
  const known = useContext(context);
  if (known === undefined) throw new Error("outside of ClientProvider");
  return known;
}

export function useClient(): Client {
  return useKnown().client;
}

export function useInfo(): Info {
  return useKnown().info;
}

export function useLeave(): () => void {
  return useKnown().leave;
}

/** Whether whoever looks may do something: a button that would be refused is not shown. */
export function useMay(permission: string): boolean {
  return useKnown().info.caller.permissions.includes(permission);
}
