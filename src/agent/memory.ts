/**
 * How an agent uses memory: what is recalled for it when it is entered, and the tools by which its model asks for more. Both are
 * effects of the session, so what was read is on record and taken from there on resume and replay.
 */
import { RathError } from "../session/errors.ts";
import { stateOf } from "../session/fold.ts";
import { defaultHits } from "../session/given-memory.ts";
import type { RecallRequest } from "../session/host.ts";
import type { MemoryScope, Session, StopReason, Tool } from "../session/session.ts";
import { placeOf } from "../session/value.ts";
import { messageOf } from "../session/views.ts";
import { defaultTokens, longestQuery, memoryTools } from "../tool/builtin/memory.ts";
import type { AgentMemory, AgentOptions } from "./options.ts";

interface Recalled {
  readonly session: Session;
  /** The context policy was applied, and nothing more is read since. */
  readonly fits: boolean;
}

/** Memory that could not be read: how the agent ends. */
export interface Unread {
  readonly session: Session;
  readonly stop: StopReason;
  readonly reason: string;
}

/**
 * Recalls what fits the newest message and gives the model what is new of it to read. An agent that was to know something and
 * does not would answer as if there were nothing to know, so a memory that fails ends it.
 */
export async function recallBefore<Output>(
  { memory }: AgentOptions<Output>,
  session: Session,
  settle: (session: Session) => Promise<Session>,
): Promise<Recalled | Unread> {
  if (memory === undefined || recallOf(memory) !== "before") return { session, fits: false };
  const { context } = placeOf(session);
  const query = newestMessage(session);
  if (query === "") return { session, fits: false };
  // What is dropped from what the model reads must be known before, or it would count as read and be missing.
  const settled = await settle(session);
  try {
    const recalled = await context.host.recall(settled, requestFor(query, memory, context.memory));
    return { session: recalled, fits: placeOf(recalled).node.facts.injected !== true };
  } catch (error) {
    // Without a session nothing is on record: an error of the program.
    if (!RathError.is(error) || error.session === undefined) throw error;
    const stop = error.code === "effect.cancelled" ? "cancelled" : "error";
    return { session: error.session, stop, reason: `memory could not be recalled: ${error.message}` };
  }
}

function requestFor(query: string, { scope, limit, tokens }: AgentMemory, ofRoute: MemoryScope | undefined): RecallRequest {
  const within = scope ?? ofRoute;
  return {
    query,
    ...(within === undefined ? {} : { scopes: [within] }),
    limit: limit ?? defaultHits,
    inject: { tokens: tokens ?? defaultTokens },
  };
}

/** The text of what a person said last, as far as the model reads it; of a long one, how it begins and how it ends. */
function newestMessage(session: Session): string {
  const { node, context } = placeOf(session);
  for (let link = stateOf(node).context; link !== undefined; link = link.before) {
    if (link.node.kind === "message.added" && !link.node.erased) {
      const { role, text } = messageOf(link.node, context.host.platform);
      if (role === "user") return bounded(text.trim());
    }
    if (link.node.facts.alone === true) break;
  }
  return "";
}

function bounded(text: string): string {
  if (text.length <= longestQuery) return text;
  const half = longestQuery / 2 - 1;
  // Halves of a character that was cut through could not be stored.
  return `${text.slice(0, half).replace(/[\ud800-\udbff]$/, "")}\n${text.slice(-half).replace(/^[\udc00-\udfff]/, "")}`;
}

/** The tools by which a model uses memory itself. */
export function memoryToolsOf(memory: AgentMemory | undefined): readonly Tool[] {
  if (memory === undefined) return [];
  const { scope, limit, tokens } = memory;
  const { recall, remember } = memoryTools({ scope, limit, tokens });
  return [...(recallOf(memory) === "tool" ? [recall] : []), ...(memory.remember === "tool" ? [remember] : [])];
}

/** What is fixed when an agent is made, for its description. */
export function memoryOf(memory: AgentMemory): object {
  const { remember = "never", scope, tokens = defaultTokens, limit = defaultHits } = memory;
  return { recall: recallOf(memory), remember, scope: scope ?? null, tokens, limit };
}

function recallOf({ recall = "before" }: AgentMemory): NonNullable<AgentMemory["recall"]> {
  return recall;
}
