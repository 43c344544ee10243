/** What is asked about files. What is on record does not change: it is asked once. */
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import type { ChangedFile } from "../../../../src/client/client.ts";
import { useClient } from "../../client.tsx";
import type { LookedPlace } from "../../session/use-place.ts";
import type { Compared } from "./compared.ts";
import { type Content, readContent } from "./content.ts";

export type Asked = Pick<LookedPlace, "session" | "at" | "named">;

const forGood = { staleTime: Number.POSITIVE_INFINITY } as const;
const pageSize = 100;
/** Where keys say at which event. */
const placeInKey = 2;

/** Who looks at the newest sees what was there a moment ago until what is there now has been read; who chose a place never sees another. */
function untilRead(named: boolean, queryKey: readonly unknown[]) {
  return <Data>(before: Data | undefined, query: { readonly queryKey: readonly unknown[] } | undefined): Data | undefined =>
    !named && query?.queryKey.every((part, index) => index === placeInKey || part === queryKey[index]) === true ? before : undefined;
}

/** A directory, page by page. */
export function useDirectory({ session, at, named }: Asked, under: string, enabled = true) {
  const { sessions } = useClient();
  const queryKey = ["files", session, at, under];
  return useInfiniteQuery({
    queryKey,
    placeholderData: untilRead(named, queryKey),
    queryFn: ({ pageParam, signal }) =>
      sessions.files(session, { at, limit: pageSize, signal, ...(under === "" ? {} : { under }) }).page(pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next,
    enabled: enabled && at !== undefined,
    ...forGood,
  });
}

export type Changes = ReturnType<typeof useChanges>;

export function useChanges({ session, at, named }: Asked, compared: Compared) {
  const { sessions } = useClient();
  const from = compared.with === "before" ? compared.from : undefined;
  const queryKey = ["changes", session, at, from];
  return useInfiniteQuery({
    queryKey,
    placeholderData: untilRead(named, queryKey),
    queryFn: ({ pageParam, signal }) => sessions.changes(session, { at, from, limit: pageSize, signal }).page(pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next,
    enabled: at !== undefined,
    ...forGood,
  });
}

/** What changed in one file; `before` is the one that the list of changes names before it. */
export function usePatch({ session, at, named }: Asked, compared: Compared, path: string, items: readonly ChangedFile[]) {
  const { sessions } = useClient();
  const from = compared.with === "before" ? compared.from : undefined;
  const index = items.findIndex((item) => item.path === path);
  const before = items[index - 1]?.path;
  const queryKey = ["patch", session, at, from, path];
  return useQuery({
    queryKey,
    placeholderData: untilRead(named, queryKey),
    queryFn: async ({ signal }) => (await sessions.changes(session, { at, from, patches: true, limit: 1, signal }).page(before)).items[0],
    enabled: at !== undefined && index >= 0,
    ...forGood,
  });
}

export function useContent({ session, at, named }: Asked, path: string, enabled: boolean) {
  const { sessions } = useClient();
  const queryKey = ["content", session, at, path];
  return useQuery<Content>({
    queryKey,
    placeholderData: untilRead(named, queryKey),
    queryFn: async ({ signal }) => readContent(await sessions.file(session, { path, at, signal })),
    enabled,
    gcTime: 30_000,
    ...forGood,
  });
}

export function useBlame({ session, at, named }: Asked, path: string, enabled: boolean) {
  const { sessions } = useClient();
  const queryKey = ["blame", session, at, path];
  return useInfiniteQuery({
    queryKey,
    placeholderData: untilRead(named, queryKey),
    queryFn: ({ pageParam, signal }) => sessions.blame(session, { path, at, limit: 500, signal }).page(pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next,
    enabled,
    ...forGood,
  });
}
