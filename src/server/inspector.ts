/** The inspector: static files that are part of the package. It speaks to this server as any client does, and to no other. */
import { readFile } from "node:fs/promises";
import { extname } from "node:path";
import { html, page } from "../audit/html.ts";

/** Beside the code that was built; a checkout that runs from source has it where the build puts it. */
const folders = [new URL("../inspector/", import.meta.url), new URL("../../dist/inspector/", import.meta.url)];

/** Nothing but what this server hands out is run, loaded or asked; no other page may frame it. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "font-src 'self'",
  "connect-src 'self'",
  ...["base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"],
].join("; ");

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** Files whose names change with their content. */
const lasting = /^assets\/[\w.-]+$/;

/** A file of the inspector by its name; undefined when it has none of that name. */
export async function inspectorFile(name: string): Promise<Response | undefined> {
  const type = types[extname(name)];
  // Names of files that a build made: nothing leads out of its folder.
  if (type === undefined || !(lasting.test(name) || /^[\w-]+\.(?:html|svg)$/.test(name))) return undefined;
  const bytes = await found(name);
  if (bytes === undefined) return name === "index.html" ? missing() : undefined;
  const headers = {
    "content-type": type,
    "content-security-policy": policy,
    "cache-control": lasting.test(name) ? "public, max-age=31536000, immutable" : "no-cache",
  };
  return new Response(bytes, { headers });
}

async function found(name: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
  for (const folder of folders) {
    const bytes = await readFile(new URL(name, folder)).catch(() => undefined);
    if (bytes !== undefined) return new Uint8Array(bytes);
  }
  return undefined;
}

const style = "body{font:1rem/1.5 system-ui,sans-serif;max-width:40rem;margin:4rem auto;padding:0 1rem;color-scheme:light dark}";

/** A checkout whose inspector was not built. */
function missing(): Response {
  const body = html`<h1>OpenRath</h1>
<p>This server answers under <code>/v1</code>; <a href="openapi.json">openapi.json</a> describes every call.</p>
<p>The inspector was not built: run <code>npm run build</code> in the checkout, and load this page again.</p>`;
  return new Response(page({ title: "OpenRath", style, body }), {
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy":
        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      "cache-control": "no-cache",
    },
  });
}
