// Opens what `open` wrote, and reads the same bytes raw, in a process of its own.
import { join } from "node:path";
import { now, settleHeap } from "../measure.mjs";
import { answer } from "../process.mjs";
import { readRows } from "../raw.mjs";
import { openDurable } from "./rounds.mjs";

answer({
  raw({ directory }) {
    settleHeap();
    const begin = now();
    readRows(join(directory, "raw.db"));
    return { ms: now() - begin };
  },
  async ours({ directory, id }) {
    settleHeap();
    const begin = now();
    const rath = await openDurable(directory);
    const session = await rath.open(id);
    const view = [session.usage.input, session.messages.length, session.status];
    const ms = now() - begin;
    if (view.includes(undefined)) throw new Error("a view of the session is missing");
    await rath.close();
    return { ms, step: session.step };
  },
});
