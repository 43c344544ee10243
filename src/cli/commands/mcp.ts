/** `openrath mcp`: servers of tools, as an `mcp.json` names them. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { Command } from "commander";
import type { Role } from "../../access/access.ts";
import type { Tool } from "../../session/session.ts";
import type { configured } from "../../tool/mcp-config.ts";
import { plural, seconds } from "../../wire/format.ts";
import type { Cli } from "../cli.ts";
import { exits, Fault } from "../fault.ts";
import { collected } from "../options.ts";
import { printList } from "../print-list.ts";
import { progressing } from "../progress.ts";
import { show } from "../shown.ts";

interface Row {
  readonly server: string;
  readonly tools: readonly Tool[];
  readonly ms: number;
  readonly error: string | undefined;
  /** What the server says of itself. */
  readonly version: string | undefined;
}

/** Where a list of servers is looked for. */
const files = ["mcp.json", ".mcp.json"];

export function define(command: Command, cli: Cli): void {
  command
    .summary("list and test servers of tools, or be one")
    .description(
      'Servers of tools over the Model Context Protocol, as a file names them: { "mcpServers": { NAME: { "command": … } or { "url": … } } }.',
    );
  command
    .command("ls")
    .summary("connect to every server and list its tools")
    .option("--file <file>", "the list of servers; default: mcp.json or .mcp.json here")
    .action(({ file }: { readonly file?: string }) => ls(cli, file));
  command
    .command("test")
    .summary("connect to one server and list its tools; exit 1 when it does not answer")
    .argument("<server>", "a name of the list, a URL, or a command")
    .argument("[args...]", "arguments of the command, after --")
    .option("--file <file>", "the list of servers; default: mcp.json or .mcp.json here")
    .action((server: string, args: readonly string[], { file }: { readonly file?: string }) => test(cli, server, args, file));
  command
    .command("serve")
    .summary("be such a server: the project's sessions and runs as tools for models")
    .description(
      "Serves sessions, forks, diffs, why, replay and runs as tools, and sessions as resources, on standard input and output. Over HTTP the same is at /mcp of openrath serve, where keys say who may do what.",
    )
    .option("--role <role>", "what it may do: viewer, operator (default), approver or admin; may be repeated", collected)
    .option("--identity <name>", "who it acts as, in the record", "service:mcp")
    .action(async ({ role, identity }: { readonly role?: readonly Role[]; readonly identity: string }) => {
      const { serveMcp } = await import("../mcp-serve.ts");
      await serveMcp(cli, { role, identity });
    });
}

async function ls(cli: Cli, file: string | undefined): Promise<void> {
  const servers = await listed(cli, file);
  const rows = await progressing(cli, "connecting", "servers", (progress) =>
    Promise.all(servers.map((server) => asked(cli, server.name ?? "", server).finally(() => progress.add()))),
  );
  if (rows.some((row) => row.error !== undefined)) cli.exit = exits.error;
  printList(cli, rows, {
    columns: [
      { name: "SERVER", cell: ({ server }) => cli.ink.cyan(server), plain: ({ server }) => server },
      {
        name: "STATUS",
        cell: ({ error }) => (error === undefined ? cli.ink.green("ok") : cli.ink.red("failed")),
        plain: ({ error }) => (error === undefined ? "ok" : "failed"),
      },
      { name: "VERSION", cell: (row) => row.version ?? "", optional: true },
      { name: "TIME", cell: ({ ms }) => seconds(ms), plain: ({ ms }) => Math.round(ms), right: true },
      { name: "TOOLS", cell: ({ tools, error }) => (error === undefined ? tools.map((tool) => tool.name).join(", ") : ""), rest: true },
    ],
    data: dataOf,
    empty: show`The list names no servers.`,
  });
  for (const { server, error } of rows) if (error !== undefined && !cli.asJson) cli.warn(show`${cli.errInk.red(server)}: ${error}`);
}

async function test(cli: Cli, server: string, args: readonly string[], file: string | undefined): Promise<void> {
  const { found, names } = await serverOf(cli, server, args, file);
  const row = await asked(cli, server, found);
  if (row.error !== undefined) throw new Fault(exits.error, misspelt(server, names) + row.error);
  if (cli.asJson) return cli.data(dataOf(row));
  printList(cli, row.tools, {
    columns: [
      { name: "TOOL", cell: ({ name }) => cli.ink.cyan(name), plain: ({ name }) => name },
      { name: "DESCRIPTION", cell: ({ description }) => description, rest: true },
    ],
    data: ({ name, description }) => ({ name, description }),
    empty: show`Server ${server} answers, and offers no tools.`,
  });
  cli.note(
    show`${cli.errInk.green("ok")} ${cli.errInk.dim(`version ${row.version ?? "unknown"}, ${plural(row.tools.length, "tool")}, ${seconds(row.ms)}`)}`,
  );
}

function dataOf({ server, tools, ms, error, version }: Row): object {
  return {
    server,
    ok: error === undefined,
    version: version ?? null,
    ms: Math.round(ms),
    error: error ?? null,
    tools: tools.map(({ name, description }) => ({ name, description })),
  };
}

interface Named {
  readonly found: Server;
  /** The names of the list, where none of them was given. */
  readonly names: readonly string[];
}

type Server = Awaited<ReturnType<typeof configured>>[number];

/** Connects, lists, and lets go again. */
async function asked(cli: Cli, name: string, server: Server): Promise<Row> {
  const start = cli.host.now().getTime();
  const row = async (): Promise<Pick<Row, "tools" | "error" | "version">> => {
    try {
      const { mcp } = await import("../../tool/mcp.ts");
      await using connected = await mcp(server, { signal: cli.host.signal });
      return { tools: connected.tools, error: undefined, version: connected.servers[0]?.reported.version };
    } catch (error) {
      return { tools: [], error: (error as Error).message, version: undefined };
    }
  };
  const found = await row();
  return { server: name, ...found, ms: cli.host.now().getTime() - start };
}

async function serverOf(cli: Cli, server: string, args: readonly string[], file: string | undefined): Promise<Named> {
  if (/^https?:\/\//.test(server)) return { found: { url: server }, names: [] };
  const servers = file === undefined && fileOf(cli) === undefined ? [] : await listed(cli, file);
  const known = servers.find(({ name }) => name === server);
  if (known !== undefined) return { found: known, names: [] };
  return { found: { command: server, args }, names: servers.flatMap(({ name }) => name ?? []) };
}

/** What is taken for a command may have been meant as a name. */
function misspelt(server: string, names: readonly string[]): string {
  return names.length === 0 ? "" : `The list names no server ${server}; it names ${names.join(", ")}. As a command: `;
}

function fileOf(cli: Cli): string | undefined {
  return files.map((name) => resolve(cli.host.cwd, name)).find((path) => existsSync(path));
}

async function listed(cli: Cli, file: string | undefined): Promise<readonly Server[]> {
  const path = file === undefined ? fileOf(cli) : resolve(cli.host.cwd, file);
  if (path === undefined || !existsSync(path))
    throw new Fault(exits.notFound, `There is no ${file ?? files.join(" and no ")} in ${cli.host.cwd} that names servers.`, {
      next: "openrath mcp test COMMAND -- ARGS, or mcp test URL",
    });
  const { configured } = await import("../../tool/mcp-config.ts");
  return configured(path);
}
