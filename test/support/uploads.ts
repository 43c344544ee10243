/** Bundles that come over HTTP, as they were made or as somebody forged them. */
import canonicalize from "canonicalize";
import { expect } from "vitest";
import type { Role } from "../../src/access/access.ts";
import { nodePlatform } from "../../src/runtime/platform.ts";
import { type Envelope, envelopeText } from "../../src/session/codec.ts";
import type { ReturnedKind } from "../../src/session/event.ts";
import type { Answer, Caller, ServedRath } from "./served.ts";
import { type Worked, worked } from "./worked.ts";

export const both: readonly Role[] = ["operator", "approver"];

/** A run of Bo's that waits, and its bundle. */
export async function parked(server: Worked, workflow: string): Promise<{ readonly pending: Answer; readonly bundle: string }> {
  const bo = await server.as("human:bo", both);
  const { id } = await bo.ask("startRun", {}, { workflow, message: "x" });
  const { pending } = await bo.ask("getResult", { run: id, wait: 10, until: "settled" });
  return { pending: pending[0], bundle: await bundleOf(bo, pending[0].session) };
}

export async function bundleOf(caller: Caller, session: string): Promise<string> {
  const { id: job } = await caller.ask("startExport", { session }, { format: "bundle" });
  await expect.poll(async () => (await caller.ask("getJob", { job })).status, { interval: 5, timeout: 10_000 }).toBe("done");
  return (await caller.response("getJobResult", { job })).text();
}

/** Whoever has a machine of their own is on it whoever they want to be. */
export async function saidElsewhere(
  bundle: string,
  { session, run }: Answer,
  say: (machine: Worked) => Promise<unknown>,
  goesOn = false,
): Promise<string> {
  await using machine = await worked({ idle: true });
  expect((await upload(machine, bundle)).status).toBe(201);
  await say(machine);
  if (goesOn) {
    machine.work();
    expect(await machine.ask("getResult", { run, wait: 10 })).toMatchObject({ status: "done" });
  }
  return await bundleOf(machine, session);
}

export async function upload(server: ServedRath, body: string, key?: string): Promise<{ readonly status: number; readonly body: Answer }> {
  const headers: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const answer = await server.fetch(new Request("http://localhost/v1/imports", { method: "POST", body, headers }));
  return { status: answer.status, body: await answer.json() };
}

export async function keyOf(
  server: ServedRath,
  identity: string,
  roles: readonly Role[] = both,
  permissions?: readonly string[],
): Promise<string> {
  return (await server.ask("createKey", {}, { identity, roles, permissions })).token;
}

/** What an importer gets who would have to act for people. */
export const refused = { status: 403, body: { error: { code: "access.forbidden", details: { needs: "people:act" } } } };

/** The lines of a bundle, the header first. */
export function linesOf(bundle: string): Answer[] {
  return bundle
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
}

/** A bundle of these lines, counted anew. */
export function textOf([header, ...lines]: readonly Answer[]): string {
  const count = (key: string): number => lines.filter((line) => line[key] !== undefined).length;
  const counted = { ...header, logs: count("log"), runs: count("workflow"), events: count("envelope") };
  return `${[counted, ...lines].map((line) => canonicalize(line)).join("\n")}\n`;
}

/** The same events, ascribed to another run. */
export function ascribed(bundle: string, run: string, order: number): string {
  let next = order;
  return textOf(linesOf(bundle).map((line) => (line.run === undefined ? line : { ...line, run, ...(line.envelope && { order: next++ }) })));
}

/** The same bundle, in which the last call of a log has a result that names nothing: of the run that called, unless another one is given. */
export function withResult(bundle: string, log: string, kind: ReturnedKind, run?: string): string {
  const [header, ...lines] = linesOf(bundle);
  const events = lines.filter((line) => line.envelope !== undefined);
  const call = events.findLast((line) => line.envelope.session === log);
  const data = { value: "yes" };
  const digest = nodePlatform.sha256(Buffer.concat([Buffer.from(call.salt, "hex"), Buffer.from(canonicalize(data) as string)]));
  const order = Math.max(...events.filter((line) => line.run === call.run).map((line) => line.order)) + 1;
  const { step, ...around } = call.envelope;
  const text = envelopeText({ ...around, kind, facts: { outcome: "ok" }, parents: [call.id], step: step + 1 } as Envelope, digest);
  const id = nodePlatform.sha256(text);
  const written = run === undefined ? { order } : { run, order: 0 };
  const returned = { ...call, ...written, id, envelope: JSON.parse(text), data };
  const counted = lines.map((line) => (line.log === log ? { ...line, events: line.events + 1, head: id } : line));
  const after = counted.findLastIndex((line) => line.envelope?.session === log) + 1;
  const headed = header.session === log ? { ...header, head: id } : header;
  return textOf([headed, ...counted.slice(0, after), returned, ...counted.slice(after)]);
}

/** The bundle of a session with an id of one's choice. */
export async function sessionCalled(id: string): Promise<string> {
  await using machine = await worked({ idle: true });
  const bo = await machine.as("human:bo", both);
  const { id: made } = await bo.ask("createSession", {}, { message: "x" });
  const [header, ...lines] = linesOf((await bundleOf(bo, made)).replaceAll(made, id));
  let last: string | undefined;
  const events = lines.map((line) => {
    if (line.envelope === undefined) return line;
    const { data: digest, ...envelope } = line.envelope;
    const text = envelopeText({ ...envelope, parents: last === undefined ? [] : [last] } as Envelope, digest);
    last = nodePlatform.sha256(text);
    return { ...line, id: last, envelope: JSON.parse(text) };
  });
  const headed = events.map((line) => (line.log === id ? { ...line, head: last } : line));
  return textOf([{ ...header, head: last }, ...headed]);
}
