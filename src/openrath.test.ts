import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { freshDatabase } from "../test/support/postgres.ts";
import { Agent } from "./agent/agent.ts";
import { scripted } from "./model/scripted.ts";
import { openrath } from "./openrath.ts";
import { tool } from "./tool/tool.ts";

let folder = "";
const before = process.env["OPENRATH_HOME"];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "openrath-home-"));
  process.env["OPENRATH_HOME"] = join(folder, "home");
});
afterEach(() => {
  if (before === undefined) delete process.env["OPENRATH_HOME"];
  else process.env["OPENRATH_HOME"] = before;
  rmSync(folder, { recursive: true, force: true });
});

const mode = (path: string): number => statSync(path).mode & 0o777;

const prices = (price: unknown) => ({ prices: { "acme/big": price } });

describe("openrath()", () => {
  test("touches nothing before the first effect, then makes a private home that repositories ignore", async () => {
    const home = join(folder, "home");
    await using rath = openrath();
    const session = rath.session("hello").say("more").fork("a");
    expect(existsSync(home)).toBe(false);
    await session.do("x", () => 1);
    expect(mode(home)).toBe(0o700);
    expect(mode(join(home, "store.db"))).toBe(0o600);
    expect(readFileSync(join(home, ".gitignore"), "utf8")).toBe("*\n");
  });

  test("a folder that was there stays as it is: it may be a volume, or a project", async () => {
    const home = join(folder, "home");
    mkdirSync(home, { mode: 0o755 });
    await using rath = openrath();
    await rath.session().do("x", () => 1);
    expect(mode(home)).toBe(0o755);
    expect(mode(join(home, "store.db"))).toBe(0o600);
    expect(existsSync(join(home, ".gitignore"))).toBe(false);
  });

  test("makes its signing key at first use, readable by its owner alone, and uses it again", async () => {
    const key = join(folder, "home", "signing-key.pem");
    for (let time = 0; time < 2; time++) {
      await using rath = openrath();
      await rath.session().do("x", () => 1);
    }
    expect(mode(key)).toBe(0o600);
    const made = readFileSync(key, "utf8");
    await (async () => {
      await using rath = openrath();
      await rath.session().do("x", () => 1);
    })();
    expect(readFileSync(key, "utf8")).toBe(made);
  });

  test("keeps sessions in PostgreSQL, and its key and files under the home of this machine", async () => {
    await using database = await freshDatabase();
    let id = "";
    for (const store of [database.url, database.url.replace("postgres://", "postgresql://")]) {
      await using rath = openrath({ store, project: "p" });
      if (id === "") id = (await rath.session("Hello").do("greet", () => "hi")).id;
      else expect((await rath.open(id)).output).toBe("hi");
    }
    expect(readdirSync(process.env["OPENRATH_HOME"] as string)).toContain("signing-key.pem");
    await using elsewhere = openrath({ store: database.url });
    await expect(elsewhere.open(id)).rejects.toMatchObject({ code: "session.not-found" });
  });

  test("says what is wrong with a store it cannot open", async () => {
    await using other = openrath({ store: "redis://localhost/x" });
    await expect(other.ready()).rejects.toMatchObject({ code: "store.unavailable", message: expect.stringContaining("redis://") });
    // Mutant: it is taken for a path, and a folder called "sqlite:" is made.
    for (const address of ["sqlite:", "file:", "sqlite://"]) {
      await using named = openrath({ store: `${address}${join(folder, "named.db")}` });
      const message = `There is no store for "${address}…": give the path of a file itself, "postgres://…" or "memory".`;
      await expect(named.ready()).rejects.toMatchObject({ code: "store.unavailable", message });
      expect(existsSync(address)).toBe(false);
    }
    await using there = openrath({ store: folder });
    await expect(there.ready()).rejects.toMatchObject({ code: "store.unavailable", message: expect.stringContaining("is a folder") });
    expect(() => openrath({ durability: "fast" as "sync" })).toThrow(/durability is "fast"/);
    const note = join(folder, "note");
    writeFileSync(note, "");
    await using below = openrath({ store: join(note, "deep", "store.db") });
    await expect(below.ready()).rejects.toMatchObject({
      code: "store.unavailable",
      message: `${join(note, "deep", "store.db")} cannot be made: not a directory. Name a store in a folder that can be written.`,
    });
    process.env["OPENRATH_HOME"] = note;
    await using homeless = openrath();
    await expect(homeless.ready()).rejects.toMatchObject({
      code: "store.unavailable",
      message: `The home folder ${note} cannot be used: file already exists. Set OPENRATH_HOME to a folder that can be written.`,
    });
    await using file = openrath({ store: join(folder, "home", "\0") });
    await expect(file.ready()).rejects.toThrow();
  });

  test("a closed Rath refuses verbs and closes once", async () => {
    const rath = openrath({ store: "memory" });
    const session = await rath.session().do("x", () => 1);
    await rath.close();
    await rath.close();
    await expect(session.do("y", () => 2)).rejects.toMatchObject({ code: "rath.closed" });
    expect(session.output).toBe(1);
  });

  test.each<readonly [string, object, RegExp]>([
    ["a number as store", { store: 5 }, /^store is 5: give a path/],
    ["an empty store", { store: "" }, /^store is empty: give a path/],
    ["what is no store", { store: {} }, /^store is an object: give a path/],
    ["a list of workflows", { workflows: [{ forward: () => {} }] }, /^workflows is an array: give an object with a name for each/],
    ["a list of models", { models: ["openai/gpt-5"] }, /^models is an array/],
    // Mutant: what is no model is kept, and the first call of it fails inside.
    ["a number as model", { models: { fast: 5 } }, /^models\["fast"\] is 5: give "provider\/model", an AI SDK model or a Model\.$/],
    ["a model that is not set", { models: { "openai/*": undefined } }, /^models\["openai\/\*"\] is undefined: give/],
    ["a provider as model", { models: { fast: () => ({}) } }, /^models\["fast"\] is a function: a provider was given, call it with/],
    [
      "a price with a misspelt rate",
      prices({ inptu: 1, output: 10 }),
      /^prices\["acme\/big"\]\.inptu is not known: use one of input, output,/,
    ],
    ["half a price", prices({ input: 1 }), /^prices\["acme\/big"\]\.output is undefined: give US dollars for a million tokens/],
    ["a number as price", prices(5), /^prices\["acme\/big"\] is 5: give \{ input, output, cached\?, cacheWrite\? \}/],
    ["no price", prices(null), /^prices\["acme\/big"\] is null/],
    ["a price that is text", prices({ input: "1", output: 10 }), /^prices\["acme\/big"\]\.input is "1"/],
    ["a price below nothing", prices({ input: 1, output: -10 }), /^prices\["acme\/big"\]\.output is -10/],
    ["a price that is no number", prices({ input: 1, output: 10, cached: Number.NaN }), /^prices\["acme\/big"\]\.cached is NaN/],
    ["a price without end", prices({ input: 1, output: 10, cacheWrite: Number.POSITIVE_INFINITY }), /^prices.*\.cacheWrite is Infinity/],
    ["one secret for a list", { secrets: "correct horse" }, /^secrets is no list of strings/],
    ["a secret that is not set", { secrets: [undefined] }, /^secrets is no list of strings/],
  ])("%s is refused at once", (_, options, message) => {
    expect(() => openrath(options)).toThrow(
      expect.objectContaining({ code: "value.unsupported", message: expect.stringMatching(message) }),
    );
  });

  test("a script costs what prices say of it by its id, so that a limit in dollars can be tried; by no other name", async () => {
    const model = scripted(() => ({ calls: [{ tool: "look", input: {} }], usage: { input: 100_000, output: 1000 } }));
    const look = tool({ name: "look", description: "Looks.", input: z.object({}), writes: "nothing", run: () => "nothing new" });
    const spends = async (prices: Readonly<Record<string, { input: number; output: number }>>) => {
      await using rath = openrath({ store: "memory", models: { "openai/*": model }, prices });
      const agent = new Agent({ model: "openai/gpt-5.5", tools: [look], limits: { usd: 0.5, rounds: 8 } });
      const { stop, usage } = await agent.forward(rath.session("go"));
      return [stop, usage.usd];
    };
    expect(await spends({ scripted: { input: 1, output: 10 } })).toEqual(["budget", expect.closeTo(0.44, 9)]);
    expect(await spends({ "openai/gpt-5.5": { input: 1, output: 10 } })).toEqual(["rounds", 0]);
  });

  test("open says that it was given no id", async () => {
    await using rath = openrath({ store: "memory" });
    await expect(rath.open(undefined as never)).rejects.toMatchObject({
      code: "value.unsupported",
      message: "id is undefined: give a string.",
    });
  });

  test("a backend that is none is refused by name", () => {
    expect(() => openrath({ sandboxes: { mine: { kin: "mine" } as never } })).toThrow(
      /^sandboxes\.mine is no backend: give an object with kind/,
    );
  });

  test("relaxed durability still makes a once effect's call durable before it starts", async () => {
    const path = join(folder, "relaxed.db");
    await using rath = openrath({ store: path, durability: "relaxed" });
    let seen: string[] = [];
    const session = rath.session("go");
    await session.do("pay", async () => {
      await using other = openrath({ store: path });
      seen = [...(await other.open(session.id)).events()].map((event) => event.kind);
      return 1;
    });
    expect(seen).toEqual(["session.created", "message.added", "do.called"]);
  });
});
