/** The format of a store's file. Released steps are never changed; a new format adds one. */
import type { Format } from "../../sqlite/format.ts";
import { first } from "./0001-first.ts";
import { due } from "./0002-due.ts";
import { feed } from "./0003-feed.ts";

/** The mark is "Rath". */
export const storeFormat: Format = { applicationId: 0x52617468, steps: [first, due, feed], opener: "sqliteStore" };
