/** Secrets in files of a workspace reach no store: neither from the user's directory nor from what tools and commands write. */
import { mkdir, mkdtemp, readFile as readHostFile, rm, writeFile as writeHostFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openrath } from "../../src/openrath.ts";
import type { CommandResult, Session } from "../../src/session/session.ts";
import { sqliteStore } from "../../src/store/sqlite.ts";
import { readFile, shell, writeFile } from "../../src/tool/builtin/tools.ts";
import { tool } from "../../src/tool/tool.ts";
import { emptyTree, Trees } from "../../src/workspace/tree.ts";
import { whyNoLocal } from "../support/leftovers.ts";

const noLocal = await whyNoLocal();
const secret = "correct-horse-battery-staple-4711";
const aws = ["AKIA", "IOSFODNN7", "ABCDEFG"].join("");
let folder: string;
let repo: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "rath-secrets-"));
  repo = join(folder, "repo");
  await mkdir(join(repo, "conf"), { recursive: true });
  await writeHostFile(join(repo, "conf/declared.env"), `TOKEN=${secret}\n`);
  await writeHostFile(join(repo, "conf/aws.txt"), `aws_access_key_id = ${aws}\n`);
  await writeHostFile(join(repo, "open.txt"), "nothing to hide\n");
  process.env["RATH_TEST_TOKEN"] = secret;
});
afterAll(async () => {
  delete process.env["RATH_TEST_TOKEN"];
  await rm(folder, { recursive: true, force: true });
});

/** Everything that the trees of a session name, as the store gives it, and the raw bytes of the store's files. */
async function stored(file: string, trees: readonly string[]): Promise<string> {
  const texts: string[] = [];
  await using store = sqliteStore(file);
  const objects = {
    get: async (name: string) => {
      const bytes = await store.blob(name);
      if (bytes === undefined) throw new Error(`${name} is missing`);
      texts.push(Buffer.from(bytes).toString("latin1"));
      return bytes;
    },
    put: () => Promise.reject(new Error("only read")),
  };
  const all = new Trees(objects);
  const walk = async (tree: string): Promise<void> => {
    if (tree === emptyTree) return;
    for (const entry of (await all.directory(tree)).values()) {
      if (entry.type === "directory") await walk(entry.hash);
      if (entry.type === "file") await objects.get(entry.hash);
    }
  };
  for (const tree of trees) await walk(tree);
  for await (const { id } of store.sessions({}))
    for await (const { data } of store.events({ session: id })) texts.push(Buffer.from(data ?? []).toString("latin1"));
  for (const end of ["", "-wal"]) texts.push(await readHostFile(`${file}${end}`, "latin1").catch(() => ""));
  return texts.join("\n");
}

async function listed(session: Session): Promise<readonly string[]> {
  const paths: string[] = [];
  for await (const path of session.files.list()) paths.push(path);
  return paths;
}

const placements = noLocal === undefined ? (["local", "memory", "host"] as const) : (["memory", "host"] as const);

describe.each(placements)("on %s", (placement) => {
  test("files of the directory that hold a secret are in no tree, sandbox or blob, and a warning names them", async () => {
    const file = join(folder, `captured-${placement}.db`);
    const warnings: string[] = [];
    const warned = (warning: Error): void => void warnings.push(warning.message);
    process.on("warning", warned);
    const rath = openrath({ store: file, secrets: [secret] });
    const done = await rath.session("go").to(placement, { workspace: repo }).call(shell, { command: "ls -A . conf; cat conf/* open.txt" });
    const output = done.output as CommandResult;
    expect(output.stdout).not.toContain("declared.env");
    expect(output.stdout).not.toContain("aws.txt");
    expect(output.stdout).toContain("nothing to hide");
    // Their names are known, so that nobody takes them for deleted; their contents are not.
    expect(await listed(done)).toEqual(["conf/aws.txt", "conf/declared.env", "open.txt"]);
    await expect(done.files.read("conf/aws.txt")).rejects.toThrow(/not kept: it holds a secret/);
    await expect(done.call(readFile, { path: "conf/aws.txt" })).rejects.toThrow(/not kept: it holds a secret/);
    await rath.close();
    await new Promise((resolve) => setImmediate(resolve));
    process.off("warning", warned);
    expect(warnings.join("\n")).toMatch(/conf\/aws\.txt.*conf\/declared\.env/);
    const text = await stored(file, [done.files.hash]);
    expect(text).toContain("nothing to hide");
    for (const hidden of [secret, aws]) expect(text).not.toContain(hidden);
  });

  test("what tools and commands write of a secret is not kept", async () => {
    const file = join(folder, `written-${placement}.db`);
    const rath = openrath({ store: file, secrets: [secret] });
    const leaks = tool({
      name: "leaks",
      description: "Writes what it knows.",
      input: { type: "object" },
      writes: "files",
      run: async (_, { sandbox }) => sandbox.write("by-tool", `TOKEN=${process.env["RATH_TEST_TOKEN"]}`),
    });
    const base = await rath
      .session("go")
      .to(placement, { env: { RATH_TEST_TOKEN: true } })
      .call(writeFile, { path: "open.txt", content: "visible words" });
    const command = `mkdir d; echo "TOKEN=$RATH_TEST_TOKEN" > d/by-command; echo "$RATH_TEST_TOKEN"; echo fine > d/fine`;
    const ran = await base.call(shell, { command });
    expect((ran.output as CommandResult).stdout).not.toContain(secret);
    const after = await ran.call(leaks, {}).catch((error: { readonly session: Session }) => error.session);
    const last = await after.call(shell, { command: "cat d/fine" });
    expect((last.output as CommandResult).stdout).toBe("fine\n");
    expect(after.calls.at(-1)).toMatchObject({ tool: "leaks", changes: [], outcome: { type: "denied" } });
    expect(await listed(last)).toEqual(["d/by-command", "d/fine", "open.txt"]);
    await expect(last.files.read("d/by-command")).rejects.toThrow(/not kept: it holds a secret/);
    await rath.close();
    const text = await stored(
      file,
      [ran, after, last].map(({ files }) => files.hash),
    );
    expect(text).toContain("visible words");
    expect(text).not.toContain(secret);
  });
});
