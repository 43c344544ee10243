/**
 * Long texts and bytes that events name. Contents are shared by all projects of a tenant, so that a hash alone proves nothing: the caller
 * names an event of the project, and that names the content.
 */

import { z } from "@hono/zod-openapi";
import { dataText } from "../../session/codec.ts";
import { RathError } from "../../session/errors.ts";
import { blobsIn } from "../../session/json.ts";
import { blobQuery } from "../../wire/api/session-queries.ts";
import { download } from "../download.ts";
import { route } from "../route.ts";
import { storedEvent } from "./events.ts";

export const getBlob = route({
  name: "getBlob",
  at: "GET /v1/blobs/{hash}",
  needs: "sessions:read",
  summary: "A content that an event names",
  params: z.object({
    hash: z
      .string()
      .regex(/^[0-9a-fA-F]{64}$/, "is not a SHA-256 in hex")
      .toLowerCase(),
  }),
  query: blobQuery,
  media: "application/octet-stream",
  long: true,
  handle: async ({ runtime, params: { hash }, query }) => {
    const { data } = await storedEvent(runtime, query.event);
    const named = data !== undefined && blobsIn(dataText(runtime.platform, data)).includes(hash);
    const bytes = named ? await (await runtime.store()).blob(hash) : undefined;
    if (bytes === undefined)
      throw new RathError("session.not-found", `Event ${query.event} names no content ${hash}.`, { details: { event: query.event, hash } });
    return download(bytes, hash);
  },
});
