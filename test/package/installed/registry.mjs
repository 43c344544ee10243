/** A registry that has the packed package; everything else is asked of the registry that npm is configured with. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";

/** So that `npx openrath` and `npm install` find the package by its name, as they will once it is published. */
export async function serveRegistry(tarball, manifest, upstream) {
  const bytes = await readFile(tarball);
  const file = `/${manifest.name}/-/${manifest.name}-${manifest.version}.tgz`;
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url, "http://registry");
    if (pathname === file) return response.end(bytes);
    if (pathname === `/${manifest.name}`) {
      response.setHeader("content-type", "application/json");
      response.setHeader("cache-control", "no-store");
      return response.end(JSON.stringify(packument(`http://${request.headers.host}${file}`)));
    }
    passOn(request, response, new URL(request.url.slice(1), upstream)).catch((error) => {
      response.statusCode = 502;
      response.end(String(error));
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${server.address().port}/`, close: () => server.close() };

  function packument(tarballUrl) {
    const integrity = `sha512-${createHash("sha512").update(bytes).digest("base64")}`;
    const version = { ...manifest, dist: { tarball: tarballUrl, integrity } };
    return { name: manifest.name, "dist-tags": { latest: manifest.version }, versions: { [manifest.version]: version } };
  }
}

async function passOn(request, response, url) {
  const headers = request.headers.accept === undefined ? {} : { accept: request.headers.accept };
  const answer = await fetch(url, { method: request.method, headers });
  response.statusCode = answer.status;
  response.setHeader("content-type", answer.headers.get("content-type") ?? "application/json");
  response.end(Buffer.from(await answer.arrayBuffer()));
}
