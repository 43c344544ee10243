/** `openrath keys`: who may call a server of this store. Works on the keys beside the store, whether a server runs or not. */
import type { Command } from "commander";
import type { AccessStore, NotedEntry, Permission, Role, Scope, StoredKey } from "../../access/access.ts";
import { isValidAt } from "../../access/key.ts";
import { type MadeKey, makeKey, rotateKey } from "../../access/make-key.ts";
import { allPermissions, roles as allRoles } from "../../access/permissions.ts";
import { tenancyOf } from "../../runtime/tenancy.ts";
import { ago } from "../../wire/format.ts";
import type { Cli } from "../cli.ts";
import { personHere } from "../decide.ts";
import { exits, Fault } from "../fault.ts";
import { collected, durationOf, wholeOf } from "../options.ts";
import { printList } from "../print-list.ts";
import { show } from "../shown.ts";

interface Options {
  readonly store?: string;
  readonly tenant?: string;
  readonly project?: string;
}

export function define(command: Command, cli: Cli): void {
  command
    .summary("make, list and end keys of a server")
    .description(
      "Who may call a server of this store. A key is shown once, when it is made; only a hash of it is kept. Changes count at once, whether a server runs or not.",
    );
  const verb = (name: string, summary: string): Command =>
    command.command(name).summary(summary).option("--store <address>", "a file, or the URL of a PostgreSQL database");
  const scoped = (one: Command): Command =>
    one
      .option("--tenant <name>", "of this tenant; default: that of the project file")
      .option("--project <name>", "of this project; default: that of the project file");
  scoped(verb("create", "make a key and print it, once"))
    .description(`Makes a key and prints it: it is shown once. A role is one of ${allRoles.join(", ")}.`)
    .requiredOption("--role <role>", "what it may be used for; may be given again", collected)
    .option("--identity <who>", "who uses it, like human:ada or service:ci; default: the user of this machine")
    .option("--permission <permission>", `only this of what its roles allow, like ${allPermissions[0]}; may be given again`, collected)
    .option("--expires <time>", "when it ends: a time to come like 30d, or a date")
    .action((options: CreateOptions) => create(cli, options));
  scoped(verb("ls", "list keys"))
    .option("-a, --all", "of all tenants and projects")
    .action((options: Options & { readonly all?: boolean }) => ls(cli, options));
  verb("revoke", "end a key at once")
    .argument("<id>", "the id of the key, or the beginning of it")
    .action((id: string, options: Options) => revoke(cli, id, options));
  verb("rotate", "print a key that replaces another one")
    .argument("<id>", "the id of the key, or the beginning of it")
    .option("--grace <time>", "how long the old key still counts", "1h")
    .option("--expires <time>", "when the new one ends: a time to come like 30d, or a date")
    .action((id: string, options: RotateOptions) => rotate(cli, id, options));
  scoped(verb("log", "list who changed something or was turned away, newest first"))
    .option("-a, --all", "of all tenants and projects, and of callers nobody knows")
    .option("-n, --limit <number>", "so many at most", wholeOf("--limit"), 50)
    .action((options: Options & { readonly all?: boolean; readonly limit: number }) => log(cli, options));
}

/** The keys beside the store, and whose are meant. */
async function opened(cli: Cli, { store, tenant, project }: Options): Promise<{ readonly access: AccessStore; readonly scope: Scope }> {
  const { runtime } = await cli.project({ store, make: true });
  const tenancy = tenancyOf(runtime);
  const access = await tenancy.openAccess();
  const { accessFileOf } = await import("../../access/sqlite-upkeep.ts");
  const { accessTablesOf } = await import("../../access/postgres-upkeep.ts");
  if (accessFileOf(access) === undefined && accessTablesOf(access) === undefined)
    throw new Fault(exits.usage, "This store is kept in memory, and keys with it: one that is made here would be gone with this command.", {
      next: "use a file or a PostgreSQL database: --store ADDRESS",
    });
  return { access, scope: { tenant: tenant ?? tenancy.scope.tenant, project: project ?? tenancy.scope.project } };
}

async function closing<T>(access: AccessStore, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } finally {
    await access[Symbol.asyncDispose]();
  }
}

interface CreateOptions extends Options {
  readonly role: readonly string[];
  readonly identity?: string;
  readonly permission?: readonly string[];
  readonly expires?: string;
}

async function create(cli: Cli, options: CreateOptions): Promise<void> {
  const { role, identity = personHere(cli), permission, expires } = options;
  const { access, scope } = await opened(cli, options);
  const now = cli.host.now();
  const asked = {
    ...{ ...scope, identity, by: personHere(cli), expires: timeOf(expires, now) },
    ...{ roles: role as readonly Role[], permissions: permission as readonly Permission[] | undefined },
  };
  printMade(cli, await closing(access, makeKey(access, asked, now)), now);
}

/** The key is all there is on stdout, so that it can be piped into a place for secrets. */
function printMade(cli: Cli, { token, key }: MadeKey, now: Date): void {
  if (cli.asJson) {
    cli.data({ ...shownKey(key, now), token });
    return;
  }
  cli.print(show`${token}`);
  const until = key.expires === undefined ? "does not expire" : `ends ${key.expires}`;
  cli.note(show`${key.id}: ${key.identity}, ${key.roles.join(" and ")} in ${key.project} of ${key.tenant}, ${until}`);
  cli.note(show`${cli.errInk.dim("It is shown this once: only a hash of it is kept.")}`);
}

/** A date, or a time from now. */
function timeOf(given: string | undefined, now: Date): string | undefined {
  if (given === undefined) return undefined;
  if (/^\d+(?:\.\d+)?(?:ms|s|m|h|d)$/.test(given)) return new Date(now.getTime() + durationOf(given, "--expires")).toISOString();
  if (Number.isNaN(Date.parse(given)))
    throw new Fault(exits.usage, `--expires takes a time like 30d or a date like 2027-01-31, not ${given}.`);
  return new Date(given).toISOString();
}

function shownKey({ hash: _, ...key }: StoredKey, now: Date): object {
  return { ...key, valid: isValidAt(key, now.toISOString()) };
}

async function ls(cli: Cli, options: Options & { readonly all?: boolean }): Promise<void> {
  const { access, scope } = await opened(cli, options);
  const all = options.all === true;
  const keys = await closing(access, collect(access.keys(all ? {} : scope)));
  const now = cli.host.now();
  const status = (key: StoredKey): string => {
    if (isValidAt(key, now.toISOString())) return "valid";
    return key.revoked === undefined ? "expired" : "revoked";
  };
  const paint = { valid: cli.ink.green, expired: cli.ink.dim, revoked: cli.ink.red };
  const since = (time: string | undefined): string => (time === undefined ? "" : ago(time, now));
  printList(cli, keys, {
    columns: [
      { name: "ID", cell: ({ id }) => cli.ink.cyan(id) },
      { name: "IDENTITY", cell: ({ identity }) => identity },
      { name: "ROLES", cell: ({ roles }) => roles.join(",") },
      { name: "ONLY", cell: ({ permissions }) => permissions?.join(",") ?? "", optional: true },
      { name: "TENANT", cell: ({ tenant }) => (all ? tenant : ""), plain: ({ tenant }) => tenant, optional: true },
      { name: "PROJECT", cell: ({ project }) => (all ? project : ""), plain: ({ project }) => project, optional: true },
      { name: "STATUS", cell: (key) => paint[status(key) as keyof typeof paint](status(key)), plain: status },
      { name: "CREATED", cell: ({ created }) => since(created), plain: ({ created }) => created },
      { name: "USED", cell: ({ used }) => since(used), plain: ({ used }) => used ?? "" },
      { name: "EXPIRES", cell: ({ expires }) => expires?.slice(0, 16).replace("T", " ") ?? "never", plain: ({ expires }) => expires ?? "" },
    ],
    data: (key) => shownKey(key, now),
    empty: show`There are no keys: openrath keys create --role operator makes one.`,
  });
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

/** The key under an id or its beginning. A whole key is taken for its id, so that one that leaked can be pasted. */
async function findKey(access: AccessStore, given: string): Promise<StoredKey> {
  const name = given.startsWith("rath_") ? given.slice(0, 15) : `rath_${given.slice(0, 10)}`;
  // The beginning of every id: a variable of the shell that is not set must not end the only key there is.
  if (name === "rath_") throw new Fault(exits.usage, "No key is named: write the beginning of its id.", { next: "openrath keys ls --all" });
  const found = (await collect(access.keys({}))).filter(({ id }) => id.startsWith(name));
  const [key, ...others] = found;
  if (key === undefined) throw new Fault(exits.notFound, `There is no key ${name}.`, { next: "openrath keys ls --all" });
  if (others.length > 0) throw new Fault(exits.usage, `${name} is the beginning of ${found.length} ids: write more of it.`);
  return key;
}

async function revoke(cli: Cli, given: string, options: Options): Promise<void> {
  const { access } = await opened(cli, options);
  const now = cli.host.now();
  const work = async (): Promise<StoredKey> => {
    const { id } = await findKey(access, given);
    await access.endKey(id, { revoked: now.toISOString() });
    return (await access.key(id)) as StoredKey;
  };
  const key = await closing(access, work());
  if (cli.asJson) return cli.data(shownKey(key, now));
  cli.print(show`${key.id}`);
  cli.note(show`${cli.errInk.green("revoked")} the key of ${key.identity}: it lets nobody in any more, and streams opened with it end`);
}

interface RotateOptions extends Options {
  readonly grace: string;
  readonly expires?: string;
}

async function rotate(cli: Cli, given: string, options: RotateOptions): Promise<void> {
  const graceMs = durationOf(options.grace, "--grace");
  const { access } = await opened(cli, options);
  const now = cli.host.now();
  const rotation = { graceMs, expires: timeOf(options.expires, now), by: personHere(cli) };
  const work = async (): Promise<MadeKey> => rotateKey(access, await findKey(access, given), rotation, now);
  const made = await closing(access, work());
  printMade(cli, made, now);
  if (!cli.asJson) cli.note(show`${made.key.replaces ?? ""} still counts for ${options.grace}`);
}

async function log(cli: Cli, options: Options & { readonly all?: boolean; readonly limit: number }): Promise<void> {
  const { access, scope } = await opened(cli, options);
  const entries = await closing(access, collect(access.entries({ ...(options.all === true ? {} : scope), limit: options.limit })));
  const now = cli.host.now();
  printList(cli, entries, {
    columns: [
      { name: "AT", cell: ({ at }) => ago(at, now), plain: ({ at }) => at },
      { name: "WHO", cell: ({ identity }) => identity ?? "-" },
      { name: "KEY", cell: ({ key }) => key ?? "-" },
      { name: "STATUS", cell: ({ status }) => (status < 400 ? cli.ink.green : cli.ink.red)(status), plain: ({ status }) => status },
      { name: "CALL", cell: ({ method, route }) => `${method} ${route}` },
      { name: "ABOUT", cell: ({ about }) => about ?? "", rest: true },
      { name: "CODE", cell: ({ code }) => code ?? "", optional: true },
    ],
    data: (entry: NotedEntry) => entry,
    empty: show`Nobody has changed anything through a server yet, and nobody was turned away.`,
  });
}
