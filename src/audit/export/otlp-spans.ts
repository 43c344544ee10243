/**
 * A lineage as spans: one for each branch, and in it runs, agents and effects. Every root session is a trace. Inner work is a child
 * of the effect it belongs to; forks, merges and reused results are links. Ids are made of the ids of sessions, runs and events, so
 * that the same record always gives the same spans.
 */
import { rowOf } from "../../runtime/load.ts";
import { runtimeOf } from "../../runtime/replay.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { type DataOf, isCalled, isReturned, isStarted, opOf } from "../../session/event.ts";
import { callOf } from "../../session/fold.ts";
import type { Log, Node } from "../../session/log.ts";
import type { Platform } from "../../session/platform.ts";
import type { Session } from "../../session/session.ts";
import { outcomeOf } from "../../session/views.ts";
import { outcomeText } from "../../wire/event-line.ts";
import { errorType, genAi, modelNames } from "../../wire/gen-ai.ts";
import { askedAbout } from "../approvals.ts";
import { type Branch, branchesOf, compare } from "../branches.ts";
import { rejectionOf } from "../graph-data.ts";
import { clipped, errorTypeOf, invocation, placeOf, runId, toldOf, verdictOf } from "./otlp-effects.ts";
import { type Attributes, type Span, spanKinds } from "./otlp-json.ts";

/** The spans of a lineage, parents before children. */
export async function spansOf(session: Session, content: boolean): Promise<readonly Span[]> {
  const runtime = runtimeOf(session);
  const branches = await branchesOf(session);
  const nodes: Node[] = [];
  for (const branch of branches) for (const node of branch.nodes) nodes.push(node);
  // Parents have smaller steps: when an event is looked at, what it stands on has been.
  nodes.sort((a, b) => a.step - b.step || compare(a.log.id, b.log.id));
  const building = new Building(
    runtime.platform,
    branches,
    { runs: await runsOf(runtime, nodes), asked: await askedAbout(runtime, nodes) },
    content,
  );
  for (const node of nodes) building.take(node);
  return building.finish();
}

/** What the own log of a run says of it. */
interface RunFacts {
  readonly started: Node;
  readonly ended: Node | undefined;
}

async function runsOf(runtime: Runtime, nodes: readonly Node[]): Promise<ReadonlyMap<string, RunFacts>> {
  const store = await runtime.store();
  const runs = new Map<string, RunFacts>();
  for (const id of new Set(nodes.map(({ run }) => run))) {
    if (id === undefined || (await rowOf(store, id)) === undefined) continue;
    const log = (await runtime.load([id])).get(id);
    if (log?.first?.kind !== "run.started") continue;
    let ended = log.tip;
    while (ended !== undefined && ended.kind !== "run.ended") ended = ended.prior;
    runs.set(id, { started: log.first, ended });
  }
  return runs;
}

/** A workflow or agent that was entered and not left yet. */
interface Frame {
  readonly span: Span;
  readonly entered: Node;
  readonly outer: Frame | undefined;
}

class Building {
  readonly #platform: Platform;
  readonly #content: boolean;
  readonly #branches: ReadonlyMap<Log, Branch>;
  readonly #runs: ReadonlyMap<string, RunFacts>;
  readonly #agents = new Set<string>();
  readonly #spans: Span[] = [];
  /** What the events of a log hang on that are in no frame of it. */
  readonly #base = new Map<Log, Span>();
  readonly #frames = new Map<Node, Frame>();
  /** The span of a call, a result or whatever else has one. */
  readonly #of = new Map<Node, Span>();
  readonly #byId = new Map<string, Node>();
  readonly #links: { readonly span: Span; readonly to: Node; readonly how: string }[] = [];
  /** Calls that somebody was asked about, as long as that has no span. */
  readonly #asked: Set<Node>;
  readonly #runSpans = new Map<string, Span>();

  constructor(
    platform: Platform,
    branches: readonly Branch[],
    { runs, asked }: { readonly runs: ReadonlyMap<string, RunFacts>; readonly asked: ReadonlySet<Node> },
    content: boolean,
  ) {
    this.#asked = new Set(asked);
    this.#platform = platform;
    this.#content = content;
    this.#runs = runs;
    this.#branches = new Map(branches.map((branch) => [branch.log, branch]));
    for (const { nodes } of branches)
      for (const node of nodes) {
        this.#byId.set(node.id, node);
        if (node.kind === "model.called" || node.kind === "agent.stopped") this.#agents.add(node.by);
      }
  }

  take(node: Node): void {
    const inherited = node.parent === undefined ? undefined : this.#frames.get(node.parent);
    if (node.prior === undefined) {
      this.#begin(node, inherited);
      return;
    }
    if (inherited !== undefined) this.#frames.set(node, inherited);
    if (node.kind === "workflow.entered") this.#enter(node, inherited);
    else if (node.kind === "workflow.left") this.#leave(node, inherited);
    else if (isCalled(node.kind)) this.#call(node);
    else if (isStarted(node.kind)) this.#start(node);
    else if (isReturned(node.kind)) this.#return(node);
    else if (node.kind === "session.merged") this.#merge(node);
    else if (node.kind === "agent.stopped") this.#stop(node, inherited);
    else this.#reach(this.#around(node), node.at);
  }

  finish(): readonly Span[] {
    for (const { span, to, how } of this.#links) {
      const target = this.#of.get(to) ?? this.#around(to);
      if (target !== span) span.links.push({ to: target, attributes: { "openrath.link": how, "openrath.event.id": to.id } });
    }
    // Children come after their parents: from the last on, each parent is made to hold its children.
    for (let index = this.#spans.length - 1; index >= 0; index--) {
      const { parent, start, end } = this.#spans[index] as Span;
      if (parent === undefined) continue;
      if (start < parent.start) parent.start = start;
      if (end > parent.end) parent.end = end;
    }
    return this.#spans;
  }

  /** A log begins: a session of its own, a fork, or inner work, which hangs on its effect. */
  #begin(node: Node, inherited: Frame | undefined): void {
    const { log } = node;
    const scope = log.fork?.scope;
    const inside = scope !== undefined && "call" in scope ? this.#byId.get(scope.call) : undefined;
    const call = inside === undefined ? undefined : this.#of.get(inside);
    if (log.fork?.nested === true && call !== undefined) {
      this.#base.set(log, call);
      this.#reach(call, node.at);
      return;
    }
    const frame = this.#sharedFrame(node, inherited);
    if (frame !== undefined) this.#frames.set(node, frame);
    const parent = call ?? frame?.span ?? this.#root(log);
    const branch = this.#branches.get(log) as Branch;
    const { kind, label } = branch.session.lineage;
    const status = branch.session.status;
    const span = this.#add(node, `session ${log.id}`, {
      name: node.kind === "session.forked" ? `fork${label === undefined ? "" : ` ${clipped(label)}`}` : "session",
      kind: spanKinds.internal,
      parent,
      attributes: {
        [genAi.conversation]: log.id,
        "openrath.lineage": kind,
        "openrath.label": label === undefined ? undefined : clipped(label),
        "openrath.status": status,
        "openrath.rejected.reason": this.#content ? rejectionOf(branch.nodes, branch.session, this.#platform) : undefined,
      },
    });
    this.#base.set(log, span);
    if (node.parent !== undefined) this.#links.push({ span, to: node.parent, how: "fork" });
    if (log.origin !== undefined && this.#branches.has(log.origin.log)) this.#links.push({ span, to: log.origin, how: "detach" });
  }

  /** A fork that the run itself made is part of what it is in; one that was made of its past is not. */
  #sharedFrame(node: Node, inherited: Frame | undefined): Frame | undefined {
    const scope = node.log.fork?.scope;
    if (inherited === undefined || scope === undefined) return undefined;
    return "call" in scope || scope.run === inherited.entered.run ? inherited : undefined;
  }

  /** The span of the session that a trace is about. */
  #root(log: Log): Span | undefined {
    const root = rootOf(log);
    return root === log ? undefined : this.#base.get(root);
  }

  #enter(node: Node, outer: Frame | undefined): void {
    const data = node.erased ? undefined : node.data<"workflow.entered">(this.#platform);
    const run = data?.run === undefined ? undefined : this.#run(node, data.run);
    const isAgent = this.#agents.has(node.by);
    const parent = run ?? this.#around(node);
    // The outermost workflow is the run; an agent that runs by itself is an agent in a run.
    const span = run !== undefined && !isAgent ? run : this.#add(node, node.id, { ...invocation(node, isAgent, this.#platform), parent });
    this.#of.set(node, span);
    this.#frames.set(node, { span, entered: node, outer });
  }

  #run(node: Node, id: string): Span | undefined {
    const facts = this.#runs.get(id);
    if (facts === undefined || this.#runSpans.has(id)) return this.#runSpans.get(id);
    const started = facts.started.erased ? undefined : facts.started.data<"run.started">(this.#platform);
    const name = clipped(started?.workflow ?? "[erased]");
    const span = this.#add(node, `run ${id}`, {
      name: `invoke_workflow ${name}`,
      kind: spanKinds.internal,
      parent: this.#around(node),
      attributes: {
        [genAi.operation]: "invoke_workflow",
        [genAi.workflow]: name,
        [genAi.conversation]: node.log.id,
        [runId]: id,
        "openrath.rerun.of": started?.rerun,
      },
    });
    this.#runSpans.set(id, span);
    const { ended } = facts;
    if (ended === undefined) span.attributes["openrath.run.status"] = "open";
    else this.#endRun(span, ended);
    return span;
  }

  #endRun(span: Span, ended: Node): void {
    const data: DataOf<"run.ended"> | undefined = ended.erased ? undefined : ended.data<"run.ended">(this.#platform);
    this.#reach(span, ended.at);
    span.attributes["openrath.run.status"] = data?.status;
    if (data === undefined || data.status === "done") return;
    span.attributes[errorType] = data.code ?? data.status;
    span.error = { message: this.#content ? (data.message ?? data.reason) : undefined };
  }

  #leave(node: Node, inherited: Frame | undefined): void {
    const entered = node.erased ? inherited?.entered.id : node.data<"workflow.left">(this.#platform).entered;
    let frame = inherited;
    while (frame !== undefined && frame.entered.id !== entered) frame = frame.outer;
    if (frame === undefined) return;
    this.#reach(frame.span, node.at);
    if (frame.outer === undefined) this.#frames.delete(node);
    else this.#frames.set(node, frame.outer);
  }

  #stop(node: Node, frame: Frame | undefined): void {
    const span = frame?.span;
    if (span === undefined || node.erased) return;
    const { stop, reason } = node.data<"agent.stopped">(this.#platform);
    span.attributes["openrath.agent.stop"] = stop;
    this.#reach(span, node.at);
    if (stop !== "error") return;
    span.attributes[errorType] = "_OTHER";
    span.error = { message: this.#content ? reason : undefined };
  }

  #call(node: Node): void {
    const told = toldOf({ op: opOf(node.kind as `do.called`), called: node, returned: undefined }, this.#platform, false);
    const parent = this.#around(node);
    const span = this.#add(node, node.id, {
      ...told,
      name: clipped(told.name),
      parent,
      attributes: { ...told.attributes, ...placeOf(node) },
    });
    span.attributes["openrath.pending"] = true;
    this.#of.set(node, span);
    if (node.kind === "model.called" && !node.erased) this.#speaks(node, parent);
    // What waits goes on until now, as far as the record knows.
    this.#reach(span, (this.#branches.get(node.log) as Branch).tip.at);
  }

  /** An agent is told with the model it speaks through. */
  #speaks(node: Node, around: Span): void {
    if (around.attributes[genAi.operation] !== "invoke_agent") return;
    const { provider, model } = modelNames(node.data<"model.called">(this.#platform).model);
    around.attributes[genAi.provider] ??= provider;
    around.attributes[genAi.requestModel] ??= model;
  }

  /** Somebody was asked before it began. Others wait for their turn, or begin a second time: that is no approval. */
  #start(node: Node): void {
    const called = callOf(node);
    const around = this.#of.get(called);
    if (around === undefined || !this.#asked.delete(called)) return;
    const waited = this.#add(called, `approval ${node.id}`, {
      name: "wait_for_approval",
      kind: spanKinds.internal,
      parent: around,
      attributes: { "openrath.operation": "approval", ...placeOf(node) },
    });
    this.#reach(waited, node.at);
  }

  #return(node: Node): void {
    const called = callOf(node);
    const span = this.#of.get(called);
    if (span === undefined) return;
    const told = toldOf({ op: opOf(node.kind as `do.returned`), called, returned: node }, this.#platform, this.#content);
    Object.assign(span.attributes, told.attributes);
    delete span.attributes["openrath.pending"];
    // It reached to the end of its branch as long as it had no result.
    span.end = span.start;
    this.#reach(span, node.at);
    this.#of.set(node, span);
    const problem = errorTypeOf(node, this.#platform);
    if (problem !== undefined) {
      span.attributes[errorType] = problem;
      span.error = { message: this.#content && !node.erased ? outcomeText(outcomeOf(node, this.#platform)) : undefined };
    }
    if (node.kind === "check.returned" && !node.erased && problem === undefined)
      span.events.push({ at: node.at, name: "gen_ai.evaluation.result", attributes: verdictOf(node, this.#platform, this.#content) });
    this.#retries(node, span);
    const source = node.facts.source === undefined ? undefined : this.#byId.get(node.facts.source);
    if (node.facts.source !== undefined) span.attributes["openrath.reused"] = true;
    if (source !== undefined) this.#links.push({ span, to: source, how: "reused" });
    this.#reach(this.#around(node), node.at);
  }

  /** Attempts that came to nothing before the one that counts. */
  #retries(node: Node, span: Span): void {
    if (node.erased || (node.kind !== "model.returned" && node.kind !== "tool.returned")) return;
    for (const { status, message } of node.data<"model.returned">(this.#platform).failures ?? [])
      span.events.push({
        at: span.start,
        name: "openrath.attempt.failed",
        attributes: {
          [errorType]: status === undefined ? "_OTHER" : String(status),
          "exception.message": this.#content ? message : undefined,
        },
      });
  }

  #merge(node: Node): void {
    const adopts = node.parent?.log !== node.log;
    const span = this.#add(node, node.id, {
      name: adopts ? "adopt" : "merge",
      kind: spanKinds.internal,
      parent: this.#around(node),
      attributes: { "openrath.operation": adopts ? "adopt" : "merge", ...placeOf(node) },
    });
    this.#of.set(node, span);
    for (const parent of node.parents) if (parent.log !== node.log) this.#links.push({ span, to: parent, how: adopts ? "adopt" : "merge" });
  }

  /** What an event hangs on: the innermost frame of its own log, else its log. */
  #around(node: Node): Span {
    const frame = this.#frames.get(node) ?? (node.parent === undefined ? undefined : this.#frames.get(node.parent));
    const base = this.#base.get(node.log) as Span;
    return frame !== undefined && frame.entered.log === node.log ? frame.span : base;
  }

  #add(node: Node, name: string, told: Pick<Span, "name" | "kind" | "parent"> & { readonly attributes: Attributes }): Span {
    const span: Span = {
      traceId: told.parent?.traceId ?? this.#platform.sha256(`openrath trace ${rootOf(node.log).id}`).slice(0, 32),
      spanId: name === node.id ? node.id.slice(0, 16) : this.#platform.sha256(`openrath span ${name}`).slice(0, 16),
      parent: told.parent,
      name: told.name,
      kind: told.kind,
      start: node.at,
      end: node.at,
      attributes: { ...told.attributes },
      events: [],
      links: [],
    };
    this.#spans.push(span);
    return span;
  }

  #reach(span: Span, at: string): void {
    if (at > span.end) span.end = at;
  }
}

/** Where the first parents of a log lead. */
function rootOf(log: Log): Log {
  let at = log;
  for (let parent = at.first?.parent; parent !== undefined; parent = at.first?.parent) at = parent.log;
  return at;
}
