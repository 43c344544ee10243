/** The events that hold a text, looked for by the server. */
import { useQuery } from "@tanstack/react-query";
import { useDeferredValue } from "react";
import { useClient } from "../../client.tsx";

export interface Found {
  readonly events: ReadonlySet<string>;
  readonly isLooking: boolean;
  /** There are more places than were asked for. */
  readonly isCut: boolean;
  readonly problem: string | undefined;
}

const none: ReadonlySet<string> = new Set();
const most = 2000;

export function useFound(session: string, text: string | undefined, version: number): Found {
  const { sessions } = useClient();
  const wanted = useDeferredValue(text ?? "");
  // What was found is looked for again when the session has gone on, not for every event.
  const lately = Math.floor(version / 20);
  const { data, error, isFetching } = useQuery({
    queryKey: ["grep", session, wanted, lately],
    queryFn: async ({ signal }) => {
      const events = new Set<string>();
      let places = 0;
      for await (const { event } of sessions.grep(session, { q: wanted, ignoreCase: true, limit: 500, signal })) {
        events.add(event);
        if (++places >= most) break;
      }
      return { events, isCut: places >= most };
    },
    enabled: wanted !== "",
    placeholderData: (before, asked) => (asked?.queryKey[2] === wanted ? before : undefined),
  });
  return {
    events: data?.events ?? none,
    isLooking: isFetching && data === undefined,
    isCut: data?.isCut === true,
    problem: error === null ? undefined : error.message,
  };
}
