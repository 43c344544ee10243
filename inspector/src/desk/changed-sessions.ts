/** Which sessions went on, told together and not more often than somebody can read. */
import { useEffect, useRef, useState } from "react";
import { useClient } from "../client.tsx";
import type { Connection } from "../lineage/live-lineage.ts";

const everyMs = 700;

export interface Changed {
  /** Branches that something happened on. */
  readonly sessions: ReadonlySet<string>;
  readonly runs: ReadonlySet<string>;
}

/** Follows all that happens in the project, as long as the screen is shown. */
export function useChanged(heard: (changed: Changed) => void): Connection {
  const { project } = useClient();
  const latest = useRef(heard);
  latest.current = heard;
  const [connection, setConnection] = useState<Connection>("connecting");
  useEffect(() => {
    const stop = new AbortController();
    let [sessions, runs] = [new Set<string>(), new Set<string>()];
    let timer: ReturnType<typeof setTimeout> | undefined;
    const tell = (): void => {
      timer = undefined;
      const changed = { sessions, runs };
      [sessions, runs] = [new Set(), new Set()];
      latest.current(changed);
    };
    const follow = async (): Promise<void> => {
      const options = { signal: stop.signal, onOpen: () => setConnection("live"), onRetry: () => setConnection("connecting") };
      for await (const part of project.stream(options)) {
        if (part.session !== undefined) sessions.add(part.session);
        if (part.run !== undefined) runs.add(part.run);
        timer ??= setTimeout(tell, everyMs);
      }
    };
    follow().catch(() => {
      if (!stop.signal.aborted) setConnection("over");
    });
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [project]);
  return connection;
}
