/** All that waits, as it comes and goes. */
import { useCallback, useEffect, useRef, useState } from "react";
import type { Info, PendingResource } from "../../../../src/client/client.ts";
import { useClient } from "../../client.tsx";
import type { Connection } from "../../lineage/live-lineage.ts";

export interface Waiting {
  /** By when it was asked; undefined: not known yet. */
  readonly pending: readonly PendingResource[] | undefined;
  readonly connection: Connection;
  readonly error: unknown;
  readonly retry: () => void;
  /** It was decided here: it is gone before the server says so. */
  readonly settle: (id: string) => void;
}

/** `gone` is told what somebody else decided. */
export function useWaiting(gone: (pending: PendingResource) => void): Waiting {
  const { pending: calls } = useClient();
  const [pending, setPending] = useState<readonly PendingResource[]>();
  const [connection, setConnection] = useState<Connection>("connecting");
  const [error, setError] = useState<unknown>();
  const [tries, setTries] = useState(0);
  const latest = useRef(gone);
  latest.current = gone;
  const known = useRef(new Map<string, PendingResource>());
  const settled = useRef(new Set<string>());
  const show = useCallback(() => setPending([...known.current.values()].sort(byTime)), []);
  const settle = useCallback(
    (id: string) => {
      settled.current.add(id);
      known.current.delete(id);
      show();
    },
    [show],
  );
  // biome-ignore lint/correctness/useExhaustiveDependencies: asked again when somebody tries again
  useEffect(() => {
    const stop = new AbortController();
    known.current = new Map();
    setError(undefined);
    let frame: number | undefined;
    const showSoon = (): void => {
      frame ??= requestAnimationFrame(() => {
        frame = undefined;
        show();
      });
    };
    const follow = async (): Promise<void> => {
      const options = { signal: stop.signal, onOpen: () => setConnection("live"), onRetry: () => setConnection("connecting") };
      for await (const part of calls.stream(options)) {
        if (part.type === "snapshot") for (const one of part.pending) known.current.set(one.id, one);
        else if (part.type === "pending") {
          if (!settled.current.has(part.pending.id)) known.current.set(part.pending.id, part.pending);
        } else {
          const before = known.current.get(part.id);
          known.current.delete(part.id);
          if (before !== undefined && !settled.current.has(part.id)) latest.current(before);
        }
        showSoon();
      }
    };
    follow().catch((reason: unknown) => {
      if (stop.signal.aborted) return;
      setConnection("over");
      setError(reason);
    });
    return () => {
      stop.abort();
      if (frame !== undefined) cancelAnimationFrame(frame);
    };
  }, [calls, tries]);
  return { pending, connection, error, retry: () => setTries(tries + 1), settle };
}

function byTime(a: PendingResource, b: PendingResource): number {
  return a.since < b.since ? -1 : a.since > b.since ? 1 : a.id < b.id ? -1 : 1;
}

export type ForPeople = Extract<PendingResource, { readonly kind: "approval" | "question" | "unknown" }>;

/** Whether a person has to say something, and not a clock, a signal or a process. */
export function isForPeople(pending: PendingResource): pending is ForPeople {
  return pending.kind === "approval" || pending.kind === "question" || pending.kind === "unknown";
}

/** Whether whoever looks is asked; the server has the last word. */
export function isForCaller(pending: PendingResource, { identity, roles, permissions }: Info["caller"]): boolean {
  if (!isForPeople(pending) || !permissions.includes("pending:decide")) return false;
  if (pending.kind !== "question" || pending.to === undefined || roles.includes("admin")) return true;
  return pending.to.startsWith("role:") ? roles.includes(pending.to.slice("role:".length)) : pending.to === identity;
}
