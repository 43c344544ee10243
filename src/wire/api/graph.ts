/** The branches of a session and how they take part in each other. */
import { z } from "@hono/zod-openapi";
import { sessionStatus } from "./session.ts";

export const graphResource = z
  .object({
    nodes: z.array(
      z
        .object({
          id: z.string(),
          label: z.string(),
          kind: z.enum(["root", "fork", "implicit", "nested", "detach", "import"]),
          status: sessionStatus,
          reason: z.string().optional(),
          events: z.number().int(),
          first: z.number().int(),
          step: z.number().int(),
          head: z.string(),
          by: z.string(),
          current: z.boolean(),
          won: z.boolean(),
        })
        .openapi("GraphNode"),
    ),
    edges: z.array(
      z
        .object({
          kind: z.enum(["forked", "nested", "detached", "merged", "adopted", "returned"]),
          from: z.string(),
          to: z.string(),
          parent: z.string(),
          event: z.string(),
          left: z.number().int(),
          step: z.number().int(),
        })
        .openapi("GraphEdge"),
    ),
  })
  .openapi("Graph");
/** Branches, and how they take part in each other. */
export type GraphResource = z.infer<typeof graphResource>;
