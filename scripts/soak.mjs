// The storm of test/crash for as long as one likes: npm run soak -- --minutes 10 --seed 1 --store sqlite
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const { status } = spawnSync(process.execPath, ["--import", "tsx", "test/crash/soak.ts", ...process.argv.slice(2)], {
  cwd: root,
  stdio: "inherit",
});
process.exit(status ?? 1);
