/** A call as it arrives, before anybody knows who makes it: its id, where it comes from, and what its answer must say to browsers. */
import { randomUUID } from "node:crypto";
import { isIP } from "node:net";
import { corsHeaders, securityHeaders } from "./headers.ts";

export interface Visit {
  /** Names the call in answers and logs. */
  readonly id: string;
  readonly request: Request;
  readonly url: URL;
  /** Where the connection comes from; undefined where the adapter of the runtime does not say. */
  readonly address: string | undefined;
  /** What every answer to it says. */
  readonly headers: Readonly<Record<string, string>>;
  /** `performance.now()`. */
  readonly begun: number;
}

/** `env` is what the adapter gives beside a request: that of Node gives the incoming message. */
export function visitOf(request: Request, env: unknown, origins: ReadonlySet<string>): Visit {
  const id = requestId(request);
  const address = addressOf(env);
  return {
    ...{ id, request, address },
    url: urlOf(request),
    headers: { ...securityHeaders, "x-request-id": id, ...corsHeaders(request, origins) },
    begun: performance.now(),
  };
}

/** An adapter may take a host for one that is none, like 256.0.0.1: it names nobody, and is refused as such. */
function urlOf({ url }: Request): URL {
  return URL.canParse(url) ? new URL(url) : new URL("http://nobody.invalid/");
}

/** It comes from this very machine, and nobody passed it on. */
export function isLocal({ address, request: { headers } }: Visit): boolean {
  return address !== undefined && isLoopback(address) && !passedOn.some((name) => headers.has(name));
}

/** Whoever calls may name the call, in few and plain characters: it goes to logs. */
function requestId(request: Request): string {
  const given = request.headers.get("x-request-id");
  return given !== null && /^[A-Za-z0-9][\w.:-]{0,63}$/.test(given) ? given : randomUUID();
}

function addressOf(env: unknown): string | undefined {
  const given = (env as { readonly incoming?: { readonly socket?: { readonly remoteAddress?: unknown } } } | undefined)?.incoming?.socket
    ?.remoteAddress;
  return typeof given === "string" && isIP(given) !== 0 ? given : undefined;
}

/** Whatever is said here, somebody stands between: a call from the other side of a proxy on this machine is not of this machine. */
const passedOn = [
  ...["forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-forwarded-server", "x-forwarded-port"],
  ...["x-real-ip", "x-client-ip", "x-cluster-client-ip", "true-client-ip", "cf-connecting-ip", "fastly-client-ip", "x-original-host"],
];

/** Of what `isIP` takes for an address. */
function isLoopback(address: string): boolean {
  return address === "::1" || /^(?:::ffff:)?127\.\d+\.\d+\.\d+$/i.test(address);
}
