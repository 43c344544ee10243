// The storm of test/crash for as long as one likes: npm run soak -- --minutes 10 --seed 1 --store sqlite
// With --server: a thousand readers of a server's streams, against the built package: npm run soak -- --server --minutes 10
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const given = process.argv.slice(2);
const script = given.includes("--server") ? ["bench/ours/server/soak.mjs"] : ["--import", "tsx", "test/crash/soak.ts"];
const { status } = spawnSync(process.execPath, [...script, ...given], {
  cwd: root,
  stdio: "inherit",
});
process.exit(status ?? 1);
