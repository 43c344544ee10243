/**
 * Signals: durable messages from outside to a run. All of one name lie in one log, its mailbox, in the order in which they were
 * sent; no lease is needed, since each is appended after the one before it or not at all. A `receive` takes the oldest that no
 * `receive` of the run has taken. What was taken is on record in the run and nowhere else, so taking changes no mailbox.
 */
import { RathError } from "../session/errors.ts";
import { givenName, givenOptions, givenSignal, givenText } from "../session/given.ts";
import { mailboxLogId } from "../session/id.ts";
import { type Encoded, encode } from "../session/json.ts";
import { Log, type Node } from "../session/log.ts";
import type { Store } from "../store/store.ts";
import { whenStopped } from "./effect-context.ts";
import { link } from "./link.ts";
import { fetchBlobs, fromStored, inTurn } from "./load.ts";
import { patiently } from "./patience.ts";
import { hasEnded, rowOfRun } from "./run-row.ts";
import { SentKeys } from "./sent-keys.ts";
import type { Services } from "./services.ts";

/** How a signal is sent. */
export interface SendOptions {
  /** Who sends it; "user" when left out. */
  readonly by?: string | undefined;
  /** The same key again is the same signal, whatever its data. */
  readonly key?: string | undefined;
}

/** A signal that a `receive` took. */
interface Signal {
  readonly id: string;
  readonly data: unknown;
}

/** What comes of waiting; nothing does when the execution is parked or ends. */
type Received = Signal | "expired" | "stopped" | "closed";

/** An execution that receives. */
interface Receiving {
  readonly id: string;
  readonly mode: string;
  readonly closed: boolean;
  readonly recorded?: { readonly events: readonly Node[] } | undefined;
}

interface Receiver {
  readonly called: Node;
  readonly settle: (received: Received | "dropped") => void;
}

/** One name as an execution sees it: who waits for it, in the order of the calls. */
interface Box {
  readonly receivers: Receiver[];
  /** Looks for what was sent since it looked last, and hands it out. */
  readonly look: (nothing?: undefined) => Promise<void>;
}

/** What is sent, encoded when it was given: whoever gave it may change it afterwards. */
interface Letter {
  readonly mailbox: string;
  readonly run: string;
  readonly by: string;
  readonly key: string | undefined;
  readonly encoded: Encoded;
}

const longestTimer = 2 ** 31 - 1;

export class Mailbox {
  readonly #runtime: Services;
  readonly #boxes = new Map<Receiving, Map<string, Box>>();
  /** Those sent here to one mailbox go one after the other: in the order of the calls, and not against each other. */
  readonly #sending = new Map<string, { readonly append: (letter: Letter) => Promise<void>; waiting: number }>();
  readonly #keys: SentKeys;

  constructor(runtime: Services) {
    this.#runtime = runtime;
    this.#keys = new SentKeys(runtime);
  }

  /** Keeps a signal for a run; durable when it resolves. */
  async send(run: string, signal: string, data: unknown, options: SendOptions = {}): Promise<void> {
    const { by = "user", key } = givenOptions(options, ["by", "key"], "send");
    const { platform, redact } = this.#runtime;
    const clean = (text: string): string => this.#runtime.clean(text);
    const name = clean(givenSignal(signal));
    const content = {
      run: givenText(run, "run"),
      signal: name,
      ...(data === undefined ? {} : { data }),
      ...(key === undefined ? {} : { key: clean(givenSignal(key, "key")) }),
    };
    const letter: Letter = {
      mailbox: mailboxLogId(platform, run, name),
      run,
      by: givenName(clean(givenText(by, "by")), "by"),
      key: content.key,
      encoded: encode(content, platform, redact, "signal"),
    };
    await this.#inTurn(letter);
    // It is sent: who cannot look for it now was woken, and looks later.
    await this.look(run).catch(() => {});
  }

  async #inTurn(letter: Letter): Promise<void> {
    const { mailbox } = letter;
    const turn = this.#sending.get(mailbox) ?? { append: inTurn((next: Letter) => this.#append(next)), waiting: 0 };
    this.#sending.set(mailbox, turn);
    turn.waiting++;
    try {
      await turn.append(letter);
    } finally {
      if (--turn.waiting === 0) this.#sending.delete(mailbox);
    }
  }

  async #append({ mailbox, run, by, key, encoded }: Letter): Promise<void> {
    const store = await this.#runtime.store();
    for (;;) {
      await refuseEnded(store, run);
      const log = await this.#tail(store, mailbox, key);
      if (log === undefined) return;
      const head = log.tip;
      const parents = head === undefined ? [] : [head];
      const node = link(this.#runtime, { log, parents, kind: "signal.sent", data: undefined, encoded, by });
      const branch = {
        session: mailbox,
        expectedHead: head?.id,
        events: [this.#runtime.toStored(node)],
        about: { log: "answer" as const },
      };
      const blobs = [...(node.blobs ?? [])].map(([hash, bytes]) => ({ hash, bytes }));
      const written = await store.append({ branches: [branch], blobs, wake: [run] }).catch(async (error: unknown) => {
        // The outcome is not known: it is, once the signal is looked for.
        for await (const _ of store.events({ ids: [node.id] })) return { ok: true as const };
        throw error;
      });
      // Otherwise somebody else sent one meanwhile: this one comes after it.
      if (written.ok) return;
    }
  }

  /** The log with its newest event; undefined when a signal with this key is in it. */
  async #tail(store: Store, id: string, key: string | undefined): Promise<Log | undefined> {
    if (key !== undefined) {
      const { log, keys } = await this.#keys.of(store, id);
      return keys.has(key) ? undefined : log;
    }
    const log = new Log(id, "answer");
    const head = await this.#runtime.storedHead(id);
    if (head !== undefined) for await (const event of store.events({ ids: [head] })) fromStored(this.#runtime.platform, event, log, []);
    return log;
  }

  /** The next signal for this call, sent from this process or another; "expired" at `until`, "stopped" when `stop` says so. `waits` is called when there was none yet. */
  receive(
    execution: Receiving,
    called: Node,
    until: string | undefined,
    stop: AbortSignal | undefined,
    waits: () => void = () => {},
  ): Promise<Received> {
    return new Promise((resolve, reject) => {
      if (execution.closed) return;
      const box = this.#box(execution, called.data<"receive.called">(this.#runtime.platform).signal);
      const ends: (() => void)[] = [];
      const receiver: Receiver = {
        called,
        settle: (received) => {
          const at = box.receivers.indexOf(receiver);
          if (at < 0) return;
          box.receivers.splice(at, 1);
          for (const end of ends) end();
          if (received !== "dropped") resolve(received);
        },
      };
      const later = box.receivers.findIndex((other) => other.called.order > called.order);
      box.receivers.splice(later < 0 ? box.receivers.length : later, 0, receiver);
      if (stop !== undefined) ends.push(whenStopped(stop, () => receiver.settle("stopped")));
      if (stop?.aborted === true) receiver.settle("stopped");
      // What is there already is taken before the time is judged.
      const looked = (): void => {
        if (!box.receivers.includes(receiver)) return;
        waits();
        if (until !== undefined) ends.push(this.#at(until, () => receiver.settle("expired")));
      };
      patiently(execution, () => box.look()).then(looked, (error: unknown) => {
        receiver.settle("dropped");
        reject(error);
      });
    });
  }

  /** A run may have got signals: whoever waits for them here is given them. */
  async look(run: string): Promise<void> {
    const boxes = [...this.#boxes].flatMap(([execution, named]) => (execution.id === run ? [...named.values()] : []));
    await Promise.all(boxes.filter(({ receivers }) => receivers.length > 0).map(({ look }) => look()));
  }

  /** Nobody waits any more in an execution that ended or was parked. */
  drop(execution: object): void {
    for (const { receivers } of this.#boxes.get(execution as Receiving)?.values() ?? [])
      for (const receiver of [...receivers]) receiver.settle("dropped");
    this.#boxes.delete(execution as Receiving);
  }

  close(): void {
    for (const boxes of this.#boxes.values())
      for (const { receivers } of boxes.values()) for (const receiver of [...receivers]) receiver.settle("closed");
  }

  #box(execution: Receiving, signal: string): Box {
    const boxes = this.#boxes.get(execution) ?? new Map<string, Box>();
    this.#boxes.set(execution, boxes);
    const known = boxes.get(signal);
    if (known !== undefined) return known;
    const { platform } = this.#runtime;
    const taken = new Set(
      (execution.recorded?.events ?? []).flatMap((node) =>
        node.kind === "receive.returned" ? (node.data<"receive.returned">(platform)?.signal ?? []) : [],
      ),
    );
    const [untaken, receivers]: [Signal[], Receiver[]] = [[], []];
    const log = mailboxLogId(platform, execution.id, signal);
    let next = 0;
    const look = inTurn(async () => {
      for await (const sent of this.#since(log, next)) {
        next = sent.step + 1;
        // A log that somebody else made under this name holds no signals.
        if (sent.kind === "signal.sent" && !taken.has(sent.id))
          untaken.push({ id: sent.id, data: sent.data<"signal.sent">(platform)?.data });
      }
      while (receivers[0] !== undefined && untaken.length > 0) receivers[0].settle(untaken.shift() as Signal);
    });
    const box: Box = { receivers, look };
    boxes.set(signal, box);
    return box;
  }

  async *#since(log: string, step: number): AsyncIterable<Node> {
    const { platform } = this.#runtime;
    const store = await this.#runtime.store();
    const nodes: Node[] = [];
    for await (const event of store.events({ session: log, from: step }))
      nodes.push(fromStored(platform, event, new Log(event.session, "answer"), []));
    await fetchBlobs(platform, store, nodes);
    yield* nodes;
  }

  /** Calls at a time, however far away. Gives back what prevents it. */
  #at(time: string, call: () => void): () => void {
    let timer: NodeJS.Timeout | undefined;
    const arm = (): void => {
      const left = Date.parse(time) - Date.parse(this.#runtime.platform.time());
      timer = setTimeout(() => (left <= longestTimer ? call() : arm()), Math.min(Math.max(left, 0), longestTimer));
    };
    arm();
    return () => clearTimeout(timer);
  }
}

/** There is nobody to send to. */
async function refuseEnded(store: Store, run: string): Promise<void> {
  const row = await rowOfRun(store, run);
  if (row === undefined)
    throw new RathError("run.not-found", `There is no run ${run} in this store: signals go to what rath.run() started.`, {
      details: { run },
    });
  if (hasEnded(row.status))
    throw new RathError("run.ended", `Run ${run} has ended (${row.status}): nobody would receive the signal, and nothing was sent.`, {
      details: { run, status: row.status },
    });
}

/** Outside a durable run nobody can send to whoever waits. */
export function noMailbox(): RathError {
  return new RathError(
    "run.not-found",
    "session.receive waits for signals that are sent to a run, and there is none here: start the workflow with rath.run().",
  );
}
