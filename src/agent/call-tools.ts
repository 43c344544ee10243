/** One round of tool calls: hooks and rules first, then all of them at once, and results in call order. */
import { isReturned, isStarted } from "../session/event.ts";
import type { Effect } from "../session/host.ts";
import type { Node } from "../session/log.ts";
import type { ReplyPart } from "../session/message.ts";
import type { Session, Tool } from "../session/session.ts";
import { placeOf } from "../session/value.ts";
import { asksPerson } from "../tool/asks-person.ts";
import { type ReadInput, readInput } from "../tool/input.ts";
import { toolEffect } from "../tool/tool-call.ts";
import { hookEffect, hookFailed, refuseMisspelt } from "./hooks.ts";
import type { AgentOptions } from "./options.ts";

type Call = Extract<ReplyPart, { type: "call" }>;
type Hooked = { readonly input: unknown } | { readonly refuse: string } | null;

export async function callTools<Output>(
  options: AgentOptions<Output>,
  tools: ReadonlyMap<string, Tool>,
  session: Session,
  calls: readonly Call[],
  agent: string,
): Promise<Session> {
  const read = calls.map((call) => readInput(call.input));
  const hook = options.hooks?.beforeTool?.bind(options.hooks);
  let at = session;
  let hooked: readonly Hooked[] = [];
  if (hook !== undefined) {
    const { session: after, given } = await hookEffect(at, "beforeTool", agent, () =>
      Promise.all(
        calls.map(async (call, index) => {
          const answer = (await hook({ tool: call.tool, input: inputOf(read[index]) })) ?? null;
          if (answer !== null) refuseMisspelt("beforeTool", agent, answer, ["input"]);
          return answer;
        }),
      ),
    );
    at = after;
    hooked = (given ?? []) as readonly Hooked[];
  }
  const { host } = placeOf(at).context;
  const effects = calls.map((call, index) => effectOf(options, tools, at, call, index, read[index] as ReadInput, hooked[index] ?? null));
  const called = await host.performAll(at, effects);
  if (options.hooks?.afterTool !== undefined) refuseBrokenHook(called, agent);
  return called;
}

function effectOf<Output>(
  options: AgentOptions<Output>,
  tools: ReadonlyMap<string, Tool>,
  session: Session,
  call: Call,
  index: number,
  read: ReadInput,
  hooked: Hooked,
): Effect {
  const { host, by } = placeOf(session).context;
  const changed: ReadInput = hooked !== null && "input" in hooked ? { input: hooked.input, repaired: false } : read;
  const judged = host.judge(session, { tool: call.tool, input: inputOf(changed) });
  const { needsApproval, hooks } = options;
  const tool = tools.get(call.tool);
  return toolEffect({
    name: call.tool,
    tool,
    repeat: tool === undefined ? undefined : host.repeatOf(session, tool),
    read: changed,
    raw: call.input,
    index,
    by,
    refused: hooked !== null && "refuse" in hooked ? { reason: hooked.refuse, problem: "hook" } : judged.refused,
    asks: (input) => (needsApproval !== undefined && asksPerson(needsApproval({ tool: call.tool, input })) ? "agent" : judged.asks(input)),
    expires: judged.expires,
    after: hooks?.afterTool?.bind(hooks),
    offered: [...tools.keys()],
  });
}

function inputOf(read: ReadInput | undefined): unknown {
  return read !== undefined && "input" in read ? read.input : undefined;
}

/** A hook that threw after a tool ran: the result stands, and the agent ends here. */
function refuseBrokenHook(session: Session, agent: string): void {
  const { node, context } = placeOf(session);
  for (let at: Node | undefined = node; at !== undefined && (isReturned(at.kind) || isStarted(at.kind)); at = at.prior) {
    if (at.kind !== "tool.returned" || at.facts.outcome === "denied") continue;
    const { problem, reason } = at.data<"tool.returned">(context.host.platform);
    if (problem === "hook") throw hookFailed("afterTool", agent, reason ?? "", session);
  }
}
