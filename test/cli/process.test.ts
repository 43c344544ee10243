/** The command line as a process: exit codes, streams, Ctrl+C, how fast it starts, and whose code it runs. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { transformSync } from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { declarations } from "../support/built.ts";
import { build, declare, node, openrath, project, version } from "./installed.ts";

const config = `
import { openrath, type Session, Workflow } from "openrath";
import { Slow } from "./slow.ts";
class Greet extends Workflow {
  async forward(session: Session) {
    return session.do("greet", () => "hello, " + session.messages.at(-1)?.text, { repeat: "safe" });
  }
}
class Asks extends Workflow {
  async forward(session: Session) {
    return session.ask("Really?");
  }
}
export const rath = openrath({ workflows: { greet: new Greet(), asks: new Asks(), slow: new Slow() } });
`;
const slow = `
import { type Session, Workflow } from "openrath";
export class Slow extends Workflow {
  forward(session: Session) {
    return session.do("sleep", () => new Promise((resolve) => { console.error("sleeping"); setTimeout(resolve, 20_000, "slept"); }), { repeat: "once" });
  }
}
`;

/** Starts sooner; what a configuration in TypeScript needs is tried further down. */
const javaScript = (text: string): string => transformSync(text, { loader: "ts" }).code;

let scratch = "";
let folder = "";
beforeAll(async () => {
  scratch = await build();
  await declarations(); // it may be the first to ask
  folder = await project(scratch, "project", ["tsx"], {
    "openrath.config.js": javaScript(config).replace("slow.ts", "slow.js"),
    "slow.js": javaScript(slow),
  });
}, 180_000);
afterAll(() => rm(scratch, { recursive: true, force: true }));

const own = (): string => join(folder, "node_modules/openrath");
const call = (...argv: readonly string[]) => openrath(own(), argv, { cwd: folder });

describe("the process", () => {
  test("prints its version at once", async () => {
    // Side by side with Node alone, since the machine may be busy: 150 ms where Node takes 40.
    const [times, bare]: [number[], number[]] = [[], []];
    for (let n = 0; n < 7; n++) {
      const { out, ms } = await call("--version");
      expect(out).toBe(`${version}\n`);
      times.push(ms);
      const began = performance.now();
      spawnSync(process.execPath, ["-e", "0"]);
      bare.push(performance.now() - began);
    }
    expect(Math.min(...times)).toBeLessThan(3.75 * Math.min(...bare));
  });

  test("gives data on stdout, the rest on stderr, and a code that says how it ended", async () => {
    const done = await call("run", "greet", "--input", "Ada");
    expect([done.code, done.out]).toEqual([0, "hello, Ada\n"]);
    expect(done.err).toMatch(/^run [0-9a-f-]+\ndone session .*\nnext: openrath log/);
    const waiting = await call("run", "asks");
    expect([waiting.code, waiting.out]).toEqual([8, ""]);
    expect(waiting.err).toContain("question");
    expect(await call("show", "ffff")).toMatchObject({ code: 3, out: "" });
    expect(await call("nonsense")).toMatchObject({ code: 2, out: "" });
    expect(await call("run", "greet", "--json", "--input", "Ada", "--quiet")).toMatchObject({ code: 0, err: "" });
  });

  test("Ctrl+C cancels the run once; it is on record as cancelled", async () => {
    let sent = false;
    const { code, err } = await openrath(own(), ["run", "slow", "--title", "to be cancelled"], {
      cwd: folder,
      watch: (written, send) => {
        if (sent || !written.includes("sleeping")) return;
        sent = true;
        send("SIGINT");
      },
    });
    expect(code).toBe(130);
    expect(err).toContain("cancelled");
    const { out } = await call("ls", "--json");
    const [newest] = JSON.parse(out) as readonly { readonly title: string; readonly id: string }[];
    expect(newest?.title).toBe("to be cancelled");
    expect((await call("show", newest?.id ?? "", "--json")).out).toContain('"status": "cancelled"');
  });

  test("a second Ctrl+C ends the process", async () => {
    let first = 0;
    const { code } = await openrath(own(), ["run", "slow"], {
      cwd: folder,
      watch: (written, send) => {
        if (first > 0 || !written.includes("sleeping")) return;
        first = performance.now();
        send("SIGINT");
        setTimeout(() => send("SIGINT"), 100);
      },
    });
    expect(code).toBe(130);
    // After one alone the effect is given a second.
    expect(performance.now() - first).toBeLessThan(900);
  });

  test("an effect that was under way at a crash waits for a person, and the run goes on with the answer", async () => {
    let killed = false;
    const dead = await openrath(own(), ["run", "slow", "--json"], {
      cwd: folder,
      watch: (written, send) => {
        if (killed || !written.includes("sleeping")) return;
        killed = true;
        send("SIGKILL");
      },
    });
    const [, run = ""] = /^run (\S+)/m.exec(dead.err) ?? [];
    expect(await call("resume", run)).toMatchObject({ code: 8, err: expect.stringContaining("openrath resolve") });
    const waiting = JSON.parse((await call("approvals", "--json")).out) as readonly { readonly id: string; readonly run: string }[];
    const pending = waiting.find((one) => one.run === run);
    expect(pending).toMatchObject({ kind: "unknown", op: "sleep" });
    expect(await call("resolve", pending?.id ?? "")).toMatchObject({ code: 2 });
    expect(await call("resolve", pending?.id ?? "", "--ok", '"it did"', "--reason", "looked")).toMatchObject({ code: 0 });
    expect(await call("resume", run, "--quiet")).toMatchObject({ code: 0, out: "it did\n", err: "" });
  });

  test("a time limit ends with 124", async () => {
    expect((await call("run", "slow", "--timeout", "100ms")).code).toBe(124);
  });

  test("finds the configuration and the store of the project from a folder inside it", async () => {
    const inside = join(folder, "node_modules", "openrath");
    const { out, code } = await openrath(own(), ["ls", "--jsonl"], { cwd: inside });
    expect(code).toBe(0);
    expect(out).toContain('"title":"to be cancelled"');
  });

  // Mutant: the variable is read only where no project file is found.
  test("takes the store of OPENRATH_STORE where the project file names none, from the folder of the call; import says which it was", async () => {
    const bundle = join(folder, "greeting.jsonl");
    const { session: id } = JSON.parse((await call("run", "greet", "--json")).out) as { readonly session: string };
    expect(await call("export", id, bundle)).toMatchObject({ code: 0 });
    const inside = join(folder, "inside");
    await mkdir(inside);
    const other = { cwd: inside, env: { OPENRATH_STORE: "other.db" } };
    const taken = await openrath(own(), ["import", bundle], other);
    expect(taken).toMatchObject({ code: 0, err: expect.stringContaining(`imported into ${join(inside, "other.db")}`) });
    expect(taken.err).not.toContain("warning");
    expect(JSON.parse((await openrath(own(), ["ls", "--json"], other)).out)).toMatchObject([{ id }]);
  });

  // Mutant: the variable is ignored in silence.
  test("says so where the project file names another store than OPENRATH_STORE, without a password", async () => {
    const named = (store: string): string => `import { openrath } from "openrath"; export const rath = openrath({ store: ${store} });`;
    await writeFile(join(folder, "named.config.js"), named('"named.db"'));
    await writeFile(join(folder, "same.config.js"), named('process.env.OPENRATH_STORE ?? "named.db"'));
    const ls = (config: string, store: string) =>
      openrath(own(), ["ls", "-q", "--config", config], { cwd: folder, env: { OPENRATH_STORE: store } });
    const { code, err } = await ls("named.config.js", "postgres://ada:hunter2@db.example/agents");
    expect(code).toBe(0);
    expect(err).toBe(
      `warning: the store is ${join(folder, "named.db")}, which ${join(folder, "named.config.js")} names; OPENRATH_STORE names PostgreSQL at db.example:5432/agents and is not used\n`,
    );
    expect(await ls("same.config.js", "same.db")).toMatchObject({ code: 0, err: "" });
    // Kept nowhere, so nothing lies about; and what is no address is no reason to fail where it is not used.
    expect(await ls("same.config.js", "memory")).toMatchObject({ code: 0, err: "" });
    expect(existsSync(join(folder, "memory"))).toBe(false);
    expect(await ls("named.config.js", "postgres://ada:pa/ss@db.example/agents")).toMatchObject({ code: 0 });
  });

  test("a reader that has seen enough is no error", async () => {
    const shell = `${process.execPath} ${join(own(), "dist/cli/main.js")} ls --json | head -1; exit \${PIPESTATUS[0]}`;
    const { code, err } = await node(
      [
        "-e",
        `process.exitCode = require("child_process").spawnSync("bash", ["-c", ${JSON.stringify(shell)}], { stdio: "inherit" }).status`,
      ],
      { cwd: folder },
    );
    expect({ code, err }).toEqual({ code: 0, err: "" });
  });
});

describe("whose code runs", () => {
  test("a copy installed elsewhere hands over to the project's", async () => {
    const elsewhere = join(scratch, "elsewhere");
    await cp(join(scratch, "built"), elsewhere, { recursive: true });
    await writeFile(
      join(elsewhere, "package.json"),
      JSON.stringify({ name: "openrath", version: "9.9.9", type: "module", bin: { openrath: "./dist/cli/main.js" } }),
    );
    expect((await openrath(elsewhere, ["--version"], { cwd: scratch })).out).toBe("9.9.9\n");
    expect((await openrath(elsewhere, ["--version"], { cwd: folder })).out).toBe(`${version}\n`);
    expect(await openrath(elsewhere, ["run", "greet", "--input", "Eve", "-q"], { cwd: folder })).toMatchObject({
      code: 0,
      out: "hello, Eve\n",
      err: "",
    });
  });

  test("a file brings its workflow where no configuration is; several need a name", async () => {
    const bare = await project(scratch, "bare", ["tsx"], {
      "one.ts": config
        .replace(/import \{ Slow \}.*\n/, "")
        .replace("class Greet", "export class Greet")
        .replace(/export const rath[^\n]*/, ""),
      "two.ts": slow.replace(
        "export class Slow",
        "export class Fast extends Workflow { async forward(session: Session) { return session.do('go', () => 1); } }\nexport class Slow",
      ),
    });
    const at = { cwd: bare };
    const mine = join(bare, "node_modules/openrath");
    expect(await openrath(mine, ["ls"], at)).toMatchObject({ code: 3 });
    expect(existsSync(join(bare, ".openrath"))).toBe(false);
    expect(await openrath(mine, ["run", "one.ts", "-i", "Bob", "-q"], at)).toMatchObject({ code: 0, out: "hello, Bob\n", err: "" });
    const several = await openrath(mine, ["run", "./two.ts"], at);
    expect(several.code).toBe(2);
    expect(several.err).toContain("Fast, Slow");
    expect(await openrath(mine, ["run", "two.ts#Fast", "-q"], at)).toMatchObject({ code: 0, out: "1\n" });
    expect((await openrath(mine, ["run", "two.ts#Nothing"], at)).code).toBe(2);
    expect((await openrath(mine, ["run", "three.ts"], at)).code).toBe(3);
    expect((await openrath(mine, ["run", "one.ts", "-i", "@nothing.txt"], at)).code).toBe(3);
  });

  const takesTypes = Boolean((process.features as { readonly typescript?: unknown }).typescript);
  test.skipIf(takesTypes)("without tsx a Node that does not read TypeScript says what to install", async () => {
    const without = await project(scratch, "without", [], { "openrath.config.ts": "export const rath = 1;" });
    const { code, err } = await openrath(join(without, "node_modules/openrath"), ["ls"], { cwd: without });
    expect(code).toBe(1);
    expect(err).toContain("npm install --save-dev tsx");
  });

  test.skipIf(takesTypes)("a project that is no ES module is told how to become one", async () => {
    const old = await project(scratch, "old", ["tsx"], { "package.json": "{}", "openrath.config.ts": config, "slow.ts": slow });
    const { code, err } = await openrath(join(old, "node_modules/openrath"), ["ls"], { cwd: old });
    expect(code).toBe(5);
    expect(err).toContain("npm pkg set type=module");
  });

  test("a configuration that exports no rath, and one that throws, are named", async () => {
    const wrong = await project(scratch, "wrong", [], {
      "openrath.config.js": "export const wrath = 1;",
      "throws.js": "throw new Error('my own mistake');",
      "torn.js": "export const rath = (",
      "lost.js": "import './gone.js';",
    });
    const mine = join(wrong, "node_modules/openrath");
    expect(await openrath(mine, ["ls"], { cwd: wrong })).toMatchObject({ code: 5, err: expect.stringContaining("exports no rath") });
    const thrown = await openrath(mine, ["ls", "--config=throws.js"], { cwd: wrong });
    expect([thrown.code, thrown.err]).toEqual([1, expect.stringContaining("my own mistake")]);
    for (const [file, said] of [
      ["torn.js", /torn\.js cannot be imported.*\nnext: node --check .*torn\.js\n$/],
      ["lost.js", /lost\.js cannot be imported: Cannot find module .*gone\.js.*\nnext: npm install, or mend the import\n$/],
    ] as const)
      expect(await openrath(mine, ["ls", "--config", file], { cwd: wrong })).toMatchObject({ code: 5, err: expect.stringMatching(said) });
    expect(await openrath(mine, ["ls", "--config", "nowhere.ts"], { cwd: wrong })).toMatchObject({ code: 3 });
  });

  const nodes = fileURLToPath(new URL("../nodes/node_modules/", import.meta.url));
  const newer = join(nodes, "node-24/bin/node");
  test.skipIf(!existsSync(newer))("a newer Node reads TypeScript by itself", async () => {
    const typed = await project(scratch, "typed", [], { "openrath.config.ts": config, "slow.ts": slow });
    const { code, out, err } = await openrath(join(typed, "node_modules/openrath"), ["run", "greet", "-i", "Ada", "-q"], {
      cwd: typed,
      node: newer,
    });
    expect({ code, out, err }).toEqual({ code: 0, out: "hello, Ada\n", err: "" });
  });

  // Mutant: it is sent to tsc, which finds nothing wrong.
  const older = join(nodes, "node-22/bin/node");
  test.skipIf(!existsSync(older))('where Node does not know "await using" yet, what helps is said, and helps', async () => {
    const disposes = `import { openrath } from "openrath";
{ await using done: AsyncDisposable = { async [Symbol.asyncDispose]() {} }; void done; }
export const rath = openrath();
`;
    const typed = await project(scratch, "using", ["tsx"], { "openrath.config.ts": disposes, "torn.ts": "export const rath = = 1;" });
    const ls = (config: string, env = {}) =>
      openrath(join(typed, "node_modules/openrath"), ["ls", "--config", config], { cwd: typed, node: older, env });
    const refused = await ls("openrath.config.ts");
    expect(refused.code).toBe(5);
    expect(refused.err).toMatch(/does not know "using" and "await using"\.\nnext: if the program has them: npm install --save-dev tsx, /);
    expect(await ls("openrath.config.ts", { NODE_OPTIONS: "--import tsx" })).toMatchObject({ code: 0 });
    expect((await ls("torn.ts")).err).toMatch(/next: npx tsc --noEmit\n$/);
  });
});

describe("init", () => {
  test("makes a project that passes its test and runs offline", async () => {
    const made = join(scratch, "made");
    const { code, err } = await openrath(join(scratch, "built"), ["init", "made"], { cwd: scratch });
    expect(code, err).toBe(0);
    const modules = await project(scratch, "modules", ["tsx", "typescript", "@types/node"], {});
    await declare(modules);
    await symlink(join(modules, "node_modules"), join(made, "node_modules"));
    // Keys alone change nothing: who has one in the shell has no provider's package yet.
    const env = { ANTHROPIC_API_KEY: "x", OPENAI_API_KEY: "x" };
    const mine = join(made, "node_modules/openrath");
    expect(await node([join(made, "node_modules/typescript/bin/tsc"), "-p", made], { cwd: made })).toMatchObject({ code: 0, out: "" });
    const tested = await node(["--import", "tsx", "--test", "test/assistant.test.ts"], { cwd: made, env });
    expect(tested.code, tested.out).toBe(0);
    const ran = await openrath(mine, ["run", "assistant", "--input", "How many words are in: to be or not to be", "-q"], {
      cwd: made,
      env,
    });
    expect(ran).toMatchObject({ code: 0, out: "There are 6 words.\n", err: "" });
    expect((await openrath(join(scratch, "built"), ["init", "made"], { cwd: scratch })).code).toBe(2);
  }, 60_000);
});
