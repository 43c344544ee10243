/**
 * The server for models: routes as tools of the Model Context Protocol, sessions and runs as resources. A tool is a route, with the same name,
 * the same checks and the same permissions; there is no second way in.
 */
import { z } from "@hono/zod-openapi";
import type { McpServer, ServerContext } from "@modelcontextprotocol/server";
import { version } from "../runtime/version.ts";
import { RathError } from "../session/errors.ts";
import { plainJson } from "../wire/neutral.ts";
import { answerTo } from "./answer-error.ts";
import type { Caller } from "./caller.ts";
import { Ending } from "./ending.ts";
import { openSession } from "./open-session.ts";
import type { Project } from "./projects.ts";
import { type Call, checked, type Route } from "./route.ts";
import { aboutOf, type Seen } from "./seen.ts";
import type { Served } from "./served.ts";

/** The routes that are tools: those that answer with JSON a model can read. */
export const toolNames = [
  ...["info", "getWorkflows", "getSessions", "getSession", "getEvents", "getEvent", "getMessages", "getRequest", "getGraph"],
  ...["createSession", "sayInSession", "noteInSession", "forkSession", "mergeSessions", "getConflicts", "rejectSession"],
  ...["getDiff", "getWhy", "getBlame", "getCost", "grepSession", "grepProject", "getFiles", "getChanges", "getChecks", "addCheck"],
  ...["verifySession", "replaySession", "rerunSession"],
  ...["startRun", "getRuns", "getRun", "getResult", "cancelRun", "sendSignal"],
  ...["getPending", "getPendingOne", "decide", "getDecisions", "searchMemory", "getMemory"],
];

/** Longer answers do not fit into anybody's context: they are refused, and the model is told to ask for less. */
const mostText = 200_000;
/** How many of the newest sessions and runs are listed as resources. */
const mostListed = 50;

type Sdk = typeof import("@modelcontextprotocol/server");

/** Imported by whoever serves it: the package is optional. */
export async function mcpSdk(): Promise<Sdk> {
  try {
    return await import("@modelcontextprotocol/server");
  } catch (cause) {
    throw new RathError("mcp.unavailable", "Serving MCP needs a package: npm install @modelcontextprotocol/server.", { cause });
  }
}

/** Who is at the other end, and whose data they may see. */
export interface Connected {
  /** Names in logs what messages came with: a call, or over pipes the connection. */
  readonly id: string;
  readonly server: Served;
  readonly caller: Caller;
  readonly project: Project;
}

/** A server for one caller, as the protocol wants a new one for every connection or call. */
export function mcpServer(sdk: Sdk, routes: readonly Route[], from: Connected): McpServer {
  const made = new sdk.McpServer(
    { name: "openrath", version: version() },
    {
      instructions:
        "Sessions are records of agents at work: find one with getSessions or grepProject, read it with getMessages, fork it with forkSession, compare two with getDiff, ask getWhy.",
    },
  );
  for (const route of routes) if (toolNames.includes(route.name) && mayCall(from.caller, route)) addTool(made, from, route);
  addResources(made, sdk, from, (name) => routes.find((route) => route.name === name && mayCall(from.caller, route)));
  return made;
}

/** The newest of them are listed; all can be read. What a caller may not read by a call is no resource for them either. */
function addResources(made: McpServer, sdk: Sdk, from: Connected, routeNamed: (name: string) => Route | undefined): void {
  const [sessions, runs, run] = [routeNamed("getSessions"), routeNamed("getRuns"), routeNamed("getRun")];
  const listing =
    (list: Route, resource: (item: Listed) => { readonly uri: string; readonly name: string }) => async (context: ServerContext) => {
      const { items } = (await list.handle(callOf(from, list, { limit: mostListed }, context))) as { readonly items: readonly Listed[] };
      return { resources: items.map(resource) };
    };
  if (sessions !== undefined)
    made.registerResource(
      "session",
      new sdk.ResourceTemplate("openrath://sessions/{session}", {
        list: listing(sessions, ({ id, title }) => ({ uri: `openrath://sessions/${id}`, name: title ?? `session ${id.slice(0, 8)}` })),
      }),
      { title: "A session", description: "What was said in a session, as text; the newest part of a long one.", mimeType: "text/plain" },
      (uri, { session }) =>
        reading(sdk, from, uri, "text/plain", async () =>
          transcriptOf((await openSession({ ...from.project, caller: from.caller }, String(session))).messages),
        ),
    );
  if (runs !== undefined && run !== undefined)
    made.registerResource(
      "run",
      new sdk.ResourceTemplate("openrath://runs/{run}", {
        list: listing(runs, ({ id, workflow, status }) => ({
          uri: `openrath://runs/${id}`,
          name: `${workflow} ${id.slice(0, 8)}, ${status}`,
        })),
      }),
      { title: "A run", description: "Where a run stands and how it came out, as JSON.", mimeType: "application/json" },
      (uri, { run: id }, context) =>
        reading(sdk, from, uri, "application/json", async () => plainJson(await run.handle(callOf(from, run, { run: id }, context)))),
    );
}

interface Listed {
  readonly id: string;
  readonly title?: string;
  readonly workflow?: string;
  readonly status?: string;
}

async function reading(sdk: Sdk, { server }: Connected, uri: URL, mimeType: string, read: () => Promise<string>) {
  try {
    return { contents: [{ uri: uri.href, mimeType, text: await read() }] };
  } catch (error) {
    const { body } = answerTo(error, server.clean);
    throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InvalidParams, body.error.message, body.error);
  }
}

function mayCall({ permissions }: Caller, { needs, alsoNeeds }: Route): boolean {
  const may = (one: Route["needs"]): boolean => one === "nothing" || one === "key" || permissions.has(one);
  return may(needs) && (alsoNeeds === undefined || may(alsoNeeds));
}

function addTool(made: McpServer, from: Connected, route: Route): void {
  const readOnlyHint = route.method === "GET";
  made.registerTool(
    route.name,
    { description: route.summary, inputSchema: inputOf(route), annotations: { readOnlyHint, destructiveHint: false } },
    async (input: Input, context: ServerContext) => {
      try {
        const answer = await asking(from, route, input, context);
        const text = answer instanceof Response ? await textOf(answer) : plainJson(answer ?? {});
        if (text.length > mostText)
          throw new RathError("request.too-large", `The answer has ${text.length} characters: ask for less, with a limit or a range.`);
        return { content: [{ type: "text" as const, text }] };
      } catch (error) {
        const { body } = answerTo(error, from.server.clean);
        return { isError: true, content: [{ type: "text" as const, text: JSON.stringify(body) }] };
      }
    },
  );
}

/** Whoever watches calls is told of it as if it had come over HTTP. */
async function asking(from: Connected, route: Route, input: Input, context: ServerContext): Promise<unknown> {
  const begun = performance.now();
  const told = (became: Became): void => tell(from, route, input, became, performance.now() - begun);
  try {
    const answer = await answering(from, route, input, context);
    told({ status: answer instanceof Response ? answer.status : (route.status ?? 200) });
    return answer;
  } catch (error) {
    const { status, code } = answerTo(error, from.server.clean);
    told({ status, code, ...(status < 500 ? {} : { error }) });
    throw error;
  }
}

/** A question to everything on record has a place among all that are asked, and ends when the server stops, as it does over HTTP. */
async function answering(from: Connected, route: Route, input: Input, context: ServerContext): Promise<unknown> {
  const call = callOf(from, route, input, context);
  if (route.long !== true) return route.handle(call);
  const { questions, stopping } = from.server;
  const free = questions.take(from.caller.key ?? "");
  const ending = new Ending(call.request, stopping);
  try {
    return await route.handle({ ...call, signal: ending.signal });
  } finally {
    ending.done();
    free();
  }
}

const toolCall = z.object({
  method: z.literal("tools/call"),
  params: z.object({ name: z.string(), arguments: z.record(z.string(), z.unknown()).catch({}) }),
});

/** A tool that a caller is not offered does not exist for the protocol: that they called it is noted here, before it is refused there. */
export function noteTurnedAway(routes: readonly Route[], from: Connected, messages: readonly unknown[]): void {
  for (const message of messages) {
    const { data } = toolCall.safeParse(message);
    const route = routes.find(({ name }) => name === data?.params.name && toolNames.includes(name));
    if (data === undefined || route === undefined || mayCall(from.caller, route)) continue;
    tell(from, route, data.params.arguments, { status: 403, code: "access.forbidden" }, 0);
  }
}

type Input = Readonly<Record<string, unknown>>;
type Became = Pick<Seen, "status" | "code" | "error">;

function tell({ server, caller, id }: Connected, { method, path, params }: Route, input: Input, became: Became, ms: number): void {
  const { key, identity, tenant, project } = caller;
  const inPath = Object.keys(params?.shape ?? {}).flatMap((name) => (typeof input[name] === "string" ? [[name, input[name]]] : []));
  const named: Readonly<Record<string, string>> = Object.fromEntries(inPath);
  const { session, run } = named;
  server.seen({ request: id, method, route: path, key, identity, tenant, project, about: aboutOf(named), session, run, ...became, ms });
}

/** An answer that came as it would be sent: JSON with a status of its own, or another format that can be read. */
async function textOf(answer: Response): Promise<string> {
  if (/^(?:application\/json|text\/)/.test(answer.headers.get("content-type") ?? "")) return answer.text();
  await answer.body?.cancel();
  throw new RathError("request.invalid", "Its answer is no text: leave out the format.");
}

/** Everything a route takes, as one object. */
function inputOf({ params, query, body }: Route): z.ZodObject {
  const shape = { ...params?.shape, ...query?.shape };
  if (body === undefined) return z.strictObject(shape);
  return z.strictObject(body instanceof z.ZodObject ? { ...shape, ...body.shape } : { ...shape, body });
}

function callOf({ id, server, caller, project }: Connected, route: Route, input: Input, { mcpReq: { signal } }: ServerContext): Call {
  const of = (schema: z.ZodType | undefined): Record<string, unknown> | undefined =>
    schema instanceof z.ZodObject
      ? Object.fromEntries(Object.entries(input).filter(([name]) => Object.hasOwn(schema.shape, name)))
      : (input["body"] as Record<string, unknown> | undefined);
  return {
    ...project,
    params: checked(route.params, of(route.params), "path"),
    query: checked(route.query, of(route.query), "query"),
    body: checked(route.body, of(route.body), "body"),
    ...{ id, caller, server, request: new Request("http://localhost/mcp", { signal }), signal },
  };
}

function transcriptOf(messages: readonly { readonly role: string; readonly text: string }[]): string {
  const said: string[] = [];
  let left = mostText;
  for (let at = messages.length - 1; at >= 0 && left > 0; at--) {
    const { role, text } = messages[at] as (typeof messages)[number];
    said.push(`${role}: ${text.slice(0, left)}`);
    left -= text.length;
  }
  return said.reverse().join("\n\n");
}
