/**
 * Telling and hearing of changes. PostgreSQL serialises commits that notify, so an append tells of due runs only (in the database's
 * function); that logs grew is told a few times a second, outside. Hints may be lost: polling is the truth.
 */
import type { Connection } from "../postgres/connection.ts";
import type { News } from "./store.ts";

/** At most ten times a second. */
const tellEveryMs = 100;
/** More than fit into a message are told as "something". */
const mostLogs = 100;
const mostBytes = 7000;
/** PostgreSQL takes less than 8000. */
const mostPayload = 7900;

export class Teller {
  readonly #connection: Connection;
  readonly #grown = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #telling: Promise<void> = Promise.resolve();

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  grown(sessions: Iterable<string>): void {
    for (const session of sessions) this.#grown.add(session);
    if (this.#grown.size === 0 || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => this.#tell(), tellEveryMs);
    this.#timer.unref();
  }

  /** What is not told yet is told at once. */
  async settled(): Promise<void> {
    clearTimeout(this.#timer);
    if (this.#grown.size > 0) this.#tell();
    await this.#telling;
  }

  #tell(): void {
    this.#timer = undefined;
    const { tenant, project } = this.#connection;
    let logs = [...this.#grown];
    this.#grown.clear();
    if (logs.length > mostLogs || Buffer.byteLength(JSON.stringify(logs)) > mostBytes - 2 * (tenant.length + project.length)) logs = [];
    const sql = `SELECT pg_notify('openrath.news', $1)::text`;
    // A hint that is lost costs nobody but a poll.
    this.#telling = this.#connection.write(sql, [JSON.stringify([tenant, project, logs])]).then(
      () => {},
      () => {},
    );
  }
}

/** Words to whoever listens. What does not fit is not told: nobody may rely on it. */
export async function tellWords(connection: Connection, words: unknown): Promise<void> {
  const payload = JSON.stringify([connection.tenant, connection.project, [], words]);
  if (Buffer.byteLength(payload) < mostPayload) await connection.write("SELECT pg_notify('openrath.news', $1)::text", [payload]);
}

/** Listens on a connection outside the pool, which stores of one shared pool have together. */
export async function watchNews(connection: Connection, hear: (news: News) => void): Promise<AsyncDisposable> {
  const { tenant, project } = connection;
  return connection.listen("openrath.news", {
    hear: (payload) => {
      const told = toldIn(payload);
      if (told?.[0] !== tenant || told[1] !== project) return;
      const [, , logs, words] = told;
      hear({ due: logs === undefined, logs: logs ?? [], ...(words === undefined ? {} : { words }) });
    },
    missed: () => hear({ due: true, logs: [] }),
  });
}

/** Undefined for what is not ours: everybody who may connect to the database may notify. */
function toldIn(payload: string): readonly [tenant: unknown, project: unknown, logs?: string[], words?: unknown] | undefined {
  try {
    const told: unknown = JSON.parse(payload);
    if (!Array.isArray(told)) return undefined;
    const [tenant, project, logs, words] = told as readonly unknown[];
    return logs === undefined
      ? [tenant, project]
      : [tenant, project, Array.isArray(logs) ? logs.filter((log) => typeof log === "string") : [], words];
  } catch {
    return undefined;
  }
}
