/** A second server, on a copy of a store in which somebody changed what one event says. */
import { join } from "node:path";
import { volatileMemory } from "../../src/memory/volatile.ts";
import { composeRath, openrath } from "../../src/openrath.ts";
import { runtimeOf } from "../../src/runtime/replay.ts";
import { createServer } from "../../src/server/server.ts";
import { saltBytes } from "../../src/session/platform.ts";
import { memoryStore } from "../../src/store/memory.ts";
import type { StoredEvent } from "../../src/store/store.ts";
import { dataOf, envelopeOf, Forgery } from "../support/forgery.ts";
import { servedHttp } from "../support/served-http.ts";
import type { Looked } from "./stage.ts";

export interface Damaged extends AsyncDisposable {
  readonly url: string;
  /** The event that was changed. */
  readonly event: string;
  readonly session: string;
  readonly step: number;
}

interface Damage {
  /** Its words, which are read on; or its envelope, so that the session cannot be opened any more. */
  readonly of?: "data" | "envelope";
  readonly port?: number;
}

/** Changes the first message of the session; nothing that rests on it is named anew. */
export async function serveDamaged({ folder, session }: Looked, { of = "data", port = 0 }: Damage = {}): Promise<Damaged> {
  await using rath = openrath({ store: join(folder, "store.db") });
  const runtime = runtimeOf(rath.session());
  const forgery = await Forgery.of(await runtime.store());
  const found = forgery.events.find((event) => envelopeOf(event).kind === "message.added" && event.session === session);
  if (found?.data === undefined) throw new Error("There is no such event.");
  const words = Buffer.from(dataOf(found).replace(/(?<="text":")./, "#"));
  const change: Partial<StoredEvent> =
    of === "data"
      ? { data: Buffer.concat([found.data.subarray(0, saltBytes), words]) }
      : { envelope: Buffer.from(Buffer.from(found.envelope).toString().replace('"kind":', '"kind"')) };
  forgery.replace(found, change);
  const store = memoryStore();
  await forgery.into(store);
  const key = await runtime.key();
  const copy = composeRath({ store, implicitForks: "allow", memory: volatileMemory() }, { openKey: async () => key });
  const server = createServer(copy, { auth: "none-on-loopback" });
  const http = await servedHttp(server, port);
  return {
    ...{ url: http.url, event: found.id, session: found.session, step: found.step },
    [Symbol.asyncDispose]: async () => {
      await server.close();
      await http[Symbol.asyncDispose]();
      await copy.close().catch(() => {});
    },
  };
}

if (process.argv[1] === import.meta.filename) {
  const { buildStage } = await import("./stage.ts");
  const stage = await buildStage();
  const { url, session, event } = await serveDamaged(stage, { port: Number(process.argv[2] ?? 0) });
  console.log(`${url}/#/s/${session}/verify ${event}`);
}
