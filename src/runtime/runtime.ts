/**
 * The host of sessions: implements their verbs against a store. It owns the executions of this process and what is known of
 * logs in memory; it keeps no transcript, no state and no log of its own.
 */
import { withTrees } from "../session/acted.ts";
import { dataText } from "../session/codec.ts";
import { RathError } from "../session/errors.ts";
import type { DataOf } from "../session/event.ts";
import type { State } from "../session/fold.ts";
import { givenName } from "../session/given.ts";
import type { Context, Effect, Entering, ForgetRequest, Host, Judgement, Place, Price, PureKind, RecallRequest } from "../session/host.ts";
import { type Scope, sameScope } from "../session/id.ts";
import { encode, type Redact, SharedText } from "../session/json.ts";
import { Log, type Node, principalOf } from "../session/log.ts";
import type { Model, ModelLike } from "../session/model.ts";
import type { Platform } from "../session/platform.ts";
import type { Applied, ApplyOptions, Conflict, Files, MergeOptions, Remembered, Repeat, Session, Tool } from "../session/session.ts";
import { placeOf, SessionValue } from "../session/value.ts";
import type { Store, StoredEvent } from "../store/store.ts";
import type { Guard } from "../tool/policy.ts";
import { toolEffect } from "../tool/tool-call.ts";
import { childrenOf, fallbackName } from "../workflow/children.ts";
import { isWorkflow } from "../workflow/workflow.ts";
import { emptyTree } from "../workspace/tree.ts";
import type { Stage } from "./acting.ts";
import { Answers } from "./answers.ts";
import { closedRath, never } from "./closed.ts";
import { detachAt } from "./detach.ts";
import { enter } from "./enter.ts";
import { Execution } from "./execution.ts";
import { applyFiles, filesAt } from "./file-verbs.ts";
import { givenPrincipal } from "./given-about.ts";
import { sayImplicit } from "./implicit-fork.ts";
import type { Key } from "./key.ts";
import { KnownLogs } from "./known-logs.ts";
import { link } from "./link.ts";
import { LiveParts } from "./live-parts.ts";
import { inTurn, loadLogs, rowOf } from "./load.ts";
import { Mailbox } from "./mailbox.ts";
import { Memories } from "./memories.ts";
import { conflictsOf, mergeBranches } from "./merge-verbs.ts";
import { moveAside } from "./move-aside.ts";
import { perform, performAll } from "./perform.ts";
import { recallEffect } from "./recall.ts";
import { forgetEffect, rememberEffect } from "./remember.ts";
import type { RuntimeOptions } from "./runtime-options.ts";
import { Sandboxes } from "./sandboxes.ts";
import { inside, type Living, type Owner, type Services, type Times } from "./services.ts";
import type { Telemetry } from "./telemetry.ts";

const unjudged: Judgement = Object.freeze({ asks: () => undefined });

interface Standing extends Place {
  readonly execution: Execution;
}

export class Runtime implements Host, Services {
  readonly platform: Platform;
  readonly redact: Redact;
  readonly deps: object;
  readonly relaxed: boolean;
  readonly times: Times;
  readonly telemetry: Telemetry | undefined;
  readonly answers: Answers;
  readonly mailbox: Mailbox = new Mailbox(this);
  readonly live = new LiveParts();
  readonly sandboxes: Sandboxes;
  readonly memories: Memories;
  /** Effects outside any workflow belong to one run per runtime. */
  readonly effects: Execution;
  closed = false;
  knownKey: Key | undefined;
  readonly #options: RuntimeOptions;
  readonly #logs = new KnownLogs((log) => moveAside(this.effects, log));
  #executions: Living[] = [];
  #store: Promise<Store> | undefined;
  #key: Promise<Key> | undefined;

  constructor(options: RuntimeOptions) {
    this.#options = options;
    this.platform = options.platform;
    this.redact = options.redact;
    this.deps = options.deps;
    this.relaxed = options.relaxed;
    this.times = options.times;
    this.telemetry = options.telemetry;
    this.answers = new Answers(this);
    this.sandboxes = new Sandboxes(this, options.places);
    this.memories = new Memories(this, options);
    this.effects = new Execution(this, options.platform.newId(), "effects");
    this.watch(this.effects);
  }

  // ── what sessions ask of their host ──

  /** Made by whom it belongs to, unless somebody else is said to make it. */
  session(content: DataOf<"session.created">, maker?: string): Session {
    if (inside.getStore() !== undefined)
      throw new RathError(
        "session.in-run",
        "A new session cannot be made inside a workflow or effect, because a resumed run would make another one: use session.detach() or session.fork().",
      );
    const log = new Log(this.platform.newId());
    this.assertOpen();
    const principal = givenPrincipal(content, (text) => this.clean(text)); // checked whoever makes it: a store may not take it
    const by = maker ?? principal ?? "user";
    const node = link(this, { log, parents: [], kind: "session.created", data: content, by });
    log.about = node.data<"session.created">(this.platform);
    return new SessionValue(node, this.#bare(by));
  }

  add<K extends PureKind>(session: Session, kind: K, data: DataOf<K>): Session {
    const { node, context, execution } = this.#stand(session);
    const added = execution.add(node, context.scope, kind, data, context.by);
    if (kind === "placement.changed") this.sandboxes.saidHere(added);
    return new SessionValue(added, context);
  }

  fork(session: Session, label: string | undefined): Session {
    const { node, context, execution, scope } = this.#forking(session);
    return new SessionValue(execution.fork(node, scope, label, context.by), { ...context, scope });
  }

  detach(session: Session): Session {
    const { node, context, execution, scope } = this.#forking(session);
    return new SessionValue(detachAt(execution, node, scope, context.by), { ...context, scope });
  }

  async merge(session: Session, others: readonly Session[], options: MergeOptions): Promise<Session> {
    const standing = this.#standing(session);
    if (standing === undefined) return never();
    const places = others.map((other) => this.here(other).node);
    return mergeBranches(this.sandboxes, { ...standing, session }, { places, sessions: others }, options);
  }
  async conflicts(session: Session, others: readonly Session[]): Promise<readonly Conflict[]> {
    const places = others.map((other) => this.here(other).node);
    return conflictsOf(this.sandboxes, this.here(session).node, places);
  }
  files(session: Session): Files {
    return filesAt(this.sandboxes, placeOf(session).node);
  }
  async apply(session: Session, directory: string, options: ApplyOptions): Promise<Applied> {
    return applyFiles(this.sandboxes, this.here(session).node, directory, options);
  }

  repeatOf(session: Session, tool: Tool): Repeat {
    if (tool["~tool"].repeatByPlacement !== true) return tool.repeat;
    const { placement } = session;
    if (placement === undefined) return "safe"; // it can do nothing
    return this.#options.places.restorable(placement.sandbox, placement.network) ? "safe" : tool.repeat;
  }

  recall(session: Session, request: RecallRequest): Promise<Session> {
    return this.perform(session, recallEffect(this.memories, this.here(session), request));
  }
  remember(session: Session, item: Remembered, owned?: Parameters<Host["remember"]>[2]): Promise<Session> {
    return this.perform(session, rememberEffect(this.memories, this.here(session), item, owned));
  }
  forget(session: Session, request: ForgetRequest): Promise<Session> {
    return this.perform(session, forgetEffect(this.memories, this.here(session), request));
  }

  async publishMemory(execution: Execution, place: Node): Promise<DataOf<"memory.published"> | undefined> {
    const { publishAt } = await import("./publish.ts");
    const rerun = execution.mode !== "run" && execution.reuse !== undefined;
    return publishAt(this.memories, place, { run: execution.id, rerun }, (problem) => this.warn(problem));
  }

  stage(owner: Owner, called: Node, signal: AbortSignal, progress: (text: string) => void): Stage {
    return this.sandboxes.stage(owner, called, { signal, guard: this.#guard(called), progress });
  }
  #guard(called: Node): Guard | undefined {
    const { rules } = this.#options;
    if (rules.none || called.kind !== "tool.called") return undefined;
    const { name, input } = called.data<"tool.called">(this.platform);
    return rules.guard({ tool: name, input, by: called.by, principal: principalOf(called) });
  }
  treeAt(state: State, work: Node): string {
    const { sandboxes } = this;
    return sandboxes.knownTreeAt(state) ?? (state.base === undefined ? undefined : sandboxes.firstTree(work, state.base)) ?? emptyTree;
  }
  goWith(node: Node, objects: ReadonlyMap<string, Uint8Array>): void {
    this.sandboxes.objects.goWith(node, objects);
  }
  closeSandboxes(owner: Owner, reason: string): Promise<void> {
    return this.sandboxes.close(owner, reason);
  }

  perform(session: Session, effect: Effect): Promise<Session> {
    let standing: Standing | undefined;
    try {
      standing = this.#standing(session);
      if (standing === undefined) return never();
      return perform(standing.execution, standing.node, standing.context, effect);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  async performAll(session: Session, effects: readonly Effect[]): Promise<Session> {
    const standing = this.#standing(session);
    return standing === undefined ? never() : performAll(standing.execution, standing.node, standing.context, effects);
  }

  async call(session: Session, tool: Tool, input: unknown): Promise<Session> {
    if (tool?.["~tool"] === undefined)
      throw new RathError("tool.invalid", "session.call needs a tool made by tool(), asTool() or an MCP server.", { session });
    return this.perform(session, this.#toolEffect(session, tool, input));
  }
  #toolEffect(session: Session, tool: Tool, input: unknown): Effect {
    const { by } = placeOf(session).context;
    const { refused, asks, expires } = this.judge(session, { tool: tool.name, input });
    const repeat = this.repeatOf(session, tool);
    const request = { name: tool.name, tool, repeat, read: { input: input ?? {}, repaired: false }, by, refused, asks, expires };
    return { ...toolEffect(request), failureIsValue: false };
  }

  judge(session: Session, call: { readonly tool: string; readonly input: unknown }): Judgement {
    const { rules } = this.#options;
    if (rules.none) return unjudged;
    const { node, context } = placeOf(session);
    const execution = context.execution as Execution;
    const judged = { ...call, by: context.by, principal: principalOf(node) };
    const refusal = rules.refuses(judged, (rule) => execution.count(rule));
    const refused =
      refusal === undefined ? undefined : { reason: refusal.reason, problem: refusal.limit ? ("limit" as const) : ("policy" as const) };
    return { refused, asks: (input) => (rules.asks({ ...judged, input }) ? "policy" : undefined), expires: rules.expires(judged) };
  }

  recount(call: Node, count: (rule: object) => number): void {
    const { rules } = this.#options;
    if (rules.none || call.kind !== "tool.called") return;
    const { name, input } = call.data<"tool.called">(this.platform);
    rules.refuses({ tool: name, input, by: call.by, principal: principalOf(call) }, count);
  }

  model(like: ModelLike): Promise<Model> {
    return this.#options.models(like);
  }
  price(model: string, input?: number): Price | undefined {
    return this.#options.prices(model, input);
  }
  contextWindow(like: ModelLike): number | undefined {
    return this.#options.windows?.(like);
  }

  enter(session: Session, workflow: object, forward: (session: Session) => Promise<Session>, how: Entering = {}): Promise<Session> {
    try {
      const standing = this.#standing(session);
      return standing === undefined ? never() : enter(this, standing, workflow, forward, how);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  beside(session: Session, stopped: Promise<unknown>): void {
    (placeOf(session).context.execution as Execution).beside.add(placeOf(session).context.scope, stopped);
  }

  /** The same runtime with other parts. */
  with(parts: Partial<RuntimeOptions>): Runtime {
    return new Runtime({ ...this.#options, ...parts });
  }

  get workflows(): Readonly<Record<string, object>> {
    return this.#options.workflows;
  }

  nameOf(workflow: object, around?: object): string {
    const registered = Object.entries(this.#options.workflows).find(([, known]) => known === workflow)?.[0];
    const name = registered ?? this.#foundIn(around, workflow) ?? fallbackName(workflow);
    return givenName(this.clean(name), "the workflow's name");
  }
  /** What it is called in the workflow around it: by its own name, made unique, or by where it is found. */
  #foundIn(around: object | undefined, workflow: object): string | undefined {
    if (around === undefined) return undefined;
    return childrenOf(around, isWorkflow).find(([, child]) => child === workflow)?.[0];
  }

  clean(text: string): string {
    return this.redact(text)?.text ?? text;
  }
  unfinished(text: string): number {
    return this.redact.unfinished?.(text) ?? text.length;
  }

  // ── where a value stands ──

  /** The place of a value of this Rath; others are refused. */
  here(session: Session): Place {
    const place = placeOf(session);
    if (place.context.host !== this)
      throw new RathError(
        "session.not-here",
        `Session ${session.id} belongs to another Rath: open it here with rath.open("${session.id}").`,
      );
    return place;
  }

  #bare(by: string): Context {
    return { host: this, execution: this.effects, scope: this.effects.scope, by };
  }

  /** The value as anybody outside a run may use it. */
  outside(node: Node, by: string = principalOf(node) ?? "user"): Session {
    return new SessionValue(node, this.#bare(by));
  }

  /** Undefined for a frame of a run that ended: it goes no further. */
  #standing(session: Session): Standing | undefined {
    this.assertOpen();
    const { node, context } = this.here(session);
    const execution = context.execution as Execution;
    const running = inside.getStore();
    if (execution.ending && running?.execution === execution) return undefined;
    if (execution.closed) {
      const bare = this.#bare(context.by);
      return { node, context: bare, execution: this.effects };
    }
    if (running === undefined && execution.mode !== "effects") {
      throw new RathError(
        "session.outer-scope",
        `Session ${session.id} belongs to a workflow that is still running: use what it returns, or fork the session.`,
        { session },
      );
    }
    if (running !== undefined && (running.execution !== execution || !sameScope(running.scope, context.scope))) {
      throw new RathError(
        "session.outer-scope",
        `Session ${session.id} comes from outside this effect or workflow, where it may only be forked: use the session you were given (context.session), or fork it.`,
        { session },
      );
    }
    return { node, context, execution };
  }

  #stand(session: Session): Standing {
    const standing = this.#standing(session);
    if (standing !== undefined) return standing;
    const { node, context } = placeOf(session);
    return { node, context: this.#bare(context.by), execution: this.effects };
  }

  /** A value of an outer scope may be forked; the fork then belongs to the scope that is running. */
  #forking(session: Session): Standing & { readonly scope: Scope } {
    const { node, context } = placeOf(session);
    const running = inside.getStore();
    if (running !== undefined && running.execution === context.execution)
      return { node, context, execution: context.execution as Execution, scope: running.scope };
    if (running === undefined && (context.execution as Execution).mode !== "effects") {
      const bare = this.#bare(context.by);
      return { node, context: bare, execution: this.effects, scope: bare.scope };
    }
    const standing = this.#stand(session);
    return { ...standing, scope: standing.context.scope };
  }

  // ── logs and the store ──

  async store(): Promise<Store> {
    this.#store ??= this.#options.openStore().catch((error: unknown) => {
      this.#store = undefined; // whoever asks next tries again
      throw error;
    });
    return this.#store;
  }

  /** Reads from the store; once this is closed, from the store opened again for as long as it takes. */
  async reading<T>(read: (store: Store) => Promise<T>): Promise<T> {
    if (!this.closed) return read(await this.store());
    const store = await this.#options.openStore();
    try {
      return await read(store);
    } finally {
      await store[Symbol.asyncDispose]();
    }
  }

  key(): Promise<Key> {
    this.#key ??= this.#options.openKey().catch((error: unknown) => {
      this.#key = undefined; // whoever needs it next tries again
      throw error;
    });
    return this.#key.then((key) => {
      this.knownKey = key;
      return key;
    });
  }

  async storedHead(session: string): Promise<string | undefined> {
    return (await rowOf(await this.store(), session))?.head;
  }

  toStored(node: Node): StoredEvent {
    const { sealed } = node;
    if (sealed === undefined) throw new Error(`event ${node.id} has no bytes to store`);
    return {
      id: node.id,
      session: node.log.id,
      step: node.step,
      run: node.run,
      order: node.order,
      envelope: this.platform.bytes(sealed.envelope),
      data: sealed.data,
    };
  }

  textOf(node: Node): string {
    const bytes = node.bytes ?? node.sealed?.data;
    if (bytes !== undefined) return dataText(this.platform, bytes);
    const data = withTrees(node.kind, node.data(this.platform)) as object;
    const configuration = node.kind === "model.called" ? (data as DataOf<"model.called">).configuration : undefined;
    const kept = configuration === undefined ? data : { ...data, configuration: SharedText.of(configuration, this.platform) };
    return encode(kept, this.platform, () => undefined).text;
  }

  know(log: Log): void {
    this.#logs.add(log);
  }

  /** Values that were loaded before must not say what was erased. */
  forgetErased(events: ReadonlySet<string>): void {
    this.#logs.erase(events);
    this.sandboxes.forgetErased();
  }

  /** Refuses everything once it is closed. */
  assertOpen(): void {
    if (this.closed) throw closedRath();
  }

  /** The tips of stored logs, with everything behind them. */
  readonly load = inTurn(async (ids: readonly string[]): Promise<ReadonlyMap<string, Log>> => {
    const logs = await loadLogs(this.platform, await this.store(), ids, this.#logs);
    for (const log of logs.values()) this.know(log);
    return logs;
  });
  async save(session: Session): Promise<void> {
    const standing = this.#standing(session);
    if (standing === undefined) return never();
    standing.execution.record(standing.node);
    await standing.execution.writer.flush();
  }

  /** The calls of this process that have no result yet. */
  opened(): readonly Node[] {
    return this.#executions.flatMap(({ closed, open }) => (closed ? [] : [...open].map(({ mark }) => mark)));
  }
  /** Whether a person is asked under this id; undefined where this process has no such call. */
  asks(id: string): boolean | undefined {
    return this.#executions.flatMap(({ closed, open }) => (closed ? [] : [...open])).find(({ mark }) => mark.id === id)?.asking;
  }
  /** Those that wait for a person or a timer. */
  waiting(): { readonly mark: Node; readonly effect: Effect }[] {
    return this.#executions.flatMap(({ closed, open }) => (closed ? [] : [...open].filter(({ waiting }) => waiting)));
  }

  watch(execution: Living): void {
    this.#executions = [...this.#executions.filter((known) => !known.closed), execution];
    this.live.add(execution);
  }

  async close(): Promise<void> {
    for (const execution of this.#executions) execution.leave();
    await this.sandboxes.closeAll();
    await this.effects.writer.flush();
    if (this.effects.newest !== undefined && this.effects.writer.unsigned.length > 0) {
      this.effects.signer.state(await this.key(), this.effects.newest, "open");
      await this.effects.writer.flush();
    }
    this.closed = true;
    // Who waits for an answer outside a run is told before anybody is forgotten.
    this.answers.close();
    this.mailbox.close();
    for (const execution of this.#executions) execution.close(closedRath());
    this.effects.close();
    await this.#options.places.close();
    await this.memories.close();
    await (await this.#store)?.[Symbol.asyncDispose]();
  }

  // ── warnings ──

  warn(message: string, code?: string): void {
    process.emitWarning(message, { type: "OpenRathWarning", ...(code !== undefined && { code }) });
  }

  warnMoved(log: Log): void {
    if (this.#options.implicitForks === "allow") return;
    const message = `Session ${log.id} was continued elsewhere meanwhile; what was made here goes on as an implicit fork.`;
    this.warn(message, "OPENRATH_CONTINUED_ELSEWHERE");
  }

  warnImplicit(head: Node, diverging: boolean, returnedBy?: string): void {
    if (this.#options.implicitForks === "allow") return;
    const { message, code } = sayImplicit(head, this.platform, returnedBy);
    if (this.#options.implicitForks === "error") throw new RathError("session.implicit-fork", message);
    if (!diverging) this.warn(message, code);
  }
}
