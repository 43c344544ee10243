/** What every command prints, on a terminal and piped. `UPDATE_GOLDEN=1 npx vitest run test/golden-cli` writes it again: then read it. */
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Calling, call, makeWorld, type World } from "./world.ts";

const here = fileURLToPath(new URL(".", import.meta.url));
const short = (id: string): string => id.slice(0, 8);

const memoryServer = fileURLToPath(new URL("../../node_modules/@modelcontextprotocol/server-memory/dist/index.js", import.meta.url));

interface Line {
  readonly argv: (world: World) => readonly string[];
  readonly calling?: Partial<Calling>;
  /** Only on a terminal, or only piped. */
  readonly only?: "terminal" | "piped";
}

const line = (argv: Line["argv"], rest: Omit<Line, "argv"> = {}): Line => ({ argv, ...rest });

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "openrath-cli-"));
  await mkdir(join(folder, "new"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** The lines of one file share one world, so that one can answer another. */
const files: Readonly<Record<string, readonly Line[]>> = {
  ls: [
    line(() => ["ls"]),
    line(() => ["ls", "--all"]),
    line(() => ["ls", "--limit", "1"]),
    line(() => ["ls", "--tag", "weekly", "--json"]),
    line(() => ["ls", "--status", "rejected"]),
    line(() => ["ls"], { calling: { columns: 60 }, only: "terminal" }),
    line(() => ["ls", "--frobnicate"]),
  ],
  show: [
    line(({ forecast }) => ["show", short(forecast)]),
    line(({ forecast }) => ["show", `${forecast}@3`]),
    line(({ contest }) => ["show", contest]),
    line(({ asks }) => ["show", asks]),
    line(({ hostile }) => ["show", hostile]),
    line(({ hostile }) => ["show", hostile, "--json"], { only: "piped" }),
    line(({ draft }) => ["show", draft]),
    line(() => ["show", "ffff"]),
    line(() => ["show", "0000000"]),
  ],
  log: [
    line(({ forecast }) => ["log", forecast, "--limit", "4"]),
    line(({ forecast }) => ["log", forecast, "--oneline"]),
    line(({ hostile }) => ["log", hostile, "--oneline"]),
    line(({ asks }) => ["log", asks, "--jsonl", "-n", "1"], { only: "piped" }),
  ],
  "log-graph": [
    line(({ forecast }) => ["log", forecast, "--graph"]),
    line(({ contest }) => ["log", contest, "--graph"]),
    line(({ contest }) => ["log", contest, "--graph", "--all", "--ascii"], { only: "terminal" }),
    line(({ contest }) => ["log", contest, "--graph", "-n", "3"], { only: "terminal", calling: { env: { NO_COLOR: "1", LANG: "C" } } }),
  ],
  agent: [
    line(() => ["run", "assistant", "--input", "When is high water?"]),
    line(() => ["run", "assistant", "--input", "When is high water?", "--jsonl", "-q"], { only: "piped" }),
    line(() => ["run", "parallel", "--input", "Speak"], { only: "terminal" }),
    line(() => ["run", "assistant", "--budget", "0.0001"]),
    line(({ assistant }) => ["show", assistant]),
    line(({ assistant }) => ["log", assistant, "--oneline"]),
    line(({ assistant }) => ["log", assistant, "-n", "5"], { only: "terminal" }),
    line(({ assistant }) => ["cost", assistant]),
    line(({ assistant }) => ["cost", assistant, "--by", "model"]),
    line(({ assistant }) => ["cost", assistant, "--by", "tool"]),
    line(({ assistant }) => ["cost", assistant, "--by", "agent", "--json"], { only: "piped" }),
    line(({ assistant }) => ["replay", assistant], { only: "terminal" }),
    line(({ assistant }) => ["rerun", assistant, "--set", "message=When is low water?"], { only: "terminal" }),
    line(() => ["chat", "--workflow", "careful"], { calling: { input: "Delete a.txt\nno\n" } }),
    line(() => ["run", "careful"]),
    line(() => ["run", "limited"]),
  ],
  fork: [line(({ forecast }) => ["fork", `${short(forecast)}@3`, "--label", "again"]), line(({ forecast }) => ["fork", `${forecast}@99`])],
  merge: [line(({ forecast, contest }) => ["merge", forecast, contest]), line(({ forecast }) => ["merge", forecast])],
  replay: [
    line(({ forecast }) => ["replay", forecast]),
    line(({ forecast }) => ["replay", forecast, "--workflow", "contest"]),
    line(({ hostile }) => ["replay", hostile]),
    line(({ forecast }) => ["replay", forecast, "--workflow", "nothing"]),
  ],
  rerun: [
    line(({ forecast }) => ["rerun", forecast, "--set", "message=How cold is it?"]),
    line(({ forecast }) => ["rerun", forecast, "--set", "5={}"]),
    line(({ forecast }) => ["rerun", forecast, "--set", "message"]),
  ],
  verify: [
    line(({ forecast }) => ["verify", forecast]),
    line(({ forecast }) => ["verify", forecast, "--json"], { only: "piped" }),
    line(({ forecast }) => ["verify", forecast, "--anchor", "nowhere.jsonl"]),
  ],
  cost: [
    line(({ forecast }) => ["cost", forecast]),
    line(({ contest }) => ["cost", contest, "--by", "agent"]),
    line(({ asks }) => ["cost", asks, "--by", "tool"]),
  ],
  run: [
    line(() => ["run", "forecast", "--input", "How warm is it now?"]),
    line(() => ["run", "forecast", "--json"], { only: "piped" }),
    line(() => ["run", "asks", "--input", "Release 1.3", "--quiet"]),
    line(() => ["run", "asks", "--input", "Release 1.4"]),
    line(() => ["run", "fails"]),
    line(() => ["run", "nothing"]),
    line(() => ["run", "forecast", "--timeout", "soon"]),
  ],
  resume: [
    line(({ run }) => ["resume", run]),
    line(({ question }) => ["approvals", "answer", question, "yes", "--by", "person:7"], { only: "piped" }),
    line(({ asks }) => ["resume", asks], { only: "terminal" }),
    line(({ forecast }) => ["resume", forecast]),
    line(() => ["resume", "ffff"]),
  ],
  approvals: [
    line(() => ["approvals"]),
    line(() => ["approvals", "ls", "--json"], { only: "piped" }),
    line(({ question }) => ["approvals", "approve", question]),
    line(({ question }) => ["approvals", "answer", question.slice(0, 8), "yes", "--by", "person:7"], { only: "terminal" }),
    line(({ question }) => ["approvals", "answer", question.slice(0, 8), "no"]),
    line(({ question }) => ["approvals", "answer", question.slice(0, 8), "no"], { only: "terminal" }),
    line(() => ["approvals", "ls"]),
  ],
  resolve: [line(({ question }) => ["resolve", question, "--again"]), line(() => ["resolve", "ffff", "--ok"])],
  diff: [
    line(({ notes, draft }) => ["diff", short(notes), draft]),
    line(({ notes, draft }) => ["diff", `${short(notes)}..${short(draft)}`, "--stat"]),
    line(({ notes, draft }) => ["diff", notes, draft, "--patch"]),
    line(({ notes }) => ["diff", `${notes}@4..${notes}`, "--json", "--patch"], { only: "piped" }),
    line(({ notes }) => ["diff", notes, notes]),
    line(({ notes, forecast }) => ["diff", forecast, notes]),
    line(({ notes }) => ["diff", notes]),
    line(({ notes }) => ["diff", short(notes), "--stat"], { only: "terminal" }),
    line(({ notes }) => ["diff", notes, "--patch", "--json"], { only: "piped" }),
    line(({ forecast }) => ["diff", forecast]),
    line(({ notes }) => ["diff", `${notes}..`]),
    line(({ notes }) => ["diff", notes, "ffff"]),
  ],
  blame: [
    line(({ notes }) => ["blame", short(notes), "notes.md"]),
    line(({ draft }) => ["blame", draft, "notes.md"]),
    line(({ notes }) => ["blame", `${notes}@4`, "notes.md", "--jsonl"], { only: "piped" }),
    line(({ notes }) => ["blame", notes, "nothing.md"]),
    line(({ notes }) => ["blame", notes, "data"]),
  ],
  apply: [
    line(({ notes }) => ["apply", notes, "new", "--dry-run"]),
    line(({ notes }) => ["apply", notes, "new", "--dry-run", "--patch", "--paths", "notes.md"]),
    line(({ notes }) => ["apply", notes, "new"]),
    line(({ notes }) => ["apply", notes, "new", "--paths", "data,./notes.md", "--yes"], { only: "terminal" }),
    line(({ notes }) => ["apply", notes, "new", "--yes", "--json"], { only: "piped" }),
    line(({ notes }) => ["apply", notes, "new"], { only: "terminal" }),
    line(({ draft }) => ["apply", draft, "new", "--yes"]),
    line(({ draft }) => ["apply", draft, "new", "--yes", "--json"], { only: "piped" }),
    line(({ notes }) => ["apply", notes, "new", "--paths", "note.md"]),
    line(({ notes }) => ["apply", notes]),
    line(({ notes }) => ["apply", notes, "nowhere"]),
    line(({ forecast }) => ["apply", forecast, "new"]),
  ],
  sandbox: [
    line(() => ["sandbox"]),
    line(({ notes }) => ["sandbox", "exec", notes, "--", "wc -l notes.md; echo done > done.txt"]),
    line(({ notes }) => ["sandbox", "exec", `${notes}@4`, "--", "cat", "no such file"]),
    line(({ forecast }) => ["sandbox", "exec", forecast, "--", "true"]),
    line(() => ["sandbox", "exec"]),
    line(() => ["sandbox", "rm"]),
    line(() => ["sandbox", "rm", "ffff"]),
    line(() => ["sandbox", "rm", "--orphans"]),
  ],
  gc: [
    line(() => ["gc", "--dry-run"]),
    line(() => ["gc", "--json"], { only: "piped" }),
    line(() => ["gc"], { only: "piped" }),
    line(() => ["gc"]),
    line(() => ["gc", "--older-than", "30d"]),
    line(() => ["gc", "--older-than", "5m"]),
    line(() => ["gc", "--older-than", "soon"]),
  ],
  export: [
    line(({ forecast }) => ["export", forecast, "-", "--format", "lineage-jsonl"], { only: "piped" }),
    line(({ forecast }) => ["export", forecast, "a.jsonl"], { only: "piped" }),
    line(({ forecast }) => ["export", forecast, "a.jsonl"]),
    line(({ forecast }) => ["export", forecast, "a.jsonl", "--yes"], { only: "terminal" }),
    line(({ forecast }) => ["export", forecast, "--format", "html"]),
  ],
  import: [line(() => ["import", "nowhere.jsonl"]), line(() => ["import", "a.jsonl"])],
  chat: [line(() => ["chat", "--workflow", "asks"], { calling: { input: "Release 1.5\nyes\n" } }), line(() => ["chat"])],
  mcp: [
    line(() => ["mcp", "test", process.execPath, "--", memoryServer]),
    line(() => ["mcp", "test", "no-such-command"]),
    line(() => ["mcp", "ls"]),
  ],
  help: [
    line(() => ["--help"], { only: "terminal" }),
    line(() => ["help", "run"], { only: "terminal" }),
    line(() => ["lss"]),
    line(() => ["approvals", "approve"]),
  ],
};

test.each(Object.entries(files))("openrath %s", async (name, lines) => {
  const blocks: string[] = [];
  for (const one of lines) {
    for (const way of ["terminal", "piped"] as const) {
      if (one.only !== undefined && one.only !== way) continue;
      // A line of its own on a terminal and piped: the second must not see what the first did.
      const world = one.only === undefined ? await makeWorld() : await shared(name);
      const argv = one.argv(world);
      const shown = await call(world.store, argv, { terminal: way === "terminal", cwd: folder, ...one.calling });
      const words = argv.map((word) => (/[\s"?]/.test(word) ? `'${word}'` : word)).join(" ");
      const said = way === "terminal" ? shown.both : `${shown.out}${shown.err === "" ? "" : `--- stderr\n${shown.err}`}`;
      blocks.push(anywhere(`$ openrath ${words}   # ${way}\n${said}--- exit ${shown.exit}\n`));
    }
  }
  const file = join(here, `${name}.txt`);
  const text = blocks.join("\n");
  if (process.env["UPDATE_GOLDEN"] !== undefined) await writeFile(file, text);
  expect(text).toBe(await readFile(file, "utf8"));
});

/** Without the names of this machine. */
function anywhere(text: string): string {
  return text.replaceAll(folder, "/folder").replaceAll(process.execPath, "node").replaceAll(memoryServer, "memory.js");
}

const worlds = new Map<string, Promise<World>>();
function shared(name: string): Promise<World> {
  const world = worlds.get(name) ?? makeWorld();
  worlds.set(name, world);
  return world;
}
