/**
 * Turns calls away that a browser makes for somebody who is not its user. A page whose name was made to mean this machine (DNS
 * rebinding) gives itself away by `Host`; a page of another origin by `Origin` or `Sec-Fetch-Site`. So calls without a key from this machine
 * can be let in without any page being able to make one.
 */
import { RathError } from "../session/errors.ts";
import { unsupported } from "../session/given.ts";
import { isAllowed } from "./headers.ts";

export interface GuardOptions {
  readonly hosts: ReadonlySet<string>;
  readonly origins: ReadonlySet<string>;
}

export function guardOf(hosts: readonly string[] = [], origins: readonly string[] = [], openOnLoopback = false): GuardOptions {
  for (const host of hosts)
    if (host !== "*" && nameIn(host) !== host.toLowerCase())
      throw unsupported("server.hosts", `names ${JSON.stringify(host)}`, 'give names without a port, like "api.example.com", or "*"');
  for (const origin of origins)
    if (origin !== "*" && originIn(origin) !== origin)
      throw unsupported("server.origins", `names ${JSON.stringify(origin)}`, 'give origins like "https://app.example.com"');
  // A page may be of any name, and have that name mean this machine: then it is a page of the server's own origin.
  if (openOnLoopback && hosts.includes("*"))
    throw unsupported("server.hosts", "takes every name", 'name them, or use auth "keys": any page could do everything here');
  if (openOnLoopback && origins.includes("*"))
    throw unsupported("server.origins", "names every page", 'name the pages, or use auth "keys": any page could do everything here');
  return { hosts: new Set(hosts.map((host) => host.toLowerCase())), origins: new Set(origins) };
}

interface Sender {
  readonly request: Request;
  readonly url: URL;
}

/** Throws what a call is refused with. */
export function checkSender({ request, url }: Sender, { hosts, origins }: GuardOptions): void {
  const said = request.headers.get("host");
  // Where both are there, both count: one was written by whoever calls.
  for (const host of said === null || said === url.host ? [url.host] : [url.host, said]) {
    const name = nameIn(host);
    if (name === undefined || !(hosts.has("*") || hosts.has(name) || isThisMachine(name)))
      throw new RathError(
        "access.forbidden",
        `This server is not called ${shown(host)}: if it should be, give hosts: [${shown(name ?? host)}] (openrath serve --name).`,
        {
          details: { host: host.slice(0, 100) },
        },
      );
  }
  checkOrigin(request, said ?? url.host, origins);
}

function checkOrigin(request: Request, host: string, origins: ReadonlySet<string>): void {
  const { headers, method } = request;
  const origin = headers.get("origin");
  const site = headers.get("sec-fetch-site");
  if (origin !== null) {
    if (isAllowed(origin, origins) || isSame(origin, host)) return;
    throw new RathError(
      "access.forbidden",
      `Pages of ${shown(origin)} may not call this server: if they should, give origins: [${shown(origin)}] (openrath serve --origin).`,
      {
        details: { origin: origin.slice(0, 100) },
      },
    );
  }
  // A page that only shows us, like a picture, sends no origin. A person who follows a link is let in: that changes nothing.
  if (site === null || site === "same-origin" || site === "none") return;
  if (
    (method === "GET" || method === "HEAD") &&
    headers.get("sec-fetch-mode") === "navigate" &&
    headers.get("sec-fetch-dest") === "document"
  )
    return;
  throw new RathError("access.forbidden", "Pages of other origins may not call this server.");
}

function isSame(origin: string, host: string): boolean {
  return URL.canParse(origin) && /^https?:/.test(origin) && new URL(origin).host === host.toLowerCase();
}

/** Names that mean this machine whatever a DNS server says. */
function isThisMachine(name: string): boolean {
  return name === "localhost" || name.endsWith(".localhost") || /^127\.\d+\.\d+\.\d+$/.test(name) || name === "[::1]";
}

/** The name in a host and port; undefined when there is none. */
function nameIn(host: string): string | undefined {
  if (!/^(?:[\w.-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i.test(host)) return undefined;
  const name = host.toLowerCase().replace(/:\d+$/, "");
  return URL.canParse(`http://${name}/`) ? name : undefined;
}

function originIn(text: string): string | undefined {
  return URL.canParse(text) ? new URL(text).origin : undefined;
}

function shown(text: string): string {
  return JSON.stringify(text.slice(0, 100));
}
