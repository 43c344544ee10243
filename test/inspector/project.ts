/** A small project behind a server of its own, for tests that change something. */
import { type Client, connect } from "../../src/client/client.ts";
import { openrath, type Rath, type RathOptions } from "../../src/index.ts";
import { createServer } from "../../src/server/server.ts";
import { servedHttp } from "../support/served-http.ts";

export interface Project extends AsyncDisposable {
  readonly rath: Rath;
  readonly url: string;
  readonly client: Client;
  /** The server is gone in the middle of whatever it does. */
  kill(): Promise<void>;
  /** Another one at the same address. */
  again(): Promise<void>;
}

export async function serveProject(options: RathOptions = {}): Promise<Project> {
  const rath = openrath({ store: "memory", ...options });
  const server = createServer(rath, { auth: "none-on-loopback" });
  let http = await servedHttp(server);
  const again = async (): Promise<void> => {
    http = await servedHttp(server, http.port);
  };
  return {
    ...{ rath, url: http.url, client: connect({ url: http.url }), kill: () => http.kill(), again },
    [Symbol.asyncDispose]: async () => {
      await server.close();
      await http[Symbol.asyncDispose]();
      await rath.close();
    },
  };
}
