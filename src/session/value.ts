/** The class behind `Session`. Own properties are its identity; everything else is a fold over the log or a verb of the host. */

import { processesOf } from "./acted.ts";
import { describeSession } from "./describe.ts";
import { RathError } from "./errors.ts";
import type { Event } from "./event.ts";
import { inCallOrder, list, type State, stateOf } from "./fold.ts";
import {
  givenApply,
  givenContent,
  givenDuration,
  givenFunction,
  givenMerge,
  givenOptions,
  givenPlacement,
  givenRepeat,
  givenSignal,
  givenText,
  givenTime,
  givenVerdict,
} from "./given.ts";
import { givenForget, givenRecall, givenRemembered } from "./given-memory.ts";
import type { Context, Effect, Place } from "./host.ts";
import { derivedUuid } from "./id.ts";
import { current, history, type Node } from "./log.ts";
import type { ModelRequest } from "./message.ts";
import { accepting, answerSchemaOf, receiving } from "./question.ts";
import { compressionsOf, readsOf, writesOf } from "./remembered.ts";
import { modelCallBefore, requestOf } from "./request.ts";
import type * as S from "./session.ts";
import {
  checkOf,
  lineageOf,
  messageOf,
  pendingOf,
  placementOf,
  routeOf,
  saidText,
  statusOf,
  stoppedText,
  toolCallOf,
  toParts,
} from "./views.ts";

/** Where a value stands. Only for the runtime and the audit. */
export let placeOf: (session: S.Session) => Place;

export class SessionValue<out Output = unknown> implements S.Session<Output> {
  readonly id: string;
  readonly head: string;
  readonly step: number;
  readonly #node: Node;
  readonly #context: Context;

  constructor(node: Node, context: Context) {
    this.id = node.log.id;
    this.head = node.id;
    this.step = node.step;
    this.#node = node;
    this.#context = context;
    Object.freeze(this);
  }

  static {
    placeOf = (session) => {
      if (typeof session !== "object" || session === null || !(#node in session))
        throw new RathError(
          "workflow.invalid",
          `Expected a Session, got ${describe(session)}: ${session instanceof Promise ? "is an await missing?" : "give what rath.session(), rath.open() or a verb returned."}`,
        );
      const { node, context } = { node: session.#node, context: session.#context };
      return { node: current(node), context };
    };
  }

  get #state(): State {
    return stateOf(this.#node);
  }
  get #platform() {
    return this.#context.host.platform;
  }

  get output(): Output {
    const node = this.#state.output;
    if (node === undefined) throw this.#noOutput("has no output yet: no effect has returned on it");
    if (node.erased)
      throw new RathError("event.erased", `The output of session ${this.id} was erased (event ${node.id}).`, { session: this });
    if (node.kind === "agent.stopped") return this.#stoppedOutput(node);
    if (node.facts.outcome !== "ok")
      throw this.#noOutput(`has no output: its newest effect ended as "${node.facts.outcome}" (event ${node.id})`);
    if (node.kind === "model.returned") return saidText(node, this.#platform) as Output;
    return node.data<"do.returned">(this.#platform).value as Output;
  }
  #stoppedOutput(node: Node): Output {
    const { stop, reason, ...rest } = node.data<"agent.stopped">(this.#platform);
    if (stop !== "finished")
      throw this.#noOutput(
        `has no output: ${node.by === "" ? "its workflow" : JSON.stringify(node.by)} stopped as "${stop}"${reason === undefined ? "" : ` (${reason})`}`,
      );
    return ("value" in rest ? rest.value : saidText(this.#state.said, this.#platform)) as Output;
  }
  #noOutput(problem: string): RathError {
    return new RathError("session.no-output", `Session ${this.id} ${problem}.`, { session: this });
  }
  get text(): string {
    const node = this.#state.output;
    if (node === undefined || node.erased) return "";
    if (node.kind === "agent.stopped") return stoppedText(node, this.#state.said, this.#platform);
    if (node.kind === "model.returned") return saidText(this.#state.said, this.#platform);
    const value = node.facts.outcome === "ok" ? node.data<"do.returned">(this.#platform)?.value : undefined;
    return typeof value === "string" ? value : "";
  }
  get messages(): readonly S.Message[] {
    return Object.freeze(inCallOrder(list(this.#state.talk)).map((node) => messageOf(node, this.#platform)));
  }
  get stop(): S.StopReason | undefined {
    return this.#state.stopped?.data<"agent.stopped">(this.#platform)?.stop;
  }
  get status(): S.SessionStatus {
    return statusOf(this.#state, this.#platform);
  }
  get usage(): S.Usage {
    const { usage, own } = this.#state;
    return Object.freeze({ ...usage, own: Object.freeze({ ...own }) });
  }
  get placement(): S.Placement | undefined {
    return placementOf(this.#state, this.#platform);
  }
  get lineage(): S.Lineage {
    return lineageOf(this.#node, this.#platform);
  }
  get pending(): readonly S.Pending[] {
    const { open, inherited } = this.#state;
    const calls = [...open, ...inherited].map((call) => pendingOf(call, this.#platform));
    return [...calls, ...processesOf(this.#state, this.#platform)];
  }
  get calls(): readonly S.ToolCall[] {
    return inCallOrder(list(this.#state.calls)).map((node) => toolCallOf(node, this.#platform));
  }
  get checks(): readonly S.Check[] {
    return list(this.#state.checks).map((node) => checkOf(node, this.#platform));
  }
  get routes(): readonly S.Route[] {
    return list(this.#state.routes).map((node) => routeOf(node, this.#platform));
  }
  get memory(): S.Session["memory"] {
    const state = this.#state;
    return { reads: readsOf(state, this.#platform), writes: writesOf(state, this.#platform) };
  }
  get compressions(): readonly S.Compression[] {
    return compressionsOf(this.#state, this.#platform);
  }
  get files(): S.Files {
    return this.#host.files(this);
  }

  *events(range: { readonly from?: number | undefined; readonly to?: number | undefined } = {}): Iterable<Event> {
    for (const node of history(this.#node)) {
      if (node.step >= (range.from ?? 0) && node.step <= (range.to ?? Number.POSITIVE_INFINITY)) yield node.event(this.#platform);
    }
  }
  at(place: number | string): S.Session {
    const found =
      typeof place === "number" ? this.#atStep(place) : history(this.#node).filter((past) => place !== "" && past.id.startsWith(place));
    const [node, ...others] = found;
    if (node === undefined)
      throw new RathError(
        "session.not-found",
        `Session ${this.id} has no ${typeof place === "number" ? "step" : "event"} ${place}; it is at step ${this.step}.`,
        { session: this },
      );
    if (others.length > 0)
      throw new RathError("session.ambiguous-id", `${place} is the beginning of ${found.length} event ids: write more of it.`, {
        session: this,
      });
    return node === this.#node ? this : new SessionValue(node, this.#context);
  }
  #atStep(step: number): readonly Node[] {
    const node = Number.isInteger(step) && step >= 1 && step <= this.step ? this.#node.atStep(step) : undefined;
    return node === undefined ? [] : [node];
  }

  say(content: S.Content): S.Session {
    return this.#host.add(this, "message.added", { role: "user", parts: toParts(givenContent(content)) as never });
  }
  note(text: string): S.Session<Output> {
    return this.#same(this.#host.add(this, "note.added", { text: givenText(text, "text") }));
  }
  to(sandbox: S.SandboxName, spec: S.PlacementSpec = {}): S.Session<Output> {
    const data = { sandbox: givenText(sandbox, "sandbox"), spec: { ...givenPlacement(spec) } };
    return this.#same(this.#host.add(this, "placement.changed", data));
  }
  fork(label?: string): S.Session<Output> {
    return this.#same(this.#host.fork(this, label === undefined ? undefined : givenText(label, "label")));
  }
  detach(): S.Session<Output> {
    return this.#same(this.#host.detach(this));
  }
  reject(reason: string): S.Session<Output> {
    return this.#same(this.#host.add(this, "session.rejected", { reason: givenText(reason, "reason") }));
  }
  link(record: {
    readonly system: string;
    readonly id: string;
    readonly uri?: string | undefined;
    readonly digest?: string | undefined;
  }): S.Session<Output> {
    const { system, id, uri, digest } = record;
    return this.#same(
      this.#host.add(this, "record.linked", {
        system: givenText(system, "system"),
        id: givenText(id, "id"),
        ...(uri === undefined ? {} : { uri: givenText(uri, "uri") }),
        ...(digest === undefined ? {} : { digest: givenText(digest, "digest") }),
      }),
    );
  }

  do<T>(
    name: string,
    run: (context: S.EffectContext) => T | Promise<T>,
    options: { readonly repeat?: S.Repeat | undefined; readonly input?: unknown } = {},
  ): Promise<S.Session<S.Stored<T>>> {
    return this.#perform(() => {
      const { repeat = "once", input } = givenOptions(options, ["repeat", "input"], "do");
      const called = input === undefined ? { name, repeat } : { name, repeat, input };
      return { op: "do", called: named(called, run), repeat: givenRepeat(repeat), run };
    });
  }
  check(name: string, run: (context: S.EffectContext) => S.CheckResult | Promise<S.CheckResult>): Promise<S.Session<Output>> {
    const store = (value: unknown): Readonly<Record<string, unknown>> => givenVerdict(value as S.CheckResult);
    return this.#perform(() => ({ op: "check", called: named({ name }, run), repeat: "safe", run, store, failureIsValue: true }));
  }
  ask<A extends S.Schema>(
    question: string,
    answer?: A,
    options: { readonly to?: string | undefined; readonly expires?: S.Duration | undefined } = {},
  ): Promise<S.Session<never>> {
    return this.#perform(() => {
      givenOptions(options, ["to", "expires"], "ask");
      const expires = options.expires === undefined ? {} : { expires: givenDuration(options.expires) };
      const to = options.to === undefined ? {} : { to: givenText(options.to, "to") };
      const called = { question: givenText(question, "question"), answer: answerSchemaOf(answer), ...to, ...expires };
      return { op: "ask", called, repeat: "safe", accept: accepting(answer) };
    });
  }
  receive<A extends S.Schema>(
    signal: string,
    schema?: A,
    options: { readonly expires?: S.Duration | undefined } = {},
  ): Promise<S.Session<never>> {
    return this.#perform(() => {
      givenOptions(options, ["expires"], "receive");
      const expires = options.expires === undefined ? {} : { expires: givenDuration(options.expires) };
      const answer = schema === undefined ? {} : { answer: answerSchemaOf(schema) };
      return { op: "receive", called: { signal: givenSignal(signal), ...answer, ...expires }, repeat: "safe", accept: receiving(schema) };
    });
  }
  wait(time: S.Duration | Date): Promise<S.Session<Output>> {
    return this.#perform(() => ({ op: "wait", called: givenTime(time), repeat: "safe", store: () => ({}) }));
  }
  merge(others: S.Session | readonly S.Session[], options: S.MergeOptions = {}): Promise<S.Session<Output>> {
    const branches = Array.isArray(others) ? others : [others as S.Session];
    return this.#async(() => this.#host.merge(this, branches, givenMerge(options)));
  }
  conflicts(others: S.Session | readonly S.Session[]): Promise<readonly S.Conflict[]> {
    return this.#host.conflicts(this, Array.isArray(others) ? others : [others as S.Session]);
  }

  call<Input, T>(tool: S.Tool<Input, T>, input: Input): Promise<S.Session<T>> {
    return this.#host.call(this, tool as S.Tool, input) as Promise<S.Session<T>>;
  }
  recall(query: string | { readonly key?: string | undefined }, options: S.RecallOptions = {}): Promise<S.Session<readonly S.MemoryHit[]>> {
    return this.#async(() => this.#host.recall(this, givenRecall(query, options)));
  }
  remember(item: S.Remembered): Promise<S.Session<Output>> {
    return this.#async(() => this.#host.remember(this, givenRemembered(item)));
  }
  forget(key: string, reason: string, options: { readonly scope?: S.MemoryScope | undefined } = {}): Promise<S.Session<Output>> {
    return this.#async(() => this.#host.forget(this, givenForget(key, reason, options)));
  }
  async request(): Promise<ModelRequest> {
    const called = modelCallBefore(this.#node);
    if (called === undefined)
      throw new RathError("session.not-found", `No model was asked on session ${this.id} up to step ${this.step}.`, { session: this });
    return requestOf(called, this.#platform);
  }
  async apply(directory: string, options: S.ApplyOptions = {}): Promise<S.Applied> {
    return this.#host.apply(this, givenText(directory, "directory"), givenApply(options));
  }

  now(): Date {
    return new Date(this.#node.at);
  }
  random(label = ""): number {
    return Number.parseInt(this.#platform.sha256(JSON.stringify(["random", this.#seed, label])).slice(0, 13), 16) / 2 ** 52;
  }
  uuid(label = ""): string {
    return derivedUuid(this.#platform, ["uuid", this.#seed, label]);
  }
  toString(): string {
    return describeSession(this, this.#node, this.#platform);
  }
  toJSON(): { readonly id: string; readonly head: string; readonly step: number } {
    return { id: this.id, head: this.head, step: this.step };
  }
  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return this.toString();
  }

  get #host() {
    return this.#context.host;
  }
  /** At a result that a rerun reused, chance answers as at its source. */
  get #seed(): string {
    return this.#node.facts.source ?? this.head;
  }
  #perform(effect: () => Effect): Promise<never> {
    return this.#async(() => this.#host.perform(this, effect()));
  }
  /** What is wrong with what was given rejects, as a failed effect does. */
  #async(ask: () => Promise<S.Session>): Promise<never> {
    try {
      return ask() as Promise<never>;
    } catch (error) {
      return Promise.reject(error);
    }
  }
  #same(next: S.Session): S.Session<Output> {
    return next as S.Session<Output>;
  }
}

function named<T extends { readonly name: string }>(called: T, run: unknown): T {
  givenText(called.name, "name");
  givenFunction(run, `the code of "${called.name}"`);
  return called;
}

function describe(value: unknown): string {
  if (value === null || typeof value !== "object") return String(value);
  const name = value.constructor?.name ?? "plain object";
  return `${/^[aeio]/i.test(name) ? "an" : "a"} ${name}`;
}
