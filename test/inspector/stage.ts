/**
 * What the inspector is shown on: the rich session of the questions behind a real server on loopback, built once, and beside it work
 * that waits for people, failed, was cancelled or goes on.
 *
 * node --import tsx test/inspector/stage.ts [PORT]   serves it until it is stopped, for whoever wants to look
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createServer, type Server } from "../../src/server/server.ts";
import { buildRich, type Rich } from "../questions/rich.ts";
import { repository } from "../questions/story.ts";
import { type ServedHttp, servedHttp } from "../support/served-http.ts";
import { type Desk, deskWorkflows, fillDesk } from "./desk-work.ts";

/** What whoever only looks at a stage knows of it. */
export interface Looked {
  readonly url: string;
  /** Where its store is. */
  readonly folder: string;
  /** The rich session, and the one that taught it. */
  readonly session: string;
  readonly taught: string;
}

export interface Stage extends Looked, AsyncDisposable {
  readonly rich: Rich;
  /** What waits for people, and runs in every state. */
  readonly desk: Desk;
  readonly server: Server;
}

export async function buildStage(port = 0): Promise<Stage> {
  const rich = await buildRich(deskWorkflows);
  const workspace = join(rich.folder, "desk");
  await mkdir(workspace);
  for (const [path, text] of Object.entries(repository)) await writeFile(join(workspace, path), text);
  const desk = await fillDesk(rich.rath, workspace);
  const stop = new AbortController();
  const working = rich.rath.work({ signal: stop.signal, drain: "1ms" });
  const server = createServer(rich.rath, { auth: "none-on-loopback" });
  const http: ServedHttp = await servedHttp(server, port);
  return {
    ...{ url: http.url, folder: rich.folder, session: rich.session.id, taught: rich.taught.id },
    ...{ rich, desk, server },
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await working;
      await server.close();
      await http[Symbol.asyncDispose]();
      await rich[Symbol.asyncDispose]();
    },
  };
}

if (process.argv[1] === import.meta.filename) {
  const { url, rich } = await buildStage(Number(process.argv[2] ?? 0));
  console.log(`${url}/#/s/${rich.session.id}/graph`);
}
