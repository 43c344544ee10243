/** What happens to PostgreSQL servers: connections are cut, and the server dies and comes back. */
import pg from "pg";
import type { PostgresServer } from "../support/postgres-server.ts";
import type { Weather } from "./storm-faults.ts";

export function postgresWeather(server: PostgresServer): Weather {
  return {
    cut: async () => {
      const client = new pg.Client({ connectionString: server.url });
      client.on("error", () => {});
      await client.connect();
      try {
        await client.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname IS NOT NULL");
      } finally {
        await client.end().catch(() => {});
      }
    },
    restart: async () => {
      await server.kill();
      await server.start();
    },
  };
}
