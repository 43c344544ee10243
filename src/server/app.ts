/** All routes behind one `fetch`: who calls is found out, what they may do is checked, the call is read, and the answer written. */
import { OpenAPIHono, z } from "@hono/zod-openapi";
import { type Context, Hono } from "hono";
import { RathError } from "../session/errors.ts";
import { plainJson } from "../wire/neutral.ts";
import type { Answer } from "./answer.ts";
import { answerTo } from "./answer-error.ts";
import { anybody, localCaller, unauthenticated } from "./authenticate.ts";
import type { Caller } from "./caller.ts";
import { Ending } from "./ending.ts";
import { checkSender, type GuardOptions } from "./guard.ts";
import { preflightHeaders } from "./headers.ts";
import { inspectorFile } from "./inspector.ts";
import { watched } from "./open-streams.ts";
import { describeRoutes } from "./openapi.ts";
import type { Project } from "./projects.ts";
import { readJson } from "./read-body.ts";
import { type Call, checked, type Route } from "./route.ts";
import { routes } from "./routes/routes.ts";
import { aboutOf, type Seen } from "./seen.ts";
import type { Served } from "./served.ts";
import { spanned } from "./spanned.ts";
import { isLocal, type Visit, visitOf } from "./visit.ts";

export interface AppOptions {
  /** Calls from this machine need no key. */
  readonly openOnLoopback: boolean;
  readonly basePath: string;
  readonly guard: GuardOptions;
}

/** What Hono carries for a call. It finds the route; what the route answers is left here. */
interface Carried {
  readonly visit: Visit;
  answer?: Answer;
}

type Arrived = Context<{ Bindings: Carried }>;
type Answering = (arrived: Arrived) => Promise<Answer>;
/** What becomes known of a call while it is answered. */
type Known = { -readonly [Field in keyof Seen]?: Seen[Field] };

export function makeApp(server: Served, options: AppOptions): (request: Request, env: unknown) => Promise<Answer> {
  const app = routed(server, options);
  return async (request, env) => {
    const visit = visitOf(request, env, options.guard.origins);
    try {
      server.checkOpen();
      checkSender(visit, options.guard);
    } catch (error) {
      return refuse(server, visit, error, { about: visit.url.pathname });
    }
    const carried: Carried = { visit };
    await app.fetch(request, carried);
    const given = carried.answer as Answer;
    if (request.method !== "HEAD") return given;
    if (given.body instanceof ReadableStream) void given.body.cancel();
    return { ...given, body: null };
  };
}

type App = Hono<{ Bindings: Carried }>;

function routed(server: Served, options: AppOptions): App {
  const [known, others]: [App, App] = [new Hono(), new Hono()];
  const below = (app: App): Pick<App, "on" | "get" | "all"> => (options.basePath === "/" ? app : app.basePath(options.basePath));
  const base = below(known);
  const at = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ":$1");
  for (const route of routes)
    base.on(
      route.method,
      at(route.path),
      carry((arrived) => answer(server, options, route, arrived)),
    );
  let document: string | undefined;
  base.get(
    "/openapi.json",
    carry(async ({ env: { visit } }) => {
      document ??= JSON.stringify(describeRoutes(new OpenAPIHono(), routes));
      return answered(visit, document);
    }),
  );
  routeInspector(known, server, options.basePath);
  // Asked only when no route fits: most calls are matched against their own method alone.
  known.notFound(({ req, env }) => others.fetch(req.raw, env));
  for (const [path, methods] of methodsByPath())
    below(others).all(
      at(path),
      carry((arrived) => otherwise(server, path, methods, arrived)),
    );
  others.notFound(carry(({ req, env }) => refuse(server, env.visit, notFound(req.method, req.path), {})));
  for (const app of [known, others])
    app.onError((error, arrived) => carry(({ env }) => refuse(server, env.visit, error, {}))(arrived as Arrived));
  return known;
}

function routeInspector(app: App, server: Served, basePath: string): void {
  const folder = basePath === "/" ? "/" : `${basePath}/`;
  for (const path of ["", "icon.svg", "assets/:name"])
    app.get(
      `${folder}${path}`,
      carry((arrived) => inspector(server, arrived.req.path.slice(folder.length), arrived)),
    );
  // What the page loads lies beside it, so its own address ends with a slash.
  if (folder !== "/")
    app.get(
      basePath,
      carry(async ({ env }) => redirected(env.visit, folder)),
    );
}

/** Nothing is read of it. */
const left = new Response(null);

function carry(answering: Answering): (arrived: Arrived) => Promise<Response> {
  return async (arrived) => {
    arrived.env.answer = await answering(arrived);
    return left;
  };
}

/** A file of the inspector. It is no secret: whoever uses it needs a key. */
async function inspector(server: Served, name: string, { req, env: { visit } }: Arrived): Promise<Answer> {
  const file = await inspectorFile(name === "" ? "index.html" : name);
  if (file === undefined) return refuse(server, visit, notFound(req.method, req.path), {});
  return { status: file.status, headers: { ...visit.headers, ...Object.fromEntries(file.headers) }, body: file.body };
}

function redirected(visit: Visit, location: string): Answer {
  return { status: 308, headers: { ...visit.headers, location }, body: null };
}

function methodsByPath(): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>([["/openapi.json", ["GET"]]]);
  for (const { path, method } of routes) found.set(path, [...(found.get(path) ?? []), method]);
  for (const methods of found.values()) {
    if (methods.includes("GET")) methods.push("HEAD");
    methods.push("OPTIONS");
  }
  return found;
}

/** A method that the path has no route for: asked what there is it says so, and a browser whether a page of another origin may call. */
function otherwise(server: Served, path: string, methods: readonly string[], { env: { visit }, req }: Arrived): Promise<Answer> {
  if (req.method === "OPTIONS") {
    const headers = {
      ...visit.headers,
      allow: methods.join(", "),
      ...(req.header("origin") === undefined ? {} : preflightHeaders(methods)),
    };
    return Promise.resolve({ status: 204, headers, body: null });
  }
  const message = `There is no ${req.method} of ${path}: use ${methods.join(", ")}.`;
  return refuse(server, visit, new RathError("request.not-allowed", message, { details: { allow: methods } }), { route: path });
}

function notFound(method: string, path: string): RathError {
  return new RathError("request.not-found", `There is no ${method} ${path.slice(0, 200)} here: see /openapi.json.`);
}

function answer(server: Served, options: AppOptions, route: Route, context: Arrived): Promise<Answer> {
  const { telemetry } = server.projects.own.runtime;
  if (telemetry === undefined) return admit(server, options, route, context);
  const { method, headers } = context.req.raw;
  const { runtime } = server.projects.own;
  const work = (): Promise<Answer> => admit(server, options, route, context);
  return spanned(telemetry, { method, route: route.path, headers }, work, (message) => runtime.warn(message));
}

async function admit(server: Served, options: AppOptions, route: Route, context: Arrived): Promise<Answer> {
  const { visit } = context.env;
  const params = context.req.param() as Readonly<Record<string, string>>;
  const { session, run } = params;
  const known: Known = { route: route.path, about: aboutOf(params), session, run };
  try {
    const caller = await whoCalls(server, options, route, visit, known);
    await server.rates.call(caller.key, visit.address);
    checkMay(caller, route);
    const given = await handled(server, route, caller, params, visit);
    tell(server, visit, known, { status: given.status });
    return given;
  } catch (error) {
    return refuse(server, visit, error, known);
  }
}

function checkMay({ permissions }: Caller, { needs, alsoNeeds }: Route): void {
  for (const one of [needs, alsoNeeds])
    if (one !== undefined && one !== "nothing" && one !== "key" && !permissions.has(one))
      throw new RathError("access.forbidden", `This key may not do that: it needs ${one}.`, { details: { needs: one } });
}

async function whoCalls(server: Served, { openOnLoopback }: AppOptions, route: Route, visit: Visit, known: Known): Promise<Caller> {
  if (route.needs === "nothing") return anybody(server.projects);
  if (openOnLoopback && isLocal(visit) && !visit.request.headers.has("authorization")) return tellWho(known, localCaller(server.projects));
  const found = await server.identify(visit.request);
  if (found.caller !== undefined) return tellWho(known, found.caller);
  if (found.tried !== undefined) tellWho(known, { ...found.tried, key: found.tried.id });
  throw unauthenticated();
}

function tellWho<Who extends Pick<Caller, "key" | "identity" | "tenant" | "project">>(known: Known, who: Who): Who {
  const { key, identity, tenant, project } = who;
  Object.assign(known, { key, identity, tenant, project });
  return who;
}

/** Reads the call and lets the route answer it. The project is held, and a stream has its place, until all of it is over. */
async function handled(server: Served, route: Route, caller: Caller, params: unknown, visit: Visit): Promise<Answer> {
  // What may take any time is not waited for by a server that stops.
  const ending = new Ending(visit.request, route.long === true && route.answer !== undefined ? server.stopping : server.closed);
  const after: (() => void)[] = [() => ending.done()];
  const over = (): void => {
    for (const one of after.splice(0)) one();
  };
  const work = async (): Promise<Answer> => {
    try {
      const open = route.answer === undefined ? server.streams : server.questions;
      if (route.long === true) after.push(open.take(caller.key ?? visit.address ?? ""));
      const { project, release } = server.projects.hold(caller);
      after.push(release);
      const given = await route.handle(await callOf(server, route, { caller, project, params }, visit, ending));
      const answer = written(route, given, visit, over);
      // Nobody waits for it any more.
      if (ending.late && answer.body instanceof ReadableStream) await answer.body.cancel();
      return answer;
    } catch (error) {
      over();
      throw error;
    }
  };
  return route.long === true ? work() : ending.within(server.limits.timeout, work());
}

/** A route that takes no query is asked with none: what would be ignored may have been meant. */
const noQuery = z.strictObject({});

interface Admitted {
  readonly caller: Caller;
  readonly project: Project;
  readonly params: unknown;
}

async function callOf(server: Served, route: Route, admitted: Admitted, { id, request, url }: Visit, ending: Ending): Promise<Call> {
  const { caller, project } = admitted;
  const params = checked(route.params, admitted.params, "path");
  const query = checked(route.query ?? noQuery, queryOf(url), "query");
  ending.reading = true;
  const body =
    route.body === undefined ? undefined : checked(route.body, await readJson(request, server.limits.body, ending.signal), "body");
  ending.reading = false;
  return Object.assign(new Asked(ending), project, { id, params, query, body, caller, server, request });
}

/** A getter of a class: in every call a getter of its own would cost more than all else that is done here. */
class Asked {
  readonly #ending: Ending;

  constructor(ending: Ending) {
    this.#ending = ending;
  }

  get signal(): AbortSignal {
    return this.#ending.signal;
  }
}

/** The answer as it is sent. `over` is called when all of it was. */
function written(route: Route, given: unknown, visit: Visit, over: () => void): Answer {
  if (!(given instanceof Response)) {
    over();
    const status = route.status ?? 200;
    return status === 204 ? { status, headers: visit.headers, body: null } : answered(visit, plainJson(given), status);
  }
  const { status, body } = given;
  const headers = { ...visit.headers, ...Object.fromEntries(given.headers), "cache-control": "no-store, no-transform" };
  if (body !== null && visit.request.method !== "HEAD") return { status, headers, body: watched(body, over) };
  void body?.cancel();
  over();
  return { status, headers, body: null };
}

/** A name that is there twice is refused: two readers would see two different calls. */
function queryOf(url: URL): Record<string, string> {
  const found: Record<string, string> = {};
  if (url.search === "") return found;
  for (const [name, value] of url.searchParams) {
    if (Object.hasOwn(found, name)) throw new RathError("request.invalid", `query.${name.slice(0, 100)}: is there twice.`);
    Object.defineProperty(found, name, { value, enumerable: true });
  }
  return found;
}

function answered(visit: Visit, json: string, status = 200, headers: Readonly<Record<string, string>> = {}): Answer {
  return { status, headers: { ...visit.headers, "content-type": "application/json", ...headers }, body: json };
}

async function refuse(server: Served, visit: Visit, thrown: unknown, known: Known): Promise<Answer> {
  // Of somebody nobody knows; each is noted in the access log, which must not be filled by them.
  const isStranger =
    RathError.is(thrown, "access.unauthenticated") || (RathError.is(thrown, "access.forbidden") && known.identity === undefined);
  const error = isStranger
    ? await server.rates.failure(visit.address).then(
        () => thrown,
        (limit: unknown) => limit,
      )
    : thrown;
  const { status, code, body, headers } = answerTo(error, server.clean);
  tell(server, visit, known, { status, code, ...(status < 500 ? {} : { error }) });
  return answered(visit, JSON.stringify(body), status, headers);
}

function tell(server: Served, { id, request, begun }: Visit, known: Known, became: Pick<Seen, "status" | "code" | "error">): void {
  server.seen({ route: undefined, ...known, ...became, request: id, method: request.method, ms: performance.now() - begun });
}
