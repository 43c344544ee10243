/** Calls command lines on a terminal and piped, and compares what they print with a file. */
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Open } from "../../src/cli/project.ts";
import type { Store } from "../../src/store/store.ts";
import { type Calling, call } from "./world.ts";

const here = fileURLToPath(new URL(".", import.meta.url));

export const memoryServer = fileURLToPath(new URL("../../node_modules/@modelcontextprotocol/server-memory/dist/index.js", import.meta.url));

export interface Line<World> {
  readonly argv: (world: World) => readonly string[];
  readonly calling?: Partial<Calling>;
  /** Only on a terminal, or only piped. */
  readonly only?: "terminal" | "piped";
}

export function lineOf<World>(): (argv: Line<World>["argv"], rest?: Omit<Line<World>, "argv">) => Line<World> {
  return (argv, rest = {}) => ({ argv, ...rest });
}

/** One test a file. The lines of one file that are only for one way share one world, so that one can answer another. */
export function goldenFiles<World extends { readonly store: Store | Open }>(
  files: Readonly<Record<string, readonly Line<World>[]>>,
  makeWorld: () => Promise<World>,
  prepare: (folder: string) => Promise<void> = async () => {},
): void {
  let folder = "";
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "openrath-cli-"));
    await mkdir(join(folder, "new"));
    await prepare(folder);
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test.each(Object.entries(files))("openrath %s", async (name, lines) => {
    const blocks: string[] = [];
    let shared: Promise<World> | undefined;
    for (const one of lines) {
      for (const way of ["terminal", "piped"] as const) {
        if (one.only !== undefined && one.only !== way) continue;
        shared ??= one.only === undefined ? undefined : makeWorld();
        // A line of its own on a terminal and piped: the second must not see what the first did.
        const world = await (one.only === undefined ? makeWorld() : (shared as Promise<World>));
        const argv = one.argv(world);
        const shown = await call(world.store, argv, { terminal: way === "terminal", cwd: folder, ...one.calling });
        const words = argv.map((word) => (/^$|[\s"?]/.test(word) ? `'${word}'` : word)).join(" ");
        const said = way === "terminal" ? shown.both : `${shown.out}${shown.err === "" ? "" : `--- stderr\n${shown.err}`}`;
        blocks.push(anywhere(`$ openrath ${words}   # ${way}\n${said}--- exit ${shown.exit}\n`, folder));
      }
    }
    const file = join(here, `${name}.txt`);
    const text = withoutKeys(blocks.join("\n"));
    if (process.env["UPDATE_GOLDEN"] !== undefined) await writeFile(file, text);
    expect(text).toBe(await readFile(file, "utf8"));
  });
}

/** Without the names of this machine. */
function anywhere(text: string, folder: string): string {
  return text.replaceAll(folder, "/folder").replaceAll(process.execPath, "node").replaceAll(memoryServer, "memory.js");
}

/** Keys are drawn by lot: each is named by when it comes first, and its secret is left out. */
function withoutKeys(text: string): string {
  const names = new Map<string, string>();
  return text.replaceAll(/rath_([a-z2-7]{10})(_[A-Za-z0-9_-]{43})?/g, (_, id: string, secret?: string) => {
    names.set(id, names.get(id) ?? `${"abcdefghijklmnopqrstuvwxyz"[names.size] ?? "z"}`.repeat(10));
    return `rath_${names.get(id)}${secret === undefined ? "" : `_${"S".repeat(43)}`}`;
  });
}
