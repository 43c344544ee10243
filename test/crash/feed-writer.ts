/**
 * One process that appends: chains in logs of its own, and now and then an event that stands on one of another process.
 *
 * node --import tsx feed-writer.ts sqlite FILE NAME COUNT | postgres URL NAME COUNT SCHEMA
 */
import { postgresStore } from "../../src/store/postgres.ts";
import { sqliteStore } from "../../src/store/sqlite.ts";
import type { StoredEvent } from "../../src/store/store.ts";
import { storedEvent } from "../../src/testing/stored-event.ts";

const [kind, address = "", name = "", count = "0", schema] = process.argv.slice(2);
await using store = kind === "sqlite" ? sqliteStore(address) : postgresStore(address, { schema, max: 4 });

async function chain(log: string): Promise<void> {
  let last: StoredEvent | undefined;
  for (let i = 0; i < Number(count); i++) {
    const parents = last === undefined ? [] : [last.id];
    if (i % 5 === 4) for await (const { head } of store.sessions({})) if (Math.random() < 0.3) parents.push(head);
    const first = storedEvent({ session: log, step: i * 2, parents });
    const events = i % 3 === 0 ? [first, storedEvent({ session: log, step: i * 2 + 1, parents: [first.id] })] : [first];
    const written = await store.append({ branches: [{ session: log, expectedHead: last?.id, events }] });
    if (!written.ok) throw new Error(JSON.stringify(written));
    last = events.at(-1);
  }
}

await Promise.all(["a", "b", "c"].map((log) => chain(`${name}-${log}`)));
