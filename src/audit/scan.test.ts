import { hash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { Agent } from "../agent/agent.ts";
import { volatileMemory } from "../memory/volatile.ts";
import { scripted } from "../model/scripted.ts";
import { openrath } from "../openrath.ts";
import { memoryStore } from "../store/memory.ts";
import { sqliteStore } from "../store/sqlite.ts";
import type { Store } from "../store/store.ts";
import { type EventDraft, storedChain, storedEvent } from "../testing/stored-event.ts";
import { testRath } from "../testing/test-rath.ts";
import { tool } from "../tool/tool.ts";
import { ObjectMap } from "../workspace/objects.ts";
import { emptyTree, Trees } from "../workspace/tree.ts";
import { type ScanReport, scan } from "./scan.ts";

const secret = "correct-horse-battery";
const token = `ghp_${"A1b2".repeat(9)}`;
const session = "00000001-0000-7000-8000-000000000000";

const about = { log: "session" } as const;
async function put(store: Store, draft: Partial<EventDraft>, blobs: readonly Uint8Array[] = []): Promise<void> {
  const events = storedChain([{ step: 1, ...draft }], session);
  const named = blobs.map((bytes) => ({ hash: hash("sha256", bytes), bytes }));
  expect(await store.append({ branches: [{ session, expectedHead: undefined, events, about }], blobs: named })).toEqual({ ok: true });
}
const blobMark = (bytes: Uint8Array, type: string) => ({ $: "blob", bytes: bytes.length, hash: hash("sha256", bytes), type });

async function withFile(store: Store, path: string, content: Uint8Array): Promise<void> {
  const objects = new ObjectMap();
  const file = { type: "file", mode: 0o644, size: content.length, hash: await objects.put(content) } as const;
  const tree = await new Trees(objects).with(emptyTree, path, file);
  await put(store, { kind: "workspace.captured", data: JSON.stringify({ directory: "", tree: { $: "tree", hash: tree } }) }, [
    ...objects.map.values(),
  ]);
}

/** Each puts a secret into a store by going round the redaction, and says where it must be found. */
const places: Readonly<Record<string, readonly [(store: Store) => Promise<void>, { readonly in: string; readonly where: string }]>> = {
  "a message": [
    (store) =>
      put(store, { kind: "message.added", data: JSON.stringify({ role: "user", parts: [{ type: "text", text: `say\n${secret}` }] }) }),
    { in: "event", where: "data.parts[0].text" },
  ],
  "the name of a field": [
    (store) => put(store, { kind: "do.returned", data: JSON.stringify({ value: { [secret]: 1 } }) }),
    { in: "event", where: "a name in data.value" },
  ],
  "who did it": [(store) => put(store, { by: `agent ${secret}` }), { in: "event", where: "envelope.by" }],
  "a fact": [(store) => put(store, { facts: { note: secret } }), { in: "event", where: "envelope.facts.note" }],
  "data that is no JSON": [(store) => put(store, { data: `{ "text": "${secret}` }), { in: "event", where: "data" }],
  "a text with half a character": [
    (store) => {
      const units = [...`\ud800${secret}`].map((one) => one.charCodeAt(0).toString(16).padStart(4, "0")).join("");
      return put(store, { data: JSON.stringify({ text: { $: "utf16", units } }) });
    },
    { in: "event", where: "data.text" },
  ],
  "a long text": [
    (store) => {
      const bytes = Buffer.from(`${"long ".repeat(1000)}${secret}`);
      return put(store, { data: JSON.stringify({ text: blobMark(bytes, "text") }) }, [bytes]);
    },
    { in: "blob", where: "data.text" },
  ],
  "a blob that no event names": [
    async (store) => {
      const bytes = Buffer.from(`nobody names ${secret}`);
      await store.append({ branches: [], blobs: [{ hash: hash("sha256", bytes), bytes }] });
    },
    { in: "blob", where: "named by no event here" },
  ],
  "a file": [(store) => withFile(store, "src/config.env", Buffer.from(`KEY=${secret}\n`)), { in: "file", where: "src/config.env" }],
  "a binary file": [
    (store) => withFile(store, "core.dump", Buffer.concat([Buffer.from([0, 255, 254, 0xc3]), Buffer.from(secret), Buffer.from([0])])),
    { in: "file", where: "core.dump" },
  ],
  "a file in UTF-16": [(store) => withFile(store, "windows.txt", Buffer.from(secret, "utf16le")), { in: "file", where: "windows.txt" }],
  "a file over the edge of a piece": [
    (store) => withFile(store, "large.bin", Buffer.from(`${"x".repeat((1 << 20) - 10)}${secret}`)),
    { in: "file", where: "large.bin" },
  ],
  "the name of a file": [(store) => withFile(store, `keys/${secret}.txt`, Buffer.from("nothing")), { in: "directory", where: "keys" }],
  "the title of a log": [
    async (store) => {
      const events = [storedEvent({ session, step: 1 })];
      await store.append({ branches: [{ session, expectedHead: undefined, events, about: { ...about, title: `about ${secret}` } }] });
    },
    { in: "log", where: "title" },
  ],
  "a tag": [
    async (store) => {
      const events = [storedEvent({ session, step: 1 })];
      await store.append({ branches: [{ session, expectedHead: undefined, events, about: { ...about, tags: ["ok", secret] } }] });
    },
    { in: "log", where: "tags[1]" },
  ],
  "a principal": [
    async (store) => {
      const events = [storedEvent({ session, step: 1 })];
      await store.append({ branches: [{ session, expectedHead: undefined, events, about: { ...about, principal: secret } }] });
    },
    { in: "log", where: "principal" },
  ],
  "an answer": [
    async (store) => {
      const data = JSON.stringify({ question: "0".repeat(64), answer: secret });
      const events = [storedEvent({ session, step: 1, kind: "answer.given", data })];
      await store.append({ branches: [{ session, expectedHead: undefined, events, about: { log: "answer" } }] });
    },
    { in: "event", where: "data.answer" },
  ],
  "a signal": [
    async (store) => {
      const data = JSON.stringify({ run: "r", signal: "paid", data: { card: secret } });
      const events = [storedEvent({ session, step: 1, kind: "signal.sent", data })];
      await store.append({ branches: [{ session, expectedHead: undefined, events, about: { log: "answer" } }] });
    },
    { in: "event", where: "data.data.card" },
  ],
  "the log of a run": [
    async (store) => {
      const events = [storedEvent({ session, step: 1, kind: "run.ended", data: JSON.stringify({ status: "failed", message: secret }) })];
      await store.append({ branches: [{ session, expectedHead: undefined, events, about: { log: "run" } }] });
    },
    { in: "event", where: "data.message" },
  ],
  "the key of a run": [
    async (store) => {
      const run = { id: session, key: `job ${secret}`, session, workflow: "w", status: "done", wakeAt: undefined };
      await store.append({ branches: [], run });
    },
    { in: "run", where: "key" },
  ],
};

function neverTells(report: ScanReport): void {
  const text = JSON.stringify(report);
  for (const one of [secret, token, Buffer.from(secret).toString("base64").slice(2, -2), Buffer.from(secret).toString("hex")])
    expect(text).not.toContain(one);
}

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "openrath-scan-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe("a secret is found in", () => {
  test.each(Object.entries(places))("%s", async (name, [plant, expected]) => {
    // The same on a store that is not in memory for one of them.
    const store = name === "a file" ? sqliteStore(join(folder, "scanned.db")) : memoryStore();
    await plant(store);
    await using rath = openrath({ store, secrets: [secret] });
    const report = await scan(rath);
    expect(report.clean).toBe(false);
    expect(report.findings).toMatchObject([{ ...expected, secret: `declared secret of ${secret.length} characters` }]);
    neverTells(report);
  });

  test("a memory, whatever its version, also in its name", async () => {
    const memory = volatileMemory();
    const item = {
      scope: "project",
      origin: "human",
      trust: "trusted",
      because: [],
      from: [],
      by: "ada",
      at: "2026-01-01T00:00:00.000Z",
    } as const;
    const write = (uri: string, content: string, version: number, based: number) =>
      memory.write([
        {
          item: { ...item, uri, key: uri.slice(17), content, version, event: `${uri}${version}`, session: undefined, state: "published" },
          based,
        } as never,
      ]);
    await write("memory://project/password", secret, 1, 0);
    await write("memory://project/password", "changed", 2, 1);
    await write(`memory://project/${secret}`, "harmless", 1, 0);
    await using rath = openrath({ store: memoryStore(), memory, secrets: [secret] });
    const report = await scan(rath);
    expect(report.looked.memories).toBeGreaterThanOrEqual(2);
    expect(
      report.findings.some((found) => found.in === "memory" && found.id === "memory://project/password@1" && found.where === "content"),
    ).toBe(true);
    expect(report.findings.some((found) => found.id.startsWith("memory://project/[secret]"))).toBe(true);
    neverTells(report);
  });

  test.each([
    ["in JSON", JSON.stringify({ a: 'quo"ted\\secret' }), 'quo"ted\\secret'],
    ["in a URL", encodeURIComponent("p@ss w/rd"), "p@ss w/rd"],
    ["in base64", Buffer.from(secret).toString("base64"), secret],
    ["in base64", Buffer.from(`user:${secret}!`).toString("base64"), secret],
    ["in base64", Buffer.from(`u:${secret}`).toString("base64url"), secret],
    ["in hex", Buffer.from(secret).toString("hex"), secret],
    ["in hex", Buffer.from(secret).toString("hex").toUpperCase(), secret],
  ])("another form: %s", async (form, text, declared) => {
    const store = memoryStore();
    await put(store, { data: JSON.stringify({ text: `before ${text} after` }) });
    await using rath = openrath({ store });
    expect((await scan(rath)).clean).toBe(true);
    expect((await scan(rath, { secrets: [declared] })).findings).toMatchObject([
      { secret: `declared secret of ${declared.length} characters ${form}` },
    ]);
  });

  test("the shape of a key, without being declared", async () => {
    const store = memoryStore();
    await put(store, { data: JSON.stringify({ text: `use\n${token} and ${token}` }) });
    await using rath = openrath({ store });
    const report = await scan(rath, { secrets: ["something else"] });
    expect(report.findings).toMatchObject([{ secret: "GitHub token", masked: "ghp_… (40 characters)", session, step: 1 }]);
    neverTells(report);
  });
});

describe("a store is clean", () => {
  test("after runs whose tools, models and people tried to leak secrets", async () => {
    const store = memoryStore();
    const forms = [secret, encodeURIComponent(secret), JSON.stringify(secret), Buffer.from(secret).toString("hex"), token].join(" ");
    const encoded = Buffer.from(`user:${secret}`).toString("base64");
    const leak = tool({
      name: "leak",
      description: "Leaks.",
      input: z.object({ text: z.string() }),
      writes: "files",
      run: async ({ text }, { sandbox }) => {
        await sandbox.write(`out/${text.length}.txt`, forms);
        return { [secret]: forms, encoded, long: `${"x".repeat(5000)}${secret}`, half: `\ud800${secret}` };
      },
    });
    await using rath = testRath({ store, secrets: [secret], implicitForks: "allow" });
    const model = scripted({ text: `I know ${secret}`, calls: [{ tool: "leak", input: { text: forms } }] }, `Done: ${encoded}`);
    const agent = new Agent({ name: "leaky", model, instructions: `The password is ${secret}.`, tools: [leak] });
    const made = rath.session(`use ${secret}`, { title: `about ${secret}`, tags: [secret], principal: `ada ${secret}` });
    const run = await rath.run(agent, made.to("memory"), { key: `job ${secret}` }).catch(() => undefined);
    const settled = (await run?.settle())?.session ?? (await agent.forward(made.to("memory")));
    await settled
      .note(forms)
      .do("more", () => Promise.reject(new Error(`failed with ${forms}`)))
      .catch(() => {});
    const report = await scan(rath);
    expect(report.findings).toEqual([]);
    expect(report.unreadable).toEqual([]);
    expect(report.clean).toBe(true);
    expect(report.looked.events).toBeGreaterThan(10);
    expect(report.looked.blobs).toBeGreaterThan(0);
  });

  test("only when all of it could be read", async () => {
    const store = memoryStore();
    await put(store, { data: JSON.stringify({ text: blobMark(Buffer.from("gone"), "text") }) });
    await using rath = openrath({ store });
    expect(await scan(rath)).toMatchObject({ clean: false, findings: [], unreadable: [{ problem: "it is missing" }] });
  });

  test("and one that is damaged is told", async () => {
    const path = join(folder, "damaged.db");
    const store = sqliteStore(path);
    await put(store, { data: JSON.stringify({ text: "ordinary ".repeat(100) }) });
    await store[Symbol.asyncDispose]();
    await writeFile(path, "not a database at all");
    await using rath = openrath({ store: path });
    await expect(scan(rath)).rejects.toMatchObject({ code: "store.corrupt" });
  });
});
