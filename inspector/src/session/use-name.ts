/** What a session is called: by its title, or as a branch by its label and by what it comes from. */
import { useQuery } from "@tanstack/react-query";
import type { SessionResource } from "../../../src/client/client.ts";
import { useClient } from "../client.tsx";
import { useLineage } from "../lineage/use-lineage.tsx";
import { shortId } from "../parts/short-id.ts";

export interface SessionName {
  readonly text: string;
  /** Of a branch without a title: the session that all began with. */
  readonly root: { readonly id: string; readonly relation: string; readonly title: string } | undefined;
}

const relations: Readonly<Record<SessionResource["lineage"]["kind"], string>> = {
  root: "branch of",
  fork: "fork of",
  merge: "fork of",
  import: "branch of",
  detach: "detached from",
};

export function useName(id: string, session: SessionResource | undefined): SessionName {
  const { sessions } = useClient();
  const { lineage } = useLineage();
  const [first = id] = lineage.sessions;
  const isBranch = first !== id && session !== undefined && session.title === undefined;
  const { data: root } = useQuery({
    queryKey: ["session", first],
    queryFn: ({ signal }) => sessions.get(first, { signal }),
    enabled: isBranch,
  });
  if (session === undefined) return { text: shortId(id), root: undefined };
  if (!isBranch) return { text: session.title ?? session.begins ?? "Untitled session", root: undefined };
  const { label, kind } = session.lineage;
  return {
    text: label === undefined || label === "" ? `Branch ${shortId(id)}` : label,
    root: { id: first, relation: relations[kind], title: root?.title ?? root?.begins ?? shortId(first) },
  };
}
