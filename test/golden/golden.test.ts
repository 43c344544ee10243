/**
 * Golden sessions: what was once written keeps opening with the view it had. `npm run golden` records them again; a released one
 * is never rewritten without an entry in docs/formats/changelog.md.
 */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { write } from "../../src/audit/audit.ts";
import { openrath, type RathError, type Session, verify } from "../../src/index.ts";
import { nodePlatform } from "../../src/runtime/platform.ts";
import { versions } from "../../src/session/event.ts";
import { encode } from "../../src/session/json.ts";
import { testRath } from "../../src/testing/testing.ts";
import { agentCases } from "./agent-cases.ts";
import { type Case, sessionCases } from "./cases.ts";
import { contextCases } from "./context-cases.ts";
import { fileCases } from "./file-cases.ts";
import { importCases } from "./import-cases.ts";
import { memoryCases } from "./memory-cases.ts";

const cases: Readonly<Record<string, Case>> = {
  ...sessionCases,
  ...agentCases,
  ...fileCases,
  ...contextCases,
  ...memoryCases,
  ...importCases,
};

const here = fileURLToPath(new URL(".", import.meta.url));
const fileOf = (name: string): string => join(here, name, "session.jsonl");
const viewOf = (name: string): string => join(here, name, "view.json");

/** The public half of the key that every test Rath signs with. */
const testKey = "TU1TQwpyOH7opPzlT8goSiVegZ-xNg4miRxQoy6mfSw";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "openrath-golden-"));
  if (process.env["UPDATE_GOLDEN"] === undefined) return;
  for (const [name, one] of Object.entries(cases)) {
    await mkdir(join(here, name), { recursive: true });
    await recorded(one, fileOf(name));
    await using rath = openrath({ store: "memory" });
    await writeFile(viewOf(name), await view(await rath.import(fileOf(name))));
  }
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function recorded(one: Case, file: string): Promise<Session> {
  await using rath = testRath({ implicitForks: "allow", ...one.options });
  const session = await one.record(rath);
  await write(session, file);
  return session;
}

/** Everything a session shows, as text that can be compared and read. */
async function view(session: Session): Promise<string> {
  const { id, head, step, messages, status, usage, placement, lineage, pending, checks } = session;
  const events = [...session.events()].map((event) => `${event.step} ${event.kind} ${event.by}`);
  const requests = await requestsOf(session);
  const shown = {
    ...{ id, head, step, status, lineage, placement, usage, checks, output: outputOf(session) },
    pending: pending.map(({ kind }) => kind),
    messages: messages.map(({ role, by, session: branch, parts }) => ({ role, by, branch, parts: parts.map(plain) })),
    events,
    ...(await filesOf(session)),
    ...(requests.length === 0 ? {} : { requests, calls: session.calls, routes: session.routes, stop: session.stop }),
  };
  const { text } = encode(shown, nodePlatform, () => undefined);
  return `${JSON.stringify(JSON.parse(text), undefined, 2)}\n`;
}

/** The files of a session that has some, and what its calls did to them. */
async function filesOf(session: Session): Promise<object> {
  const { files, calls } = session;
  const contents: Record<string, string> = {};
  for await (const path of files.list()) contents[path] = await files.text(path).catch((error: RathError) => error.message);
  return Object.keys(contents).length === 0 ? {} : { files: { hash: files.hash, contents }, calls };
}

/** What every model read, made again from the log and checked against its digest: another rendering would show here. */
async function requestsOf(session: Session): Promise<readonly unknown[]> {
  const asked = [...session.events()].filter((event) => event.kind === "model.called");
  const requests = await Promise.all(asked.map((event) => session.at(event.id).request()));
  return requests.map(({ tools, ...request }) => ({ ...request, tools: tools.map((tool) => tool.name) }));
}

function plain(part: Session["messages"][number]["parts"][number]): unknown {
  return part.type === "file" && part.data instanceof URL ? { ...part, data: part.data.href } : part;
}

function outputOf(session: Session): unknown {
  try {
    return { value: session.output };
  } catch (error) {
    return { none: (error as RathError).code };
  }
}

async function kindsIn(file: string): Promise<readonly string[]> {
  const lines = (await readFile(file, "utf8")).trimEnd().split("\n");
  return lines.flatMap((line) => (JSON.parse(line) as { readonly envelope?: { readonly kind: string } }).envelope?.kind ?? []);
}

const kept = (await readdir(here, { withFileTypes: true })).filter((entry) => entry.isDirectory()).map((entry) => entry.name);
const names = [...new Set([...kept, ...Object.keys(cases)])].sort();

describe.each(names)("the golden session %s", (name) => {
  test("opens, verifies and shows what it showed when it was recorded", async () => {
    await using rath = openrath({ store: "memory" });
    const session = await rath.import(fileOf(name));
    expect(await view(session)).toBe(await readFile(viewOf(name), "utf8"));
    expect(await verify(session, { keys: [testKey] })).toMatchObject({ ok: true, problems: [] });
  });

  test("is written again to the byte", async () => {
    await using rath = openrath({ store: "memory" });
    const copy = join(folder, `${name}-copy.jsonl`);
    await write(await rath.import(fileOf(name)), copy);
    expect(await readFile(copy, "utf8")).toBe(await readFile(fileOf(name), "utf8"));
  });

  test.skipIf(cases[name] === undefined)("is what its program records today, to the byte", async () => {
    const again = join(folder, `${name}-again.jsonl`);
    await recorded(cases[name] as Case, again);
    expect(await readFile(again, "utf8")).toBe(await readFile(fileOf(name), "utf8"));
  });
});

test("there is a golden session for every kind of event", async () => {
  const kinds = new Set((await Promise.all(names.map((name) => kindsIn(fileOf(name))))).flat());
  expect([...kinds].sort()).toStrictEqual(Object.keys(versions).sort());
});
