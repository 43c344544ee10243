/** `openrath mcp serve`: the project as tools for models, over standard input and output, or over HTTP. */
import { randomUUID } from "node:crypto";
import type { Role } from "../access/access.ts";
import { permissionsFor } from "../access/permissions.ts";
import type { Cli } from "./cli.ts";
import { exits, Fault } from "./fault.ts";
import { show } from "./shown.ts";

export interface McpServing {
  readonly role: readonly Role[] | undefined;
  readonly identity: string;
}

const known: readonly Role[] = ["viewer", "operator", "approver", "admin"];

export async function serveMcp(cli: Cli, { role, identity }: McpServing): Promise<void> {
  // Whoever starts work does not approve it: a model that serves itself must not be the person who says yes.
  const roles = role ?? ["operator"];
  for (const one of roles) if (!known.includes(one)) throw new Fault(exits.usage, `--role takes ${known.join(", ")}, not ${one}.`);
  const { rath } = await cli.project({ make: true });
  await rath.ready();
  const [{ createServer }, { servedBy }, { mcpSdk, mcpServer }, { routes }] = await Promise.all([
    import("../server/server.ts"),
    import("../server/served.ts"),
    import("../server/mcp.ts"),
    import("../server/routes/routes.ts"),
  ]);
  const sdk = await mcpSdk();
  const { serveStdio } = await import("@modelcontextprotocol/server/stdio");
  await using made = createServer(rath);
  const server = servedBy(made);
  const project = server.projects.own;
  const { tenant, project: name } = project;
  const permissions = permissionsFor({ roles, permissions: undefined });
  const caller = { key: undefined, identity, roles, permissions, tenant, project: name };
  cli.host.heedTermination?.();
  cli.handlesInterrupt = true;
  cli.note(show`serves tools for models on standard input and output, as ${identity} (${roles.join(", ")})`);
  const handle = serveStdio(() => mcpServer(sdk, routes, { id: randomUUID(), server, caller, project }));
  await new Promise<void>((resolve) => {
    cli.host.signal.addEventListener("abort", () => resolve(), { once: true });
    process.stdin.once("end", resolve);
    process.stdin.once("close", resolve);
  });
  await handle.close();
}
