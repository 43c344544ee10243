import { z } from "@hono/zod-openapi";
import { expectTypeOf, test } from "vitest";
import type { Asked } from "./asked.ts";
import { pageQuery } from "./page.ts";
import { flag } from "./place.ts";

const query = z.strictObject({ ...pageQuery, q: z.string(), flag, kind: z.enum(["a", "b"]).optional(), n: z.coerce.number() });

test("a query is written with numbers and booleans, without what the server fills in", () => {
  expectTypeOf<{ q: string; n: number }>().toExtend<Asked<typeof query>>();
  expectTypeOf<{ q: string; n: number; limit: number; after: string; flag: true; kind: "a" }>().toExtend<Asked<typeof query>>();
  expectTypeOf<{ n: number }>().not.toExtend<Asked<typeof query>>();
  expectTypeOf<{ q: string; n: number; limit: "5" }>().not.toExtend<Asked<typeof query>>();
  expectTypeOf<{ q: string; n: number; flag: "true" }>().not.toExtend<Asked<typeof query>>();
});
