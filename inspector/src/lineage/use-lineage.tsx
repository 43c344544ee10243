/** The lineage of the session on screen, for all that is shown of it. */
import { useQuery } from "@tanstack/react-query";
import { createContext, type ReactNode, useContext, useSyncExternalStore } from "react";
import { RathError } from "../../../src/client/client.ts";
import { useClient } from "../client.tsx";
import { Failure } from "../parts/failure.tsx";
import { Loading } from "../parts/loading.tsx";
import type { Lineage } from "./lineage.ts";
import { type Connection, LiveLineage } from "./live-lineage.ts";

const context = createContext<LiveLineage | undefined>(undefined);

interface Props {
  readonly session: string;
  readonly children: ReactNode;
  /** What is shown beside the reason when the record cannot be read. */
  readonly damaged?: ReactNode;
}

export function LineageProvider({ session, children, damaged }: Props) {
  const client = useClient();
  const { data, error, refetch } = useQuery({
    queryKey: ["lineage", session],
    queryFn: ({ signal }) => LiveLineage.read(client, session, signal),
    // It follows by itself what happens.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
  });
  if (data !== undefined) return <context.Provider value={data}>{children}</context.Provider>;
  if (error === null) return <Loading what="the session" />;
  const unreadable = RathError.is(error) && /^(?:store\.corrupt$|event\.)/.test(error.code);
  const failure = <Failure error={error} retry={() => void refetch()} />;
  if (!unreadable || damaged === undefined) return failure;
  return (
    <div style={{ display: "grid", gridTemplateRows: "auto minmax(0, 1fr)", height: "100%" }}>
      {failure}
      {damaged}
    </div>
  );
}

export interface Looked {
  readonly lineage: Lineage;
  /** Goes up when rows were added: what is computed of the lineage depends on it. */
  readonly version: number;
  readonly connection: Connection;
  readonly live: LiveLineage;
}

/** The lineage as it is now; whoever uses this is drawn again when it goes on. */
export function useLineage(): Looked {
  const live = useContext(context);
  if (live === undefined) throw new Error("outside of LineageProvider");
  const version = useSyncExternalStore(live.subscribe, () => live.version);
  return { lineage: live.lineage, version, connection: live.connection, live };
}
