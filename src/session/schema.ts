/** The shape of every kind of event, checked when a bundle is imported or a log verified. Loaded only there: importing zod costs most of a start. */
import { z } from "zod";
import { runSchemas } from "./run-schema.ts";
import { duration, facts, id, iso, place, session, totals } from "./schema-parts.ts";

const scope = z.union([z.strictObject({ run: z.string() }), z.strictObject({ call: id, attempt: z.int().min(1) })]);
const part = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("text"), text: z.string() }),
  z.strictObject({ type: z.literal("reasoning"), text: z.string(), signature: z.string().optional() }),
  z.strictObject({ type: z.literal("file"), mediaType: z.string(), data: z.instanceof(Uint8Array).optional(), url: z.string().optional() }),
]);
const repeat = z.enum(["safe", "keyed", "once", "nested"]);
const batch = z.strictObject({ index: z.int().min(0), size: z.int().min(2) }).optional();

/** What an effect came to, beside the outcome in its facts. */
const result = {
  value: z.unknown().optional(),
  message: z.string().optional(),
  reason: z.string().optional(),
  name: z.string().optional(),
  /** The `answer.given` that settled it. */
  answer: id.optional(),
};

const tree = z.string().regex(/^[0-9a-f]{64}$/);
/** A file that differs. `before` and `after` are hashes of contents. */
const change = z.strictObject({
  path: z.string(),
  kind: z.enum(["added", "changed", "removed"]),
  before: z.string().optional(),
  after: z.string().optional(),
  of: z.enum(["mode", "type"]).optional(),
});
/** A command that ran in a sandbox. */
const command = z.strictObject({
  command: z.union([z.string(), z.array(z.string())]),
  exitCode: z.int(),
  signal: z.string().optional(),
  stopped: z.enum(["time", "output", "disk", "memory", "cancelled"]).optional(),
  ms: z.number(),
  stdout: z.string(),
  stderr: z.string(),
});
/** Where an effect acted, and what it left behind. */
const acted = z
  .strictObject({
    sandbox: z.string(),
    /** The one that was opened; absent when only files were read or written. */
    id: z.string().optional(),
    isolation: z.enum(["none", "process", "namespace", "container", "microvm"]),
    /** How the files were laid out on disk. */
    workspace: z.enum(["overlay", "reflink", "copy", "mirror"]).optional(),
    before: tree,
    after: tree,
    changes: z.array(change),
    /** How many more changes there are than are listed; the trees have them all. */
    omitted: z.int().min(1).optional(),
    commands: z.array(command).optional(),
    /** Background processes that it started, and those that ended since the last record. */
    started: z.array(z.strictObject({ id: z.string(), command: z.string() })).optional(),
    ended: z.array(z.strictObject({ id: z.string(), exitCode: z.int().optional(), reason: z.string().optional() })).optional(),
    /** What it wrote was not kept: a check judges, and a rule may undo. */
    discarded: z.literal(true).optional(),
  })
  .optional();

const scopeOfMemory = z.enum(["user", "agent", "project", "workflow", "session"]);
const origin = z.enum(["tool", "human", "failure", "validation", "model", "import"]);
const trust = z.enum(["trusted", "untrusted"]);
const publish = z.union([z.enum(["return", "now", "never"]), z.strictObject({ check: z.string() })]);
/** A version that was staged, without its content, which the call has. */
const staged = z.strictObject({
  uri: z.string(),
  owner: z.string().optional(),
  version: z.int().min(1),
  /** The newest published version it replaces; 0 when there is none. */
  based: z.int().min(0),
  origin,
  trust,
  because: z.array(z.string()),
  from: z.array(z.string()),
  publish,
  expires: iso.optional(),
});
/** An item as it was recalled. */
const hit = z.strictObject({
  uri: z.string(),
  key: z.string(),
  content: z.string(),
  value: z.unknown().optional(),
  scope: scopeOfMemory,
  owner: z.string().optional(),
  version: z.int().min(1),
  state: z.enum(["staged", "published", "retracted"]),
  origin,
  trust,
  because: z.array(z.string()),
  from: z.array(z.string()),
  event: z.string(),
  session: z.string().optional(),
  by: z.string(),
  at: iso,
  expires: iso.optional(),
  reason: z.string().optional(),
  score: z.number(),
  query: z.string(),
});
const vector = z.strictObject({ model: z.string(), values: z.instanceof(Uint8Array) });
/** Events that hold what a model reads, from one to another. */
const range = z.strictObject({ from: id, to: id, events: z.int().min(1) });
const reply = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("text"), text: z.string(), metadata: z.unknown().optional() }),
  z.strictObject({ type: z.literal("reasoning"), text: z.string(), signature: z.string().optional(), metadata: z.unknown().optional() }),
  z.strictObject({ type: z.literal("call"), id: z.string(), tool: z.string(), input: z.string(), metadata: z.unknown().optional() }),
  z.strictObject({
    type: z.literal("file"),
    mediaType: z.string(),
    data: z.instanceof(Uint8Array),
    metadata: z.unknown().optional(),
  }),
  z.strictObject({
    type: z.literal("source"),
    url: z.string().optional(),
    title: z.string().optional(),
    metadata: z.unknown().optional(),
  }),
]);
/** An attempt that came to nothing. */
const failure = z.strictObject({
  message: z.string(),
  model: z.string().optional(),
  status: z.int().optional(),
  /** How long the next attempt waited. */
  waitedMs: z.number().optional(),
  /** What had arrived before the stream was cut. */
  text: z.string().optional(),
});
/** US dollars for a million tokens, as they were when the call was made. */
const price = z.strictObject({
  table: z.string(),
  input: z.number(),
  output: z.number(),
  cached: z.number(),
  cacheWrite: z.number(),
});

export const schemas = {
  "session.created": z.strictObject({
    title: z.string().optional(),
    tags: z.array(z.string()).optional(),
    principal: z.string().optional(),
  }),
  "session.forked": z.strictObject({
    label: z.string().optional(),
    implicit: z.literal(true).optional(),
    nested: z.literal(true).optional(),
    ordinal: z.int().min(0),
    scope,
  }),
  /** `scope` only where it was made inside an effect. */
  "session.detached": z.strictObject({ from: place, scope: scope.optional() }),
  /** What a file of another format said of itself; what was said in it follows as ordinary events. */
  "session.imported": z.strictObject({
    format: z.string(),
    /** What it was called there, and what it came from. */
    id: z.string(),
    parents: z.array(z.string()),
    /** SHA-256 of the file. */
    digest: id,
    createdAt: z.string().optional(),
    closedAt: z.string().optional(),
    /** How it came about, in that format's words. */
    kind: z.string().optional(),
    operator: z.string().optional(),
    extras: z.array(z.array(z.unknown())).optional(),
    /** Where its tools acted. Nothing acts there now: a placement is given anew. */
    sandbox: z
      .strictObject({
        backend: z.string().optional(),
        handle: z.string().optional(),
        /** Without values of its environment, which may be secrets. */
        spec: z.record(z.string(), z.unknown()).optional(),
      })
      .optional(),
    /** How many pieces the file had. */
    chunks: z.int().min(0),
    /** The file ends without saying that it is complete: whatever wrote it was stopped. */
    interrupted: z.literal(true).optional(),
    /** What was left out or is not as it should be. */
    warnings: z.array(z.string()).optional(),
  }),
  "session.merged": z.strictObject({
    branches: z.array(place).min(1),
    adopt: z.literal(true).optional(),
    reason: z.string().optional(),
    context: z.unknown().optional(),
    /** The files of all of them together, and how what conflicted was settled. */
    files: z
      .strictObject({
        tree,
        resolved: z.array(z.strictObject({ path: z.string(), how: z.enum(["ours", "theirs", "content"]) })).optional(),
      })
      .optional(),
    /** Memories that were written differently, and the write that holds from here on. */
    memory: z.array(z.strictObject({ uri: z.string(), event: id })).optional(),
  }),
  "session.rejected": z.strictObject({ reason: z.string() }),
  /** With `alone`, a model reads nothing from before it. */
  "message.added": z.strictObject({
    role: z.enum(["user", "system"]),
    parts: z.array(part),
    alone: z.literal(true).optional(),
    outside: z.literal(true).optional(),
  }),
  "note.added": z.strictObject({ text: z.string() }),
  "record.linked": z.strictObject({ system: z.string(), id: z.string(), uri: z.string().optional(), digest: z.string().optional() }),
  "placement.changed": z.strictObject({ sandbox: z.string(), spec: z.record(z.string(), z.unknown()) }),
  "workflow.entered": z.strictObject({ name: z.string(), run: z.string().optional() }),
  "workflow.left": z.strictObject({ entered: id }),
  /** What a model reads from here on in place of what it read before. Nothing is removed: an event with `policy: "full"` brings all back. */
  "context.compressed": z.strictObject({
    policy: z.enum(["full", "window", "summary", "trim", "custom"]),
    /** What is no longer read. */
    dropped: z.array(range),
    /** What is still read. */
    kept: z.array(range),
    /** Results of which so many characters are read. */
    shortened: z.array(z.strictObject({ event: id, to: z.int().min(0) })).optional(),
    /** What is read in place of what was dropped: the value of a result, or a text. */
    replacement: z.union([z.strictObject({ event: id }), z.strictObject({ text: z.string() })]).optional(),
    /** Estimates. */
    tokens: z.strictObject({ before: z.int().min(0), after: z.int().min(0) }),
    /** What the summary cost. */
    usage: totals.optional(),
    /** Reasoning goes with the turn it belongs to. */
    reasoning: z.strictObject({ kept: z.int().min(0), dropped: z.int().min(0) }).optional(),
  }),
  "agent.stopped": z.strictObject({
    stop: z.enum(["finished", "length", "refused", "rounds", "budget", "invalid", "cancelled", "error"]),
    reason: z.string().optional(),
    /** The structured output, as the agent's schema gave it; text stays where it was said. */
    value: z.unknown().optional(),
  }),
  "model.called": z.strictObject({
    model: z.string(),
    fallbacks: z.array(z.string()).optional(),
    settings: z.record(z.string(), z.unknown()).optional(),
    /** JSON of instructions, tools and output schema; one blob however often it is named. */
    configuration: z.string(),
    /** Digest of what the model reads, chained over the events that hold it. */
    request: id,
    /** The result of a hook that changed the request. */
    changed: id.optional(),
  }),
  "model.returned": z.strictObject({
    ...result,
    parts: z.array(reply).optional(),
    finish: z.enum(["stop", "length", "calls", "refused", "other"]).optional(),
    model: z.string().optional(),
    id: z.string().optional(),
    warnings: z.array(z.string()).optional(),
    metadata: z.unknown().optional(),
    price: price.optional(),
    /** There was no price for the model: its cost is not known. */
    unpriced: z.literal(true).optional(),
    /** What a budget left of the answer's length. */
    maxOutputTokens: z.int().optional(),
    failures: z.array(failure).optional(),
  }),
  "tool.called": z.strictObject({
    name: z.string(),
    repeat,
    revision: z.string().optional(),
    input: z.unknown().optional(),
    /** What the model wrote, where it is not the input as it stands. */
    raw: z.string().optional(),
    /** Which of the calls of the reply before it this is; absent when code called it. */
    index: z.int().min(0).optional(),
    batch,
    /** The rule that makes it wait for a person. */
    approval: z.enum(["tool", "agent", "policy"]).optional(),
    expires: duration.optional(),
    /** JSON Schema of the input, where that person may change it and no model call has it. */
    schema: z.string().optional(),
  }),
  "tool.started": z.strictObject({}),
  "tool.returned": z.strictObject({
    ...result,
    problem: z.enum(["unknown-tool", "invalid-input", "threw", "timeout", "policy", "hook", "limit"]).optional(),
    /** The input it ran with, where a person changed it when approving. */
    input: z.unknown().optional(),
    /** What the tool gave, where a hook put another value in its place. */
    original: z.unknown().optional(),
    /** How many characters of the value the model reads. */
    cut: z.int().optional(),
    failures: z.array(failure).optional(),
    acted,
  }),
  "route.called": z.strictObject({
    candidates: z.array(z.strictObject({ name: z.string(), description: z.string() })),
    by: z.enum(["model", "function"]),
  }),
  "route.returned": z.strictObject(result),
  "do.called": z.strictObject({ name: z.string(), repeat, input: z.unknown().optional(), batch }),
  "do.started": z.strictObject({}),
  "do.returned": z.strictObject({ ...result, acted }),
  "check.called": z.strictObject({ name: z.string(), batch }),
  "check.returned": z.strictObject({ ...result, acted, passed: z.boolean().optional(), score: z.number().optional() }),
  "ask.called": z.strictObject({ question: z.string(), answer: z.unknown(), to: z.string().optional(), expires: duration.optional() }),
  "ask.returned": z.strictObject(result),
  "wait.called": z.strictObject({ until: iso.optional(), for: duration.optional() }),
  "wait.returned": z.strictObject(result),
  "receive.called": z.strictObject({ signal: z.string().min(1), answer: z.unknown().optional(), expires: duration.optional() }),
  /** With the `signal.sent` that was taken. */
  "receive.returned": z.strictObject({ ...result, signal: id.optional() }),
  "recall.called": z.strictObject({
    /** Absent when one is read by its key, or all of a scope are. */
    query: z.string().optional(),
    key: z.string().optional(),
    scopes: z.array(scopeOfMemory).optional(),
    limit: z.int().min(1),
    trust: z.literal("trusted").optional(),
    origin: origin.optional(),
    memory: z.literal("latest").optional(),
    /** What is new of it is given to the model to read, up to so many tokens. */
    inject: z.strictObject({ tokens: z.int().min(1) }).optional(),
  }),
  "recall.returned": z.strictObject({
    ...result,
    value: z.array(hit).optional(),
    /** The revision of the memory store that was read. */
    revision: z.int().min(0).optional(),
    /** Beginnings of the uris that were searched. */
    within: z.array(z.string()).optional(),
    /** What the model reads of it, as "uri@version". */
    injected: z.array(z.string()).optional(),
    /** What it does not read because it has it already, or because there was no room. */
    omitted: z.array(z.strictObject({ item: z.string(), why: z.enum(["known", "tokens", "policy"]) })).optional(),
    /** Made the query a vector. */
    embedder: z.string().optional(),
  }),
  "remember.called": z.strictObject({
    key: z.string(),
    content: z.unknown(),
    scope: scopeOfMemory,
    because: z.array(z.string()).optional(),
    expires: duration.optional(),
    publish: publish.optional(),
  }),
  "remember.returned": z.strictObject({
    ...result,
    item: staged.optional(),
    revision: z.int().min(0).optional(),
    vector: vector.optional(),
    /** It was published at once, as this revision. */
    published: z.int().min(1).optional(),
  }),
  "forget.called": z.strictObject({ key: z.string(), scope: scopeOfMemory, reason: z.string() }),
  "forget.returned": z.strictObject({ ...result, item: staged.optional(), revision: z.int().min(0).optional() }),
  ...runSchemas,
  "sandbox.opened": z.strictObject({
    id: z.string(),
    sandbox: z.string(),
    isolation: z.enum(["none", "process", "namespace", "container", "microvm"]),
    /** The branch that owns it. */
    session,
    workspace: z.enum(["overlay", "reflink", "copy", "mirror"]).optional(),
    network: z.unknown().optional(),
    /** Names of variables of the environment it was given. */
    env: z.array(z.string()).optional(),
    limits: z.record(z.string(), z.unknown()).optional(),
    /** Directories that are shared read-only and not part of the tree. */
    layers: z.array(z.string()).optional(),
  }),
  "sandbox.closed": z.strictObject({ id: z.string(), reason: z.string(), problem: z.string().optional() }),
  /** The files that a directory held when a placement was first used. */
  "workspace.captured": z.strictObject({
    placement: id,
    directory: z.string(),
    tree,
    /** Directories in it that are shared read-only instead. */
    layers: z.array(z.string()).optional(),
    /** Files in it whose contents were not kept: too large, or they hold a secret. */
    withheld: z.array(z.string()).optional(),
  }),
  /** What was staged when the run returned: what everybody reads now, what waits for a check, and what others had changed meanwhile. */
  "memory.published": z.strictObject({
    revision: z.int().min(0),
    items: z.array(z.strictObject({ uri: z.string(), version: z.int().min(1), event: id })),
    held: z.array(z.strictObject({ uri: z.string(), event: id, reason: z.string() })).optional(),
    refused: z.array(z.strictObject({ uri: z.string(), event: id, based: z.int().min(0), current: z.int().min(0) })).optional(),
    /** The memory store failed: nothing was published. */
    problem: z.string().optional(),
  }),
  "budget.crossed": z.strictObject({
    limit: z.enum(["rounds", "tokens", "usd", "time"]),
    of: z.number(),
    spent: z.number(),
    by: z.string(),
  }),
  "run.signed": z.strictObject({
    statement: z.strictObject({
      session,
      head: id,
      step: z.int(),
      state: z.enum(["open", "final"]),
      time: iso,
      key: z.string(),
      previous: z.string().optional(),
      number: z.int().min(1),
      events: z.int().min(1),
      order: z.string(),
    }),
    signature: z.string(),
  }),
  "answer.given": z.strictObject({
    question: id,
    reason: z.string().optional(),
    answer: z.unknown().optional(),
    approve: z.boolean().optional(),
    input: z.unknown().optional(),
    outcome: z.unknown().optional(),
    /** Nobody answered in time. */
    expired: z.literal(true).optional(),
    /** The run whose `run.started` is the question is to be cancelled. */
    cancel: z.literal(true).optional(),
  }),
  "signal.sent": z.strictObject({
    run: z.string().min(1),
    signal: z.string().min(1),
    data: z.unknown().optional(),
    /** Sent again with the same one, it is the same signal. */
    key: z.string().min(1).optional(),
  }),
  /** In the erasure log: what is about to be removed, and by a later one that it was. Ids and names, never a content. */
  "data.erased": z.strictObject({
    reason: z.string().optional(),
    events: z.array(id).optional(),
    /** Contents that something still names; what nothing names any more is not listed, since a short content can be found by its hash. */
    blobs: z.array(id).optional(),
    /** Versions of memories, as "uri@version". */
    memories: z.array(z.string()).optional(),
    /** Whole logs, with the heads they had. */
    logs: z.array(place).optional(),
    /** Entries before this one of which nothing is left to remove. */
    done: z.array(id).optional(),
  }),
} as const;

/** The envelope of every event; `facts` survive erasure. */
export const envelopeSchema = z.strictObject({
  at: iso,
  by: z.string(),
  data: id,
  facts,
  kind: z.string(),
  parents: z.array(id),
  session,
  step: z.int().min(1),
  version: z.int().min(1),
});
