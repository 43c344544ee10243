/** The files of sessions as they were recorded: listed, read, and what changed in them. */

import { z } from "@hono/zod-openapi";
import { filesBetween } from "../../audit/diff-files.ts";
import { takenBy } from "../../runtime/file-verbs.ts";
import { placeOf } from "../../session/value.ts";
import { changedFile, fileEntry } from "../../wire/api/file.ts";
import { pageOf } from "../../wire/api/page.ts";
import { ofSession } from "../../wire/api/place.ts";
import { changesQuery, fileQuery, filesQuery, patchQuery } from "../../wire/api/session-queries.ts";
import { changesBetween } from "../../workspace/diff.ts";
import { listDirectory } from "../../workspace/files.ts";
import { patchBetween } from "../../workspace/patch.ts";
import type { Entry } from "../../workspace/tree.ts";
import { pageAfter } from "../cursor.ts";
import { download } from "../download.ts";
import { openSession } from "../open-session.ts";
import { type Call, route } from "../route.ts";

export const getFiles = route({
  name: "getFiles",
  at: "GET /v1/sessions/{session}/files",
  needs: "sessions:read",
  summary: "What is in a directory of a session's files, as they were recorded",
  params: ofSession,
  query: filesQuery,
  answer: pageOf(fileEntry).extend({ tree: z.string().describe("Names all files: equal files, equal hash.") }),
  handle: async (call) => {
    const { under = "", at: place } = call.query;
    const { hash: tree } = (await openSession(call, call.params.session, place)).files;
    const entries = await listDirectory(call.runtime.sandboxes.trees, tree, under);
    const { items, ...next } = pageAfter(entries, call.query, ({ path }) => path);
    return { tree, items: items.map(({ path, entry }) => ({ path, ...shownOf(entry) })), ...next };
  },
});

function shownOf(entry: Entry) {
  switch (entry.type) {
    case "fifo":
    case "socket":
    case "device":
      return { type: "special" as const };
    default:
      return entry;
  }
}

export const getFileContent = route({
  name: "getFileContent",
  at: "GET /v1/sessions/{session}/files/content",
  needs: "sessions:read",
  summary: "The content of a file. Sent to be saved: text as text/plain, anything else as application/octet-stream",
  params: ofSession,
  query: fileQuery,
  media: "application/octet-stream",
  long: true,
  handle: async (call) => {
    const { files } = await openSession(call, call.params.session, call.query.at);
    return download(await files.read(call.query.path), call.query.path);
  },
});

export const getChanges = route({
  name: "getChanges",
  at: "GET /v1/sessions/{session}/changes",
  needs: "sessions:read",
  summary: "The files that a session changed since it took them, or between two places",
  params: ofSession,
  query: changesQuery,
  answer: pageOf(changedFile),
  handle: async (call) => {
    const { patches } = call.query;
    const { trees } = call.runtime.sandboxes;
    const { since, tree } = await compared(call);
    const changes = await changesBetween(trees, since, tree);
    const { items, ...next } = pageAfter(changes, call.query, ({ path }) => path);
    return {
      items: patches === "true" ? await filesBetween(trees, since, tree, { changes: items, signal: call.signal }) : items,
      ...next,
    };
  },
});

export const getPatch = route({
  name: "getPatch",
  at: "GET /v1/sessions/{session}/patch",
  needs: "sessions:read",
  summary: "What a session changed since it took its files, or between two places, as one patch that `git apply` takes",
  params: ofSession,
  query: patchQuery,
  media: "text/plain",
  long: true,
  handle: async (call) => {
    const { session, since, tree } = await compared(call);
    const patch = await patchBetween(call.runtime.sandboxes.trees, since, tree);
    return download(Buffer.from(patch), `${session.id.slice(0, 8)}.patch`);
  },
});

type Comparing = Call<{ readonly session: string }, { readonly from?: string | undefined; readonly at?: string | undefined }>;

/** The files of a place, and those that they are compared with. */
async function compared(call: Comparing) {
  const session = await openSession(call, call.params.session, call.query.at);
  const tree = session.files.hash;
  const { from } = call.query;
  const taken = takenBy(call.runtime.sandboxes, placeOf(session).node) ?? tree;
  return { session, tree, since: from === undefined ? taken : (await openSession(call, session.id, from)).files.hash };
}
