/** What a browser loads for `openrath/client`. */
import { createContext, runInContext } from "node:vm";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { expect, test } from "vitest";
import { doors } from "../support/doors.ts";

const budget = 15 * 1024;

async function bundled(format: "esm" | "iife"): Promise<{ readonly code: Uint8Array; readonly inputs: readonly string[] }> {
  const { outputFiles, metafile } = await build({
    entryPoints: [doors.get("openrath/client") as string],
    ...{ bundle: true, minify: true, write: false, metafile: true, format, platform: "browser", target: "es2022" },
    globalName: "openrath",
  });
  return { code: outputFiles[0]?.contents as Uint8Array, inputs: Object.keys(metafile.inputs) };
}

test("the client is small, and holds nothing of Node, of Zod or of the runtime", async () => {
  const { code, inputs } = await bundled("esm");
  expect(inputs.filter((file) => !/(?:^|\/)(?:src\/(?:client|wire|session)\/|node_modules\/eventsource-parser\/)/.test(file))).toEqual([]);
  const size = gzipSync(code).length;
  console.log(`openrath/client: ${(size / 1024).toFixed(1)} KB gzipped, of ${budget / 1024} KB`);
  expect(size).toBeLessThan(budget);
});

test("with what browsers have, and nothing else, it makes calls and reads streams", async () => {
  const asked: string[] = [];
  const answers: Readonly<Record<string, () => Response>> = {
    "/app/v1/health": () => Response.json({ status: "ok" }),
    "/app/v1/stream": () => {
      const text = 'id: 1\nevent: event\ndata: {"type":"event","event":{"kind":"message.added"}}\n\nevent: end\ndata: {}\n\n';
      return new Response(text, { headers: { "content-type": "text/event-stream" } });
    },
  };
  const web = {
    ...{ AbortController, AbortSignal, Headers, ReadableStream, Request, Response, TextDecoder, URL, setTimeout, clearTimeout },
    location: { href: "https://example.org/app/page" },
    fetch: async (request: Request) => {
      asked.push(`${request.method} ${request.url} ${request.headers.get("authorization")}`);
      return answers[new URL(request.url).pathname]?.();
    },
  };
  const context = createContext(web);
  runInContext(Buffer.from((await bundled("iife")).code).toString(), context);
  const program = `(async () => {
    const client = openrath.connect({ url: ".", key: "rath_x" });
    const kinds = [];
    for await (const part of client.project.stream({ from: "start" })) kinds.push(part.event.kind + " " + part.cursor);
    return JSON.stringify([await client.server.health(), kinds]);
  })()`;
  expect(JSON.parse(await runInContext(program, context))).toEqual([{ status: "ok" }, ["message.added 1"]]);
  expect(asked).toEqual([
    "GET https://example.org/app/v1/stream?from=start Bearer rath_x",
    "GET https://example.org/app/v1/health Bearer rath_x",
  ]);
});
