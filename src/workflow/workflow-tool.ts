/** A workflow as a tool: its work is nested in the call, on a session that reads nothing of the caller's conversation. */
import { RathError } from "../session/errors.ts";
import type { InnerEffectContext } from "../session/host.ts";
import type { Content } from "../session/message.ts";
import type { Schema, Session, Tool } from "../session/session.ts";
import { placeOf } from "../session/value.ts";
import { toParts } from "../session/views.ts";
import { tool } from "../tool/tool.ts";

const task = {
  type: "object",
  properties: { task: { type: "string", description: "What to do, with everything that must be known." } },
  required: ["task"],
  additionalProperties: false,
} as const;

export function workflowTool(
  workflow: { forward(session: Session): Promise<Session> },
  options: {
    readonly name: string;
    readonly description?: string | undefined;
    readonly input?: Schema | undefined;
    readonly say?: ((input: never) => Content) | undefined;
  },
): Tool {
  const description = options.description ?? (workflow as { readonly description?: string }).description;
  if (typeof description !== "string" || description === "")
    throw new RathError("tool.invalid", `Tool "${options.name}" has no description: give asTool one, or the workflow.`);
  const say = (options.say ?? ((input: { readonly task: string }) => input.task)) as (input: unknown) => Content;
  const made = tool({
    name: options.name,
    description,
    input: options.input ?? task,
    repeat: "nested",
    run: async (input, context) => {
      const { host } = placeOf(context.session).context;
      const told = host.add(context.session, "message.added", { role: "user", parts: toParts(say(input)) as never, alone: true });
      const done = await workflow.forward(told);
      (context as InnerEffectContext).standsOn(done);
      return done.output;
    },
  });
  return Object.freeze({ ...made, "~tool": Object.freeze({ ...made["~tool"], workflow, trustsInner: true as const }) });
}
