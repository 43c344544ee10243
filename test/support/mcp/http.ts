import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { published } from "./calls.ts";

/** A port of this machine that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("A server on a port has an address with a port.");
  return address.port;
}

/** The published server that shows everything, over HTTP; started again it has forgotten its sessions. */
export class HttpServer implements AsyncDisposable {
  readonly port: number;
  #child: ChildProcess | undefined;

  constructor(port: number) {
    this.port = port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/mcp`;
  }

  async start(): Promise<void> {
    const { command, args = [] } = published("everything", "streamableHttp");
    const child = spawn(command, args, {
      env: { PATH: process.env["PATH"], PORT: String(this.port) },
      stdio: ["ignore", "ignore", "pipe"],
    });
    this.#child = child;
    for await (const chunk of child.stderr) if (String(chunk).includes("listening")) return;
    throw new Error("The server did not start.");
  }

  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill();
  }
}
