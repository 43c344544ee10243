import { afterAll, beforeAll } from "vitest";
import { dropSchemas, freshSchema, sharedPostgres } from "../../test/support/postgres.ts";
import { storeConformance } from "../testing/store-conformance.ts";
import { postgresStore } from "./postgres.ts";
import type { Store } from "./store.ts";

let url = "";
const schemas = new Map<Store, string>();
beforeAll(async () => {
  url = await sharedPostgres();
});
afterAll(() => dropSchemas(url, schemas.values()));

storeConformance({
  name: "postgres",
  create() {
    const schema = freshSchema();
    const store = postgresStore(url, { schema, max: 3 });
    schemas.set(store, schema);
    return store;
  },
  reopen: async (store) => postgresStore(url, { schema: schemas.get(store), max: 3 }),
});
