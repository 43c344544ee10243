/** A model that says what it is told: for tests, examples and demos. It needs no provider, costs nothing and is never surprised. */
import { RathError } from "../session/errors.ts";
import type { Finish, ModelReply, ModelRequest, ReplyPart, ReplyUsage } from "../session/message.ts";
import type { Model, ModelOptions, ModelPart } from "../session/model.ts";
import type { Session } from "../session/session.ts";
import { textOfThrown } from "../session/thrown.ts";
import { modelFailed } from "./failure.ts";

/** One reply: its text, or more. */
export type Reply =
  | string
  | {
      readonly text?: string | undefined;
      readonly reasoning?: string | undefined;
      /** Calls of tools. An input that is a string stands for what a model wrote, valid or not. */
      readonly calls?: readonly { readonly tool: string; readonly input: unknown }[] | undefined;
      /** The structured answer, said as JSON in place of the text. */
      readonly output?: unknown;
      /** Tokens; what is left out is estimated at four characters a token. */
      readonly usage?: Partial<ReplyUsage> | undefined;
      readonly finish?: Finish | undefined;
      /** The first attempt fails like this, the second gives the reply. "cut" breaks off in the middle of the text. */
      readonly fail?: "rate-limit" | "cut" | "server" | undefined;
      /** How many milliseconds the reply takes. */
      readonly delay?: number | undefined;
    };
/** A reply, or a function that makes one of what the model was asked; alone it makes all of them. Throwing fails the call, so it can hold assertions. */
export type Script = Reply | ((request: ModelRequest, session: Session) => Reply);

type Scene = Exclude<Reply, string>;

/** Turns whose first attempt has failed. More than anybody has under way at once. */
const remembered = 1000;

/**
 * The n-th reply answers the n-th call of that agent on that branch, so parallel branches and resumed runs do not race for
 * replies. A function that is given alone answers every call. A Selector asks in a branch of its own for each choice, and so does a context policy for each summary: there the first
 * reply answers every time. Give a Selector a function of `session.routes`, and a policy a `model` of its own. A failure that is scripted may be tried again at once; a script that has no reply left fails for good.
 *
 * @example
 * const model = scripted(
 *   { calls: [{ tool: "read_file", input: { path: "a.txt" } }] },
 *   (request) => `I was sent ${request.messages.length} messages.`,
 * );
 *
 * @example
 * const echo = scripted(({ messages }) => `You have said ${messages.filter(({ role }) => role === "user").length} things.`);
 *
 * @example
 * const choose = scripted((_, { routes }) => ({ output: { choice: routes.length === 0 ? "fix" : "done", reason: "it is next" } }));
 */
export function scripted(...replies: readonly Script[]): Model {
  for (const [index, script] of replies.entries()) if (typeof script !== "function") checkReply(script, index);
  const failed = new Set<string>();

  /** True once for a turn, then false: the next attempt is to succeed. */
  const failsNow = ({ session, by, turn }: ModelOptions): boolean => {
    const key = JSON.stringify([session.id, session.head, by, turn]);
    if (failed.delete(key)) return false;
    failed.add(key);
    for (const oldest of failed) if (failed.size > remembered) failed.delete(oldest);
    return true;
  };

  return {
    id: "scripted",
    free: true,
    async *stream(request, options) {
      options.signal.throwIfAborted();
      const scene = sceneOf(replies, request, options);
      if (scene.delay !== undefined) await pause(scene.delay, options.signal);
      const fail = scene.fail !== undefined && failsNow(options) ? scene.fail : undefined;
      if (fail === "rate-limit") throw modelFailed("scripted: too many requests.", { retryable: true, status: 429, retryAfterMs: 0 });
      if (fail === "server") throw modelFailed("scripted: the server failed.", { retryable: true, status: 500, retryAfterMs: 0 });
      const reply = replyOf(scene, request, options);
      const deltas = reply.parts.flatMap(deltasOf);
      const shown = fail === "cut" ? deltas.slice(0, Math.ceil(deltas.length / 2)) : deltas;
      for (const delta of shown) {
        options.signal.throwIfAborted();
        yield delta;
      }
      if (fail === "cut") throw modelFailed("scripted: the stream was cut.", { retryable: true, retryAfterMs: 0 });
      yield { type: "reply", reply };
    },
  };
}

const fields: Readonly<Record<keyof Scene, true>> = {
  text: true,
  reasoning: true,
  calls: true,
  output: true,
  usage: true,
  finish: true,
  fail: true,
  delay: true,
};

/** A misspelt reply would be a model that says nothing. */
function checkReply(reply: unknown, turn: number): void {
  if (typeof reply === "string") return;
  const wrong = (problem: string): RathError =>
    new RathError("value.unsupported", `Reply ${turn + 1} of the script ${problem}.`, { details: { turn } });
  if (Array.isArray(reply)) throw wrong("is a list: give replies one after the other, scripted(first, second)");
  if (typeof reply !== "object" || reply === null)
    throw wrong(`is ${String(reply)}: give a text, or an object with ${Object.keys(fields).join(", ")}`);
  const extra = Object.keys(reply).find((field) => !Object.hasOwn(fields, field));
  if (extra !== undefined) throw wrong(`has "${extra}", which is not known: use ${Object.keys(fields).join(", ")}`);
}

function sceneOf(replies: readonly Script[], request: ModelRequest, { session, by, turn }: ModelOptions): Scene {
  const [first, ...others] = replies;
  const script = typeof first === "function" && others.length === 0 ? first : replies[turn];
  if (script === undefined)
    throw modelFailed(
      `The script has ${replies.length} ${replies.length === 1 ? "reply" : "replies"}, and agent "${by}" asks for reply ${turn + 1} (turn ${turn}). Add a reply, or find out why it asks again.`,
      { retryable: false },
    );
  const reply = typeof script === "function" ? played(script, request, session, turn) : script;
  checkReply(reply, turn);
  return typeof reply === "string" ? { text: reply } : reply;
}

function played(script: Exclude<Script, Reply>, request: ModelRequest, session: Session, turn: number): Reply {
  try {
    return script(request, session);
  } catch (cause) {
    const said = textOfThrown(cause);
    throw modelFailed(`The function for turn ${turn} of the script threw: ${said}`, { retryable: false, cause });
  }
}

function replyOf(scene: Scene, request: ModelRequest, options: ModelOptions): ModelReply {
  const { reasoning = "", calls = [], output } = scene;
  const text = output === undefined ? (scene.text ?? "") : JSON.stringify(output);
  const parts: ReplyPart[] = [];
  if (reasoning !== "") parts.push({ type: "reasoning", text: reasoning });
  if (text !== "") parts.push({ type: "text", text });
  for (const [index, { tool, input }] of calls.entries())
    parts.push({ type: "call", id: callId(options, index), tool, input: typeof input === "string" ? input : JSON.stringify(input ?? {}) });
  return { parts, finish: scene.finish ?? (calls.length > 0 ? "calls" : "stop"), usage: usageOf(scene, request, parts) };
}

/** The same in every run, and another one for every agent and turn of a conversation. */
function callId({ by, turn }: ModelOptions, index: number): string {
  return `call_${by.replace(/[^a-zA-Z0-9]+/g, "_").slice(-40)}_${turn}_${index}`;
}

/** What is given; only the rest is estimated, since that takes reading everything again. */
function usageOf({ usage = {} }: Scene, request: ModelRequest, parts: readonly ReplyPart[]): ReplyUsage {
  const { input, output, cached = 0, cacheWrite = 0, reasoning = 0 } = usage;
  if (input !== undefined && output !== undefined) return { input, output, cached, cacheWrite, reasoning };
  return { ...estimate(request, parts), ...usage };
}

/** Four characters are one token; files count nothing. */
function estimate(request: ModelRequest, parts: readonly ReplyPart[]): ReplyUsage {
  const said = request.messages.map((message) => {
    if (message.role === "system") return message.text.length;
    if (message.role === "tool") return message.results.reduce((sum, { value }) => sum + (JSON.stringify(value) ?? "").length, 0);
    return lengthOf(message.parts);
  });
  const asked = said.reduce((sum, length) => sum + length, request.instructions.length + JSON.stringify(request.tools).length);
  const reasoning = lengthOf(parts.filter((part) => part.type === "reasoning"));
  return { input: tokens(asked), output: tokens(lengthOf(parts)), cached: 0, cacheWrite: 0, reasoning: tokens(reasoning) };
}

function lengthOf(parts: readonly { readonly type: string; readonly text?: string; readonly input?: string }[]): number {
  return parts.reduce((sum, part) => sum + (part.text ?? part.input ?? "").length, 0);
}

function tokens(characters: number): number {
  return Math.ceil(characters / 4);
}

/** Text arrives in a few pieces, each of whole words. */
function deltasOf(part: ReplyPart): readonly Exclude<ModelPart, { readonly type: "reply" }>[] {
  if (part.type === "call") return [{ type: "call-delta", call: part.id, tool: part.tool, text: part.input }];
  if (part.type !== "text" && part.type !== "reasoning") return [];
  const words = part.text.match(/\S+\s*|\s+/gu) ?? [];
  const size = Math.ceil(words.length / 4);
  const pieces: string[] = [];
  for (let start = 0; start < words.length; start += size) pieces.push(words.slice(start, start + size).join(""));
  return pieces.map((text) => ({ type: `${part.type}-delta` as const, text }));
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal.addEventListener("abort", stop, { once: true });
  });
}
