/** Routes about memory: written with who said it, found, explained, taken back; what belongs to a person is theirs alone. */
import { describe, expect, test } from "vitest";
import type { Answer, Caller } from "../support/served.ts";
import { worked } from "../support/worked.ts";

const keys = ({ items }: Answer): string[] => items.map(({ key }: Answer) => key);

async function listed(caller: Caller, query: Record<string, string | number> = {}): Promise<Answer[]> {
  const found: Answer[] = [];
  for (let after: string | undefined; ; ) {
    const { items, next } = await caller.ask("getMemories", { ...query, ...(after === undefined ? {} : { after }) });
    found.push(...items);
    if (next === undefined) return found;
    expect(found.length).toBeLessThan(100);
    expect(next).not.toBe(after);
    after = next;
  }
}

describe("a memory", () => {
  test("is written by whoever calls, with the evidence of why, and found by its words, key, uri and version", async () => {
    await using server = await worked({ idle: true });
    const ada = await server.as("human:ada", ["operator"]);
    const made = await ada.ask("putMemory", { memory: "test-command" }, { content: "npm test -- --run", reason: "the README says so" });
    expect(made).toMatchObject({
      uri: "memory://project/test-command",
      version: 1,
      state: "published",
      by: "human:ada",
      origin: "human",
      trust: "trusted",
    });
    for (const memory of ["test-command", made.uri, `${made.uri}@1`]) expect(await ada.ask("getMemory", { memory })).toEqual(made);
    expect(keys(await ada.ask("searchMemory", { query: "npm test" }))).toEqual(["test-command"]);
    const { hops } = await ada.ask("getMemoryWhy", { memory: made.uri });
    expect(JSON.stringify(hops)).toContain("the README says so");
    const [second] = [await ada.ask("putMemory", { memory: "test-command" }, { content: { run: "vitest" }, based: 1 })];
    expect(second).toMatchObject({ version: 2, value: { run: "vitest" } });
    expect(await ada.refused("putMemory", { memory: "test-command" }, { content: "late", based: 1 })).toMatchObject({
      status: 409,
      code: "memory.changed",
    });
    const versions = await ada.ask("getMemoryVersions", { memory: "test-command", limit: 1 });
    expect([versions.items.length, versions.items[0].version]).toEqual([1, 1]);
    expect((await ada.ask("getMemoryVersions", { memory: "test-command", after: versions.next })).items).toEqual([second]);
  });

  // Mutants: what it is staged on is not looked at; it is published at once.
  test.each(["get", "publish"] as const)("is not put over what its writer never saw, also when that came during %s", async (at) => {
    await using server = await worked({ idle: true });
    const [ada, bo] = [await server.as("human:ada", ["operator"]), await server.as("human:bo", ["operator"])];
    const put = { memory: "test-command" };
    await ada.ask("putMemory", put, { content: "npm test" });
    const memory = server.rath.memory as { [name in typeof at]: (given: never) => Promise<unknown> };
    const own = memory[at];
    // Somebody else is faster, just between two steps of the call.
    memory[at] = async (given) => {
      memory[at] = own;
      const seen = at === "get" ? await own.call(memory, given) : undefined;
      await bo.ask("putMemory", put, { content: "vitest", based: 1 });
      return seen ?? own.call(memory, given);
    };
    expect(await ada.refused("putMemory", put, { content: "jest", based: 1 })).toMatchObject({ status: 409, code: "memory.changed" });
    expect(await ada.ask("getMemory", put)).toMatchObject({ version: 2, content: "vitest", by: "human:bo" });
    expect(await ada.ask("putMemory", put, { content: "jest", based: 2 })).toMatchObject({ version: 3, content: "jest", by: "human:ada" });
    expect(await ada.ask("putMemory", { memory: "new" }, { content: "x", based: 0 })).toMatchObject({ version: 1, state: "published" });
  });

  test("is forgotten, retracted and rolled back, each by whoever asks, with their reason", async () => {
    await using server = await worked({ idle: true });
    const [ada, root] = [await server.as("human:ada", ["operator"]), await server.as("human:root", ["admin"])];
    const { revision } = await ada.ask("putMemory", { memory: "a" }, { content: "1" });
    await ada.ask("putMemory", { memory: "b" }, { content: "2" });
    expect((await ada.ask("forgetMemory", { memory: "a", reason: "old" })).items).toMatchObject([
      { state: "retracted", by: "human:ada", reason: "old" },
    ]);
    expect(await ada.refused("forgetMemory", { memory: "a", reason: "again" })).toMatchObject({ status: 404, code: "memory.not-found" });
    expect((await ada.ask("retractMemory", { memory: "b" }, { reason: "wrong" })).items).toMatchObject([
      { key: "b", state: "retracted", by: "human:ada", reason: "wrong" },
    ]);
    expect(await listed(ada, { state: "published" })).toEqual([]);
    expect(await ada.refused("rollbackMemory", {}, { to: revision, reason: "undo" })).toMatchObject({
      status: 403,
      code: "access.forbidden",
    });
    expect((await root.ask("rollbackMemory", {}, { to: revision, reason: "undo" })).items).toMatchObject([
      { key: "a", state: "published", by: "human:root" },
    ]);
    expect((await listed(ada, { state: "published" })).map(({ content }) => content)).toEqual(["1"]);
  });

  test("says what was made of it: what is retracted with it", async () => {
    await using server = await worked({ idle: true });
    await server.ask("putMemory", { memory: "k" }, { content: "the tests run with npm" });
    const read = await server.rath.session("How?").recall("how do tests run");
    await read.remember({ key: "made", content: "npm is used here", publish: "now" });
    expect(keys(await server.ask("getMemoryDerived", { memory: "k" }))).toEqual(["made"]);
    expect(keys(await server.ask("getMemoryDerived", { memory: "made" }))).toEqual([]);
    expect(keys(await server.ask("retractMemory", { memory: "k" }, { reason: "wrong" }))).toEqual(["k", "made"]);
    expect(keys(await server.ask("getMemoryDerived", { memory: "k" }))).toEqual([]);
  });

  test("that sessions recalled says where", async () => {
    await using server = await worked({ idle: true });
    await server.ask("putMemory", { memory: "k" }, { content: "the tests run with npm" });
    const session = await server.rath.session("How?").recall("how do tests run");
    expect((await server.ask("getMemoryUses", { memory: "k" })).items).toMatchObject([
      { session: session.id, version: 1, query: "how do tests run", injected: false },
    ]);
  });
});

describe("what belongs to a person", () => {
  // Mutants: isVisible is always true, or userOf always undefined; they look at the role.
  test("is seen by them and admins alone: for anybody else it is not there, under none of its names", async () => {
    await using server = await worked({ idle: true });
    const [ada, bob, root] = [
      await server.as("human:ada", ["operator"]),
      await server.as("human:bob", ["operator"]),
      await server.as("human:root", ["admin"]),
    ];
    const hers = await ada.ask("putMemory", { memory: "editor" }, { content: "secretly vim", scope: "user" });
    expect(hers).toMatchObject({ scope: "user", owner: "human:ada" });
    await bob.ask("putMemory", { memory: "editor" }, { content: "emacs", scope: "user" });
    expect((await bob.ask("getMemory", { memory: "editor" })).content).toBe("emacs");
    for (const name of [hers.uri, `${hers.uri}@1`]) {
      for (const route of ["getMemory", "getMemoryVersions", "getMemoryWhy", "getMemoryUses"])
        expect(await bob.refused(route, { memory: name }), route).toMatchObject({ status: 404, code: "memory.not-found" });
      expect(await bob.refused("retractMemory", { memory: name }, { reason: "x" })).toMatchObject({ status: 404 });
      expect(await bob.refused("forgetMemory", { memory: name, reason: "x" })).toMatchObject({ status: 404 });
    }
    for (const query of [{}, { scope: "user" }]) expect(JSON.stringify(await listed(bob, query))).not.toContain("vim");
    for (const query of [{ query: "vim" }, { query: "secretly", scope: "user" }])
      expect((await bob.ask("searchMemory", query)).items).toEqual([]);
    const narrowed = await server.as("human:nia", ["admin"], { permissions: ["memory:read", "memory:write"] });
    expect(await narrowed.refused("getMemory", { memory: hers.uri })).toMatchObject({ status: 404 });
    expect([...(await listed(narrowed)), ...(await narrowed.ask("searchMemory", { query: "vim" })).items]).toEqual([]);
    expect(await narrowed.refused("rollbackMemory", {}, { to: 1, reason: "x" })).toMatchObject({ status: 403 });
    expect(keys(await ada.ask("searchMemory", { query: "vim" }))).toEqual(["editor"]);
    expect(await root.refused("getMemory", { memory: "editor" })).toMatchObject({ status: 409, code: "memory.ambiguous" });
    expect((await root.ask("forgetMemory", { memory: hers.uri, reason: "asked to" })).items).toMatchObject([
      { state: "retracted", by: "human:root", owner: "human:ada" },
    ]);
  });
});

describe("the list", () => {
  test("comes in pages in which each is once, as it was at a revision", async () => {
    await using server = await worked({ idle: true });
    const all = ["e", "d", "c", "b", "a"];
    for (const memory of all) await server.ask("putMemory", { memory }, { content: memory });
    const { revision } = await server.ask("getMemory", { memory: "a" });
    await server.ask("putMemory", { memory: "e" }, { content: "anew" });
    for (const limit of [1, 2, 5]) {
      expect((await listed(server, { limit })).map(({ key }) => key)).toEqual(["d", "c", "b", "a", "e"]);
      expect((await listed(server, { limit, asOf: revision })).map(({ key }) => key)).toEqual(all);
    }
    expect(await server.refused("getMemories", { asOf: 999 })).toMatchObject({ status: 400 });
    expect(await server.refused("getMemories", { after: "e30" })).toMatchObject({ status: 400 });
    const eve = await server.as("human:eve", ["admin"], { project: "other" });
    expect(await listed(eve)).toEqual([]);
    expect(await eve.refused("getMemory", { memory: "memory://project/a" })).toMatchObject({ status: 404 });
  });
});

describe("hostile input", () => {
  const key = '../%2e%2e/<script>?#@é\u202e"';
  test("keys of any characters come back as they were given", async () => {
    await using server = await worked({ idle: true });
    const made = await server.ask("putMemory", { memory: key }, { content: '<img onerror="x">\u0000\u001b[0m' });
    expect(made).toMatchObject({ key, content: '<img onerror="x">\u0000\u001b[0m' });
    expect(await server.ask("getMemory", { memory: key })).toEqual(made);
    expect(await server.ask("getMemory", { memory: made.uri })).toEqual(made);
  });

  test.each<[string, object]>([
    ["nothing", {}],
    ["a scope of an agent", { content: "x", scope: "agent" }],
    ["a name for who writes", { content: "x", by: "human:root" }],
    ["a time that is none", { content: "x", expires: "soon" }],
    ["a version below any", { content: "x", based: -1 }],
    ["a reason that is empty", { content: "x", reason: "" }],
  ])("%s is refused, and nothing is written", async (_, body) => {
    await using server = await worked({ idle: true });
    expect(await server.refused("putMemory", { memory: "k" }, body)).toMatchObject({ status: 400, code: "request.invalid" });
    expect(await listed(server)).toEqual([]);
  });
});
