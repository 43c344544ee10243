/** Answers something that waits, named by the beginning of its id. */
import { userInfo } from "node:os";
import { readEvent } from "../runtime/load.ts";
import type { Decision, Pending } from "../session/session.ts";
import { shortEvent } from "../wire/format.ts";
import { pendingText } from "../wire/pending-line.ts";
import type { Cli } from "./cli.ts";
import { exits, Fault } from "./fault.ts";
import { answerCommand } from "./session-text.ts";
import { shortIds } from "./sessions.ts";
import { show } from "./shown.ts";

/** Who does it, unless the command says it: named as keys name people, so that a record has one name for somebody. */
export function personHere({ host: { env } }: Cli): string {
  return `human:${env["USER"] || env["LOGNAME"] || nameOfUser()}`;
}

/** In a container a user may be a number and nothing else: then there is no entry to read its name from. */
function nameOfUser(): string {
  try {
    return userInfo().username;
  } catch {
    return `user-${process.getuid?.() ?? "unknown"}`;
  }
}

/** What waits under the beginning of an id. */
async function findPending(cli: Cli, name: string): Promise<Pending> {
  const { rath } = await cli.project();
  const found = (await rath.pending()).filter((one) => one.id.startsWith(name.toLowerCase()));
  const [pending, ...others] = found;
  if (pending === undefined) {
    const answered = await answeredId(cli, name);
    if (answered !== undefined) return (await rath.decision(answered)).pending; // whoever decides on it is told that it was
    throw new Fault(exits.notFound, `Nothing waits under ${name}.`, { next: "openrath approvals ls" });
  }
  if (others.length > 0) throw new Fault(exits.usage, `${name} is the beginning of ${found.length} ids: write more of it.`);
  return pending;
}

/** The whole id of something that was answered already. Looks through all answers: only where nothing waits under the name. */
async function answeredId(cli: Cli, name: string): Promise<string | undefined> {
  if (name.length < 4) return undefined;
  const { runtime } = await cli.project();
  const store = await runtime.store();
  for await (const { id } of store.sessions({ log: "answer" })) {
    for await (const event of store.events({ session: id })) {
      const { question } = ((await readEvent(runtime.platform, store, event)).data ?? {}) as { readonly question?: string };
      if (question?.startsWith(name.toLowerCase()) === true) return question;
    }
  }
  return undefined;
}

/** The id of what waits under the beginning of it; else it must be the whole id of something that was decided. */
export async function pendingId(cli: Cli, name: string): Promise<string> {
  const { rath } = await cli.project();
  return (await rath.pending()).some(({ id }) => id.startsWith(name.toLowerCase())) ? (await findPending(cli, name)).id : name;
}

export async function decide(cli: Cli, name: string, kind: Pending["kind"], decision: (pending: Pending) => Decision): Promise<void> {
  const { rath } = await cli.project();
  const pending = await findPending(cli, name);
  if (pending.kind !== kind)
    throw new Fault(
      exits.usage,
      `${shortEvent(pending.id)} is ${pending.kind === "approval" || pending.kind === "unknown" ? "an" : "a"} ${pending.kind === "unknown" ? "effect with an unknown outcome" : pending.kind}, not ${kind === "approval" ? "an approval" : kind === "unknown" ? "an effect with an unknown outcome" : `a ${kind}`}: ${pendingText(pending)}`,
      {
        next: answerCommand(pending, shortEvent(pending.id)),
      },
    );
  const given = decision(pending);
  await rath.decide(pending.id, given);
  if (cli.asJson) return cli.data({ pending, decision: given });
  cli.note(show`recorded, by ${given.by}: ${pendingText(pending)}`);
  if (pending.run !== undefined) cli.next(`openrath resume ${(await shortIds(cli))(pending.run)}, unless a worker goes on with it`);
}
