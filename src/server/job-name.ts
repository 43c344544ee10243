/** What a job makes, as its id: readable by any server, and the same for the same thing. */
import { z } from "@hono/zod-openapi";
import canonicalize from "canonicalize";
import { RathError } from "../session/errors.ts";
import { type ExportRequest, exportRequest } from "../wire/api/job.ts";

interface Place {
  /** A session as it stood: its id and an event in it. */
  readonly session: string;
  readonly head: string;
  /** Of pages alone: whether the workflow is executed for it, which not everybody may ask for who may read the session. */
  readonly replay?: boolean | undefined;
}

export type JobName =
  | (Place & { readonly kind: "export"; readonly options: ExportRequest })
  | (Place & { readonly kind: "dossier"; readonly options: Readonly<Record<string, never>> });

/** Whether it makes a page, which says whether the workflow still does what is on record. */
export function isPage(name: Pick<JobName, "kind" | "options">): boolean {
  return name.kind === "dossier" || (name.options as ExportRequest).format === "html";
}

const place = {
  session: z.string().regex(/^[0-9a-f-]{36}$/),
  head: z.string().regex(/^[0-9a-f]{64}$/),
  replay: z.boolean().optional(),
};
const shape = z.discriminatedUnion("kind", [
  z.strictObject({ ...place, kind: z.literal("export"), options: exportRequest }),
  z.strictObject({ ...place, kind: z.literal("dossier"), options: z.strictObject({}) }),
]);

export function jobIdOf(name: JobName): string {
  return Buffer.from(canonicalize(name) as string).toString("base64url");
}

/** Refuses what no server would have said: one thing has one id. */
export function readJobId(id: string): JobName {
  try {
    const name = shape.parse(JSON.parse(Buffer.from(id, "base64url").toString())) as JobName;
    if (jobIdOf(name) === id && isPage(name) === (name.replay !== undefined)) return name;
  } catch {
    // It is none of ours.
  }
  throw new RathError("request.not-found", "There is no such job: begin one with POST /v1/sessions/{session}/exports or /dossiers.");
}
