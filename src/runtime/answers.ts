/** Answers from outside: each is the only event of a log derived from its question, so exactly one wins and no lease is needed. */
import { RathError } from "../session/errors.ts";
import { givenName, givenText } from "../session/given.ts";
import { answerLogId } from "../session/id.ts";
import { Log } from "../session/log.ts";
import type { Decision } from "../session/session.ts";
import { link } from "./link.ts";
import { fetchBlobs, fromStored } from "./load.ts";
import { patiently } from "./patience.ts";
import type { Given, Services } from "./services.ts";

interface Waiter {
  readonly execution: Waiting;
  readonly settle: (given: Given | "expired" | "dropped" | "closed") => void;
}

/** Who waits: a durable run is woken by whoever answers, anybody else looks from time to time. */
interface Waiting {
  readonly closed: boolean;
  readonly mode: string;
}

/** What takes the place of the only answer: a decision, that a run is to be cancelled, or that the time is over. */
export type Said =
  | Decision
  | { readonly by: string; readonly reason: string; readonly cancel: true }
  | { readonly by: string; readonly expired: true };

const pollMs = 1000;
const longestTimer = 2 ** 31 - 1;

export class Answers {
  readonly #runtime: Services;
  readonly #waiters = new Map<string, Set<Waiter>>();
  #poll: NodeJS.Timeout | undefined;

  constructor(runtime: Services) {
    this.#runtime = runtime;
  }

  /**
   * The answer when it comes, from this process or another, or "expired" at `until`. Keeps the process alive meanwhile. `looked` is
   * called when there was none yet.
   */
  async wait(
    question: string,
    until: string | undefined,
    execution: Waiting,
    looked: () => void = () => {},
  ): Promise<Given | "expired" | "closed"> {
    let arm: () => void = () => {};
    let stop: () => void = () => {};
    const given = new Promise<Given | "expired" | "closed">((resolve) => {
      let timer: NodeJS.Timeout | undefined;
      const waiter: Waiter = {
        execution,
        settle: (given) => {
          clearTimeout(timer);
          this.#forget(question, waiter);
          if (given === "closed" || (given !== "dropped" && !execution.closed)) resolve(given);
        },
      };
      stop = () => waiter.settle("dropped");
      arm = () => {
        const left = Date.parse(until as string) - Date.parse(this.#runtime.platform.time());
        timer = setTimeout(() => (left <= longestTimer ? waiter.settle("expired") : arm()), Math.min(Math.max(left, 0), longestTimer));
      };
      if (execution.closed) {
        if (this.#runtime.closed) resolve("closed");
        return;
      }
      const waiters = this.#waiters.get(question);
      if (waiters === undefined) this.#waiters.set(question, new Set([waiter]));
      else waiters.add(waiter);
      this.#poll ??= setInterval(() => void this.#look(({ mode }) => mode !== "run").catch(() => {}), pollMs); // the next one may do better
    });
    // Whoever answers from now on is heard; who answered before is found, also when its time has come since.
    const known = await patiently(execution, () => this.find(question)).catch((error: unknown) => {
      stop();
      throw error;
    });
    if (known !== undefined) this.#tell(question, known);
    else if (this.#waiters.has(question)) {
      looked();
      if (until !== undefined && !execution.closed) arm();
    }
    return given;
  }

  /** A run was woken: perhaps something it waits for was answered in another process. Rejects when that could not be found out. */
  look(execution: object): Promise<void> {
    return this.#look((waiting) => waiting === execution);
  }

  /** Nobody waits any more in an execution that ended or was parked. */
  drop(execution: object): void {
    for (const waiters of [...this.#waiters.values()])
      for (const waiter of [...waiters]) if (waiter.execution === execution) waiter.settle("dropped");
  }

  async find(question: string): Promise<Given | undefined> {
    const { platform } = this.#runtime;
    const store = await this.#runtime.store();
    for await (const event of store.events({ session: answerLogId(platform, question) })) {
      const node = fromStored(platform, event, new Log(event.session, "answer"), []);
      // A log that somebody else made under this name says nothing.
      if (node.kind !== "answer.given") return undefined;
      await fetchBlobs(platform, store, [node]);
      return { id: event.id, by: node.by, at: node.at, data: node.data<"answer.given">(platform) };
    }
    return undefined;
  }

  /** Writes the answer and wakes the run that asked, or fails with `pending.answered` when somebody was faster or its time is over. */
  async give(question: string, said: Said, run: string | undefined, until?: string): Promise<void> {
    const { by, reason: why, ...rest } = said as Said & Record<string, unknown>;
    const who = givenName(this.#runtime.clean(givenText(by, "by")), "by");
    const reason = why === undefined ? undefined : givenText(why, "reason");
    const log = new Log(answerLogId(this.#runtime.platform, question), "answer");
    const data = {
      question,
      ...(reason === undefined ? {} : { reason }),
      ...Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined)),
    };
    const node = link(this.#runtime, { log, parents: [], kind: "answer.given", data, by: who });
    if (until !== undefined && node.at >= until)
      throw new RathError("pending.answered", `${question} expired at ${until}: nothing waits under it any more.`, {
        details: { question },
      });
    const store = await this.#runtime.store();
    const blobs = [...(node.blobs ?? [])].map(([hash, bytes]) => ({ hash, bytes }));
    const events = [this.#runtime.toStored(node)];
    const written = await store
      .append({
        branches: [{ session: log.id, expectedHead: undefined, events, about: { log: "answer" } }],
        blobs,
        ...(run === undefined ? {} : { wake: [run] }),
      })
      .catch(async (error: unknown) => {
        // The outcome is not known: it is, once the answer is read again.
        if ((await this.find(question))?.id === node.id) return { ok: true as const };
        throw error;
      });
    if (!written.ok)
      throw new RathError("pending.answered", `${question} was already answered; the first answer counts.`, { details: { question } });
    this.#tell(question, { id: node.id, by: who, at: node.at, data: node.data<"answer.given">(this.#runtime.platform) });
  }

  /** Its time came: nobody can answer any more. Whoever was faster is heard. */
  async expire(question: string): Promise<Given | "expired"> {
    try {
      await this.give(question, { by: "runtime", expired: true }, undefined);
    } catch (error) {
      if (!RathError.is(error, "pending.answered")) throw error;
    }
    const given = await this.find(question);
    return given === undefined || given.data.expired === true ? "expired" : given;
  }

  close(): void {
    for (const waiters of [...this.#waiters.values()]) for (const waiter of [...waiters]) waiter.settle("closed");
  }

  #tell(question: string, given: Given): void {
    for (const waiter of [...(this.#waiters.get(question) ?? [])]) waiter.settle(given);
  }

  #forget(question: string, waiter: Waiter): void {
    const waiters = this.#waiters.get(question);
    waiters?.delete(waiter);
    if (waiters?.size === 0) this.#waiters.delete(question);
    if (this.#waiters.size === 0) {
      clearInterval(this.#poll);
      this.#poll = undefined;
    }
  }

  async #look(concerns: (waiting: Waiting) => boolean): Promise<void> {
    for (const [question, waiters] of [...this.#waiters]) {
      if (![...waiters].some(({ execution }) => concerns(execution))) continue;
      const given = await this.find(question);
      if (given !== undefined) this.#tell(question, given);
    }
  }
}
