/** The format of a store's tables in PostgreSQL. Released steps are never changed; a new format adds one. */
import type { Format } from "../../postgres/format.ts";
import { feed } from "./postgres-feed.ts";
import { first } from "./postgres-first.ts";
import { append } from "./postgres-wakes.ts";

export const postgresFormat: Format = { family: "store", steps: [first, feed, append], opener: "postgresStore" };
