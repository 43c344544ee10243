/** Erasures that a bundle brings: what was erased elsewhere takes nothing away here, and opens nothing. */
import canonicalize from "canonicalize";
import { describe, expect, test } from "vitest";
import { addErasure } from "../../src/runtime/erasure-log.ts";
import { heedErasures } from "../../src/runtime/heed-erasures.ts";
import { nodePlatform } from "../../src/runtime/platform.ts";
import { runtimeOf } from "../../src/runtime/replay.ts";
import type { Runtime } from "../../src/runtime/runtime.ts";
import { type Envelope, envelopeText } from "../../src/session/codec.ts";
import type { Answer } from "../support/served.ts";
import { both, bundleOf, keyOf, linesOf, sessionCalled, textOf, upload } from "../support/uploads.ts";
import { type Worked, worked } from "../support/worked.ts";

/** An event by hand: the salt is nobody's. */
function forged(line: Answer, over: Partial<Envelope>, data: object): Answer {
  const digest = nodePlatform.sha256(Buffer.concat([Buffer.from(line.salt, "hex"), Buffer.from(canonicalize(data) as string)]));
  const { data: _, ...around } = line.envelope;
  const text = envelopeText({ ...around, ...over } as Envelope, digest);
  return { ...line, data, envelope: JSON.parse(text), id: nodePlatform.sha256(text) };
}

/** Entries that list contents come with every session of their store. */
const some = { blobs: ["0".repeat(64)] };

/** A session of Bo's with an entry of an erasure log: in one of its own, or after an entry that is given. */
async function erasing(data: object, after?: { readonly log: Answer; readonly entry: Answer }): Promise<string> {
  const [header, ...lines] = linesOf(await sessionCalled(nodePlatform.newId()));
  const like = { ...lines.find((line) => line.envelope !== undefined), order: -1, run: undefined };
  const { log = { kind: "erasure", log: nodePlatform.newId(), events: 0 }, entry } = after ?? {};
  const place = entry === undefined ? { parents: [], step: 1 } : { parents: [entry.id], step: entry.envelope.step + 1 };
  const said = forged(like, { ...place, session: log.log, kind: "data.erased", by: "human:ada" }, data);
  const [logs, events] = [lines.filter((line) => line.log !== undefined), lines.filter((line) => line.envelope !== undefined)];
  const entries = entry === undefined ? [said] : [entry, said];
  return textOf([header, ...logs, { ...log, events: log.events + 1, head: said.id }, ...events, ...entries]);
}

const runtimeOn = (server: Worked): Runtime => runtimeOf(server.rath.session("x"));

async function saidBy(server: Worked, text: string): Promise<{ readonly session: string; readonly events: string[] }> {
  const { id: session } = await server.ask("createSession", {}, { message: text });
  const { items } = await server.ask("getEvents", { session });
  return { session, events: items.map(({ id }: Answer) => id) };
}

describe("entries of an erasure log in a bundle", () => {
  // Mutant: whoever may import may bring them.
  test("need sessions:erase", async () => {
    await using server = await worked({ idle: true });
    const bundle = await erasing({ ...some, reason: "x" });
    expect(await upload(server, bundle, await keyOf(server, "human:bo", both))).toMatchObject({
      status: 403,
      body: { error: { code: "access.forbidden", details: { needs: "sessions:erase" } } },
    });
    expect((await upload(server, bundle)).status).toBe(201);
  });

  // Mutant: the log of this store is continued like any other.
  test("are never added to what was erased here", async () => {
    await using server = await worked({ idle: true });
    const kept = await saidBy(server, "to be kept");
    const other = await saidBy(server, "a mistake");
    const runtime = runtimeOn(server);
    const entry = await addErasure(runtime, "human:ada", { events: other.events, reason: "a mistake" });
    await (await runtime.store()).erase?.(other.events, entry);
    const lines = linesOf(await bundleOf(server, other.session));
    const after = { log: lines.find(({ kind }) => kind === "erasure"), entry: lines.find(({ id }) => id === entry) };
    const bundle = await erasing({ ...some, events: kept.events, reason: "asked for" }, after);
    expect(await upload(server, bundle)).toMatchObject({
      status: 422,
      body: { error: { code: "bundle.invalid", details: { field: "log" } } },
    });
    await server.rath.gc();
    await using next = server.another();
    expect((await next.ask("getMessages", { session: kept.session })).items).toMatchObject([{ text: "to be kept" }]);
  });

  // Mutant: what was erased elsewhere is forgotten here.
  test("take nothing from what is read here", async () => {
    await using server = await worked({ idle: true });
    const { session, events } = await saidBy(server, "to be kept");
    expect((await upload(server, await erasing({ ...some, events, reason: "x" }))).status).toBe(201);
    await heedErasures(runtimeOn(server), 0);
    expect((await server.ask("getMessages", { session })).items).toMatchObject([{ text: "to be kept" }]);
  });

  // Mutant: what they list may be missing, whatever names it.
  test("are no reason for a content to be missing that an event names: it would be read from what others have here", async () => {
    await using server = await worked({ idle: true });
    const long = `somebody's list ${"x".repeat(5000)}`;
    await saidBy(server, long);
    const hash = nodePlatform.sha256(long);
    const [header, ...lines] = linesOf(await erasing({ blobs: [hash], reason: "x" }));
    const last = lines.find(({ id }) => id === header.head);
    const parts = [{ text: { $: "blob", bytes: long.length, hash, type: "text" }, type: "text" }];
    const naming = forged(last, {}, { ...last.data, parts });
    const named = lines.map((line) => (line === last ? naming : line.head === last.id ? { ...line, head: naming.id } : line));
    expect(await upload(server, textOf([{ ...header, head: naming.id }, ...named]))).toMatchObject({
      status: 422,
      body: { error: { code: "bundle.invalid", details: { field: "blob" } } },
    });
  });
});
