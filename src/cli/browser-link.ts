/** Links that let one browser into a server of this process, once and soon. The code is behind the hash: no log sees it. */
import type { Role } from "../access/access.ts";
import { invite } from "../server/invite.ts";
import type { Server } from "../server/server.ts";
import type { Cli } from "./cli.ts";

/** How long the browser that was let in stays so. */
const lastsMs = 30 * 24 * 3_600_000;

/** `to` is a place in the inspector, like "/s/ID/graph"; its first page when left out. */
export function browserLink(cli: Cli, server: Server, url: string, role: Role, to?: string): string {
  const expires = new Date(cli.host.now().getTime() + lastsMs).toISOString();
  const code = invite(server, { identity: "human:local", roles: [role], expires });
  return `${url}/#code=${code}${to === undefined ? "" : `&to=${to}`}`;
}
