/** A process that opens a store and appends one event: node --import tsx postgres-opener.ts URL SCHEMA SESSION. */
import { postgresStore } from "../../src/store/postgres.ts";
import { storedChain } from "../../src/testing/stored-event.ts";

const [url = "", schema, session = ""] = process.argv.slice(2);
await using store = postgresStore(url, { schema });
console.log(JSON.stringify(await store.append({ branches: [{ session, expectedHead: undefined, events: storedChain([{}], session) }] })));
