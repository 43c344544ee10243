/** Broken stores and runtimes. Each breaks one promise that the simulation must find broken. */
import { Answers } from "../../src/runtime/answers.ts";
import { Mailbox } from "../../src/runtime/mailbox.ts";
import { Runtime } from "../../src/runtime/runtime.ts";
import type { Store, Write } from "../../src/store/store.ts";
import type { Breaks, World } from "./world.ts";

/** A broken method of the runtime, until it is mended. */
interface Broken {
  readonly breaks?: Breaks;
  readonly patch?: () => () => void;
}

/** Replaces a method of a prototype; gives back what restores it. */
function replaced<T extends object, K extends keyof T>(prototype: T, name: K, broken: (original: T[K]) => T[K]): () => void {
  const original = prototype[name];
  prototype[name] = broken(original);
  return () => {
    prototype[name] = original;
  };
}

const breaking = (change: (store: Store, world: World) => Partial<Store>): Broken => ({
  breaks: (store, world) => ({ ...store, ...change(store, world) }),
});

/** The newest epoch of a run, as a store would know it that does not look at the one it is given. */
function currentEpochs(store: Store): { readonly wrapped: Partial<Store>; readonly of: (write: Write) => Write } {
  const epochs = new Map<string, number>();
  return {
    wrapped: {
      claim: async (run, worker, forMs, options) => {
        const lease = await store.claim(run, worker, forMs, options);
        if (lease !== undefined) epochs.set(run, lease.epoch);
        return lease;
      },
      take: async (query, worker, forMs) => {
        const taken = await store.take(query, worker, forMs);
        for (const { lease } of taken) epochs.set(lease.run, lease.epoch);
        return taken;
      },
    },
    of: (write) => (write.lease === undefined ? write : { ...write, lease: { ...write.lease, epoch: epochs.get(write.lease.run) ?? 0 } }),
  };
}

export const mutants: Readonly<Record<string, Broken>> = {
  "takes writes of any epoch": breaking((store) => {
    const { wrapped, of } = currentEpochs(store);
    return { ...wrapped, append: (write) => store.append(of(write)) };
  }),

  "appends after any head": breaking((store) => ({
    append: async (write) => {
      const written = await store.append(write);
      if (written.ok || written.reason === "epoch") return written;
      const branches = await Promise.all(
        write.branches.map(async (branch) => ({ ...branch, expectedHead: await headOf(store, branch.session) })),
      );
      return store.append({ ...write, branches });
    },
  })),

  "forgets with a write that a run was woken": breaking((store) => ({
    append: async (write) => {
      const written = await store.append(write);
      // Renewing is what clears it.
      if (written.ok && write.run !== undefined && write.lease !== undefined && write.release !== true)
        await store.renew(write.lease, 3000);
      if (written.ok && write.run !== undefined && write.lease !== undefined && write.release === true) {
        const lease = await store.claim(write.run.id, "nobody", 1);
        if (lease !== undefined) await store.release(lease);
      }
      return written;
    },
  })),

  "hands a run to two workers": breaking((store) => {
    const last: { taken: Awaited<ReturnType<Store["take"]>> } = { taken: [] };
    return {
      take: async (query, worker, forMs) => {
        const taken = await store.take(query, worker, forMs);
        if (taken.length > 0) last.taken = taken;
        return taken.length > 0 ? taken : last.taken.slice(0, query.limit);
      },
    };
  }),

  "acknowledges before it writes": breaking((store, { schedule, random }) => ({
    append: async (write) => {
      if (write.lease === undefined) return store.append(write);
      const at = schedule.now + random.between(0, 5);
      schedule.add({ at, thread: undefined, ordered: false, label: "writes at last", run: () => void store.append(write) });
      return { ok: true };
    },
  })),

  "takes the lease back after the row": breaking((store, { schedule, random }) => ({
    append: async ({ release, ...write }) => {
      const written = await store.append(write);
      const { lease } = write;
      if (!written.ok || release !== true || lease === undefined) return written;
      // Given back a little later, unless the power fails: the row says that it waits, and somebody else may have been woken for it.
      const run = (): void => void store.renew(lease, 1).then((held) => held && store.release(held));
      if (random.chance(0.7))
        schedule.add({ at: schedule.now + random.between(1, 50), thread: undefined, ordered: false, label: "gives back", run });
      return written;
    },
  })),

  "gives an answer to whoever asked first": {
    patch: () =>
      replaced(
        Answers.prototype,
        "find",
        (find) =>
          async function (this: Answers, question) {
            const known = firsts.get(this) ?? question;
            firsts.set(this, known);
            return find.call(this, known);
          },
      ),
  },

  "begins what may happen once before that is on disk": {
    patch: () =>
      replaced(
        Runtime.prototype,
        "perform",
        (perform) =>
          function (this: Runtime, session, effect) {
            return perform.call(this, session, effect.repeat === "once" ? { ...effect, repeat: "safe" } : effect);
          },
      ),
  },

  "keeps a request to cancel in memory": breaking((store) => ({
    append: async (write) => {
      const cancels = write.branches.some(({ events }) =>
        events.some(({ data }) => data !== undefined && Buffer.from(data).includes('"cancel":true')),
      );
      return cancels ? { ok: true } : store.append(write);
    },
  })),

  "does not see that a run was cancelled": {
    patch: () =>
      replaced(
        Answers.prototype,
        "find",
        (find) =>
          async function (this: Answers, question) {
            const given = await find.call(this, question);
            return given?.data.cancel === true ? undefined : given;
          },
      ),
  },

  "parks before it has looked": {
    patch: () =>
      replaced(
        Mailbox.prototype,
        "receive",
        (receive) =>
          function (this: Mailbox, execution, called, until, stop, waits) {
            waits?.();
            return receive.call(this, execution, called, until, stop);
          },
      ),
  },
};

const firsts = new WeakMap<Answers, string>();

async function headOf(store: Store, session: string): Promise<string | undefined> {
  for await (const row of store.sessions({ id: session })) if (row.id === session) return row.head;
  return undefined;
}
