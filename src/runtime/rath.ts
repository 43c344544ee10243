/** A Rath: sessions, runs, decisions and imports on one store. Made by `openrath()`. */
import type { Memory } from "../memory/memory.ts";
import { counted } from "../session/counted.ts";
import { RathError } from "../session/errors.ts";
import { givenOptions, givenText, givenWord, unsupported } from "../session/given.ts";
import type { Log } from "../session/log.ts";
import type { Content, Decided, Decision, Pending, RunStatus, SandboxRecord, Session, SessionStatus } from "../session/session.ts";
import { placeOf, SessionValue } from "../session/value.ts";
import type { LogRow, RunRow, Store } from "../store/store.ts";
import type { OutputOf, Workflow } from "../workflow/workflow.ts";
import { decide, decisionOn } from "./decide.ts";
import type { EraseOptions, EraseTarget } from "./erase.ts";
import type { EraseReport } from "./erase-report.ts";
import type { GcOptions, GcReport } from "./gc.ts";
import { givenTags } from "./given-about.ts";
import type { SendOptions } from "./mailbox.ts";
import { pendingRuns } from "./pending.ts";
import { givenRunOptions, type RunOptions } from "./queue-run.ts";
import { checkReady } from "./ready.ts";
import type { Run } from "./run-handle.ts";
import type { ResumeOptions, Runs } from "./runs.ts";
import type { Runtime } from "./runtime.ts";
import { type SandboxQuery, sandboxRecords } from "./sandbox-records.ts";
import type { WorkOptions } from "./worker.ts";

/**
 * Sessions, runs and decisions on one store.
 *
 * @example
 * await using rath = openrath({ workflows: { migrate } });
 * const run = await rath.run(migrate, rath.session("Move the tables"), { key: "migrate-1" });
 * const settled = await run.settle();
 */
export interface Rath extends AsyncDisposable {
  /** A new session. Not stored until its first effect or `save`. */
  session(
    message?: Content,
    options?: {
      readonly title?: string | undefined;
      readonly tags?: readonly string[] | undefined;
      readonly principal?: string | undefined;
    },
  ): Session;
  /** By id, unique prefix, or `ID@step`. */
  open(id: string): Promise<Session>;
  /** The sessions of the store, oldest first. Where some are damaged, the others come, and then it rejects with `store.corrupt` and their ids. */
  sessions(query?: {
    readonly tag?: string | undefined;
    readonly status?: SessionStatus | undefined;
    readonly after?: string | undefined;
  }): AsyncIterable<Session>;
  /**
   * Stores what `say`, `note`, `to` and `fork` have added since the last effect. Where the session was continued elsewhere meanwhile, it
   * is stored as a fork of it: the value that comes back has its id.
   */
  save<S extends Session>(session: S): Promise<S>;
  /** Starts a durable run; resolves when it is durably queued. The same key returns the same run. */
  run<W extends Workflow>(workflow: W, session: Session, options?: RunOptions): Promise<Run<OutputOf<W>>>;
  run(workflow: string, session: Session, options?: RunOptions): Promise<Run>;
  /** A handle on a run, whoever executes it. */
  attach(run: string): Promise<Run>;
  /** Executes here a run that was interrupted; recorded results are taken from the log. */
  resume(run: string, options?: ResumeOptions): Promise<Run>;
  /** The durable runs of the store. */
  runs(query?: { readonly status?: RunStatus | undefined; readonly workflow?: string | undefined }): AsyncIterable<Run>;
  /**
   * Executes any run of the store whose workflow is in `openrath({ workflows })`, whoever started it, until the signal: queued
   * ones, those whose time or answer has come, and those whose worker died. Any number of processes may do so on one store.
   *
   * @example
   * const stop = new AbortController();
   * process.once("SIGTERM", () => stop.abort());
   * await rath.work({ concurrency: 8, signal: stop.signal });
   */
  work(options?: WorkOptions): Promise<void>;
  /**
   * The sandboxes that were ever opened: by which session and run, whether and why they were closed. Answers who still holds one.
   *
   * @example
   * for await (const { id, session, run } of rath.sandboxes({ status: "open" })) console.log(id, session, run);
   */
  sandboxes(query?: {
    readonly session?: string | undefined;
    readonly run?: string | undefined;
    readonly status?: SandboxRecord["status"] | undefined;
  }): AsyncIterable<SandboxRecord>;
  /** What people ask of memory: search, evidence, uses, and taking it back. */
  readonly memory: Memory;
  /**
   * What waits for a person: questions, approvals, effects with an unknown outcome; and for timers and signals. Of a session: what waits
   * in it, and what waits on any branch of a run that works on it.
   */
  pending(query?: { readonly run?: string | undefined; readonly session?: string | undefined }): Promise<readonly Pending[]>;
  /** Answers something pending. Exactly one answer wins; later ones are refused with `pending.answered`. */
  decide(pending: string, decision: Decision): Promise<void>;
  /**
   * Sends a signal to a run that `session.receive` in it takes, now or later, exactly once; it is durable when this resolves. `data`
   * is what JSON can say, stored without secrets; sent again with the same `key` it is one signal. Rejects with `run.not-found` or
   * `run.ended` when there is nobody to send to; nothing is changed then.
   *
   * @example
   * const run = await rath.run(workflow, session);
   * await rath.send(run.id, "paid", { amount: 12 }, { by: "service:payments", key: "payment-7" });
   */
  send(
    run: string,
    signal: string,
    data?: unknown,
    options?: { readonly by?: string | undefined; readonly key?: string | undefined },
  ): Promise<void>;
  /**
   * What waits or waited under an id, and what was decided about it: by whom, when and why.
   *
   * @example
   * const [pending] = await rath.pending();
   * const { by, at, reason, approve } = await rath.decision(pending?.id ?? "");
   */
  decision(pending: string): Promise<Decided>;
  /**
   * Removes for good what sessions, events or memories say: everything, or only what holds a text. Envelopes stay, and name the entry
   * of the erasure log that says by whom and why, so the record still verifies. Contents go with the last event that names them, and
   * memories with what they were made of. Rejects with `erase.refused` while a run that reads or writes it has not ended.
   *
   * @example
   * const would = await rath.erase({ matching: "4711" }, { by: "human:ada", reason: "a PIN was pasted", dryRun: true });
   * console.log(String(would)); // what would go, who shares it, and what would still say it
   */
  erase(target: EraseTarget, options: EraseOptions): Promise<EraseReport>;
  /**
   * Removes what nobody needs any more: contents that no session reaches and, if told how old, sessions that nobody has touched since.
   * Finishes erasures that were interrupted. What kept sessions stand on stays, and they still verify.
   *
   * @example
   * const { sessions, blobs } = await rath.gc({ sessionsOlderThan: "90d", keepTag: "keep", dryRun: true });
   */
  gc(options?: GcOptions): Promise<GcReport>;
  /**
   * Takes in a bundle or a session file of OpenRath 1, or a folder of such files, and gives its session; of several the newest.
   * A bundle is verified and nothing is added to it. A foreign session begins with `session.imported`; imported again, it is the same.
   * Where a bundle lets tools act, somebody else chose: that is refused here until `to(…)` says it again, unless `placed` trusts it.
   */
  import(source: string | AsyncIterable<Uint8Array>, options?: { readonly placed?: boolean | undefined }): Promise<Session>;
  /** Checks the store and memory, and of a workflow its models, keys and tools, before anything is spent. */
  ready(workflow?: Workflow): Promise<void>;
  /** Leaves what is running to be resumed, and closes the store. Whoever still waits gets `rath.closed`. Called again, it is the same closing. */
  close(): Promise<void>;
}

/** An object that names a session by its id, or none. */
function givenTarget(target: EraseTarget): EraseTarget {
  if (typeof target !== "object" || target === null) throw unsupported("erase", "names nothing", "give an object like { session: id }");
  const { session } = target;
  if (session !== undefined && typeof session !== "string" && typeof session?.id !== "string")
    throw unsupported("erase.session", "is neither a session nor an id", "give one of them");
  return target;
}

const wholeId = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Whoever has the id of a run is told which session it works on. */
async function noSession(store: Store, name: string): Promise<RathError> {
  const runs: RunRow[] = [];
  if (name !== "")
    for await (const { id } of store.sessions({ id: name, log: "run" })) for await (const row of store.runs({ id })) runs.push(row);
  const [run, ...others] = runs;
  const instead = run === undefined || others.length > 0 ? "." : `: that is a run, and its session is ${run.session}.`;
  return new RathError("session.not-found", `There is no session ${name || "(empty id)"} in this store${instead}`, {
    details: { session: name, ...(instead === "." ? {} : { run: run?.id }) },
  });
}

type Importer = (runtime: Runtime, ...given: Parameters<Rath["import"]>) => Promise<Session>;

export class RathOnStore implements Rath {
  readonly #runtime: Runtime;
  readonly #runs: Runs;
  readonly memory: Memory;
  readonly #importer: Importer;
  #closing: Promise<void> | undefined;

  constructor(runtime: Runtime, runs: Runs, importer: Importer, memory: Memory) {
    this.#runtime = runtime;
    this.memory = memory;
    this.#runs = runs;
    this.#importer = importer;
  }

  session(
    message?: Content,
    options: {
      readonly title?: string | undefined;
      readonly tags?: readonly string[] | undefined;
      readonly principal?: string | undefined;
    } = {},
  ): Session {
    const { title, tags, principal } = givenOptions(options, ["title", "tags", "principal"], "session");
    const created = this.#runtime.session({
      ...(title === undefined ? {} : { title }),
      ...(tags === undefined ? {} : { tags: givenTags(tags) }),
      ...(principal === undefined ? {} : { principal }),
    });
    return message === undefined ? created : created.say(message);
  }

  async open(id: string): Promise<Session> {
    this.#runtime.assertOpen();
    await this.#runtime.effects.writer.flush();
    const [name = "", step] = givenText(id, "id").split("@");
    // A whole id is looked up once.
    const whole = wholeId.test(name) ? name : (await this.#find(name)).id;
    const log = (await this.#runtime.load([whole])).get(whole) as Log;
    if (log.kind !== "session") throw await noSession(await this.#runtime.store(), name);
    const session = this.#runtime.outside(log.storedHead ?? (log.tip as NonNullable<typeof log.tip>));
    return step === undefined ? session : session.at(/^\d+$/.test(step) ? Number(step) : step);
  }

  async #find(name: string): Promise<LogRow> {
    const rows: LogRow[] = [];
    const store = await this.#runtime.store();
    if (name !== "") for await (const row of store.sessions({ id: name, log: "session" })) rows.push(row);
    const exact = rows.find((row) => row.id === name);
    if (exact !== undefined) return exact;
    const [row, ...others] = rows;
    if (row === undefined) throw await noSession(store, name);
    if (others.length > 0)
      throw new RathError("session.ambiguous-id", `${name} is the beginning of ${rows.length} session ids: write more of it.`, {
        details: { ids: rows.map((found) => found.id) },
      });
    return row;
  }

  async *sessions(
    query: { readonly tag?: string | undefined; readonly status?: SessionStatus | undefined; readonly after?: string | undefined } = {},
  ): AsyncIterable<Session> {
    const { status } = givenOptions(query, ["tag", "status", "after"], "sessions");
    if (status !== undefined) givenWord(status, ["idle", "waiting", "failed", "cancelled", "rejected"], "sessions.status");
    this.#runtime.assertOpen();
    await this.#runtime.effects.writer.flush();
    const unreadable = new Map<string, RathError>();
    for await (const row of (await this.#runtime.store()).sessions({ log: "session", tag: query.tag, after: query.after })) {
      const session = await this.open(row.id).catch((error: unknown) => {
        // Retention may have removed it since it was listed.
        if (RathError.is(error, "session.not-found")) return undefined;
        if (!RathError.is(error, "store.corrupt")) throw error;
        unreadable.set(row.id, error);
        return undefined;
      });
      if (session !== undefined && (status === undefined || session.status === status)) yield session;
    }
    const [cause] = unreadable.values();
    if (cause === undefined) return;
    const problem = `${counted(unreadable.size, "session")} cannot be read, the others were given: ${[...unreadable.keys()].join(", ")}. ${cause.message}`;
    throw new RathError("store.corrupt", problem, { cause, details: { ...cause.details, sessions: [...unreadable.keys()] } });
  }

  async save<S extends Session>(session: S): Promise<S> {
    this.#runtime.assertOpen();
    await this.#runtime.save(session);
    const { node, context } = placeOf(session);
    return node.id === session.head ? session : (new SessionValue(node, context) as Session as S);
  }

  async run(workflow: Workflow | string, session: Session, options: RunOptions = {}): Promise<Run<never>> {
    this.#runtime.assertOpen();
    return this.#runs.start(workflow, session, givenRunOptions(options)) as Promise<Run<never>>;
  }
  async attach(run: string): Promise<Run> {
    this.#runtime.assertOpen();
    return this.#runs.attach(run);
  }
  async resume(run: string, options: ResumeOptions = {}): Promise<Run> {
    const { onDivergence } = givenOptions(options, ["onDivergence", "workflow"], "resume");
    if (onDivergence !== undefined) givenWord(onDivergence, ["pause", "fork", "fail"], "resume.onDivergence");
    this.#runtime.assertOpen();
    return this.#runs.resume(givenText(run, "run"), options);
  }
  runs(query: { readonly status?: RunStatus | undefined; readonly workflow?: string | undefined } = {}): AsyncIterable<Run> {
    const { status } = givenOptions(query, ["status", "workflow"], "runs");
    if (status !== undefined) givenWord(status, ["queued", "running", "waiting", "done", "failed", "cancelled"], "runs.status");
    this.#runtime.assertOpen();
    return this.#runs.list(query);
  }

  async work(options: WorkOptions = {}): Promise<void> {
    await this.#runs.work(options);
  }

  async *sandboxes(query: SandboxQuery = {}): AsyncIterable<SandboxRecord> {
    this.#runtime.assertOpen();
    await this.#runtime.effects.writer.flush();
    yield* sandboxRecords(this.#runtime, givenOptions(query, ["session", "run", "status"], "sandboxes"));
  }

  async pending(query: { readonly run?: string | undefined; readonly session?: string | undefined } = {}): Promise<readonly Pending[]> {
    this.#runtime.assertOpen();
    return pendingRuns(this.#runtime, givenOptions(query, ["run", "session"], "pending"));
  }

  async decide(id: string, decision: Decision): Promise<void> {
    this.#runtime.assertOpen();
    const run = await decide(this.#runtime, id, decision);
    if (run !== undefined) await this.#runs.wake(run);
  }

  async send(run: string, signal: string, data?: unknown, options: SendOptions = {}): Promise<void> {
    this.#runtime.assertOpen();
    await this.#runtime.mailbox.send(run, signal, data, options);
    await this.#runs.wake(run);
  }

  async decision(id: string): Promise<Decided> {
    this.#runtime.assertOpen();
    return decisionOn(this.#runtime, id);
  }

  async erase(target: EraseTarget, options: EraseOptions): Promise<EraseReport> {
    this.#runtime.assertOpen();
    const { erase } = await import("./erase.ts");
    const { session } = givenTarget(target);
    const id = session === undefined ? undefined : (await this.#find(typeof session === "string" ? session : session.id)).id;
    return erase(this.#runtime, { ...target, session: id }, options);
  }

  async gc(options: GcOptions = {}): Promise<GcReport> {
    this.#runtime.assertOpen();
    await this.#runtime.effects.writer.flush();
    const { collectGarbage } = await import("./gc.ts");
    return collectGarbage(this.#runtime, options);
  }

  async import(...given: Parameters<Rath["import"]>): Promise<Session> {
    this.#runtime.assertOpen();
    return this.#importer(this.#runtime, ...given);
  }

  async ready(workflow?: Workflow): Promise<void> {
    this.#runtime.assertOpen();
    const store = await this.#runtime.store();
    for await (const _ of store.sessions({ id: "ready" })) break;
    await this.#runtime.memories.ready();
    if (workflow !== undefined) await checkReady(this.#runtime, workflow);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }
  async #close(): Promise<void> {
    await this.#runs.close();
    await this.#runtime.close();
  }
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
