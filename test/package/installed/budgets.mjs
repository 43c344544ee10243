/**
 * How large the package may be, and how much work it is to start it. Starts are measured over bare Node, in turns, by the time
 * that processors spent on them: on a busy machine the time on the clock says little. Times on the clock are in `npm run bench`.
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";

const kilobytes = (bytes) => `${Math.round(bytes / 1000)} KB`;
const rounds = 9;

export function sizes({ size, unpackedSize }) {
  return [
    { what: "packed", figure: size, limit: 2_000_000, shown: kilobytes, limits: kilobytes },
    { what: "unpacked", figure: unpackedSize, limit: 8_000_000, shown: kilobytes, limits: kilobytes },
  ];
}

/** Says what a process cost, when it ends. */
const meter = `data:text/javascript,process.on("exit", () => { const { user, system } = process.cpuUsage(); process._rawDebug(user + system); })`;

export function starts({ folder, node, env }) {
  const cases = {
    bare: ["--eval", ""],
    import: ["--input-type=module", "--eval", 'await import("openrath")'],
    version: [join(folder, "node_modules/openrath/dist/cli/main.js"), "--version"],
  };
  const costs = { bare: [], import: [], version: [] };
  for (let round = 0; round < rounds; round++)
    for (const [name, args] of Object.entries(cases)) {
      const { status, stderr } = spawnSync(node, ["--import", meter, ...args], { cwd: folder, env, encoding: "utf8" });
      const cost = Number(stderr.trim()) / 1000;
      if (status !== 0 || !(cost > 0)) throw new Error(`${name}: ${stderr}`);
      costs[name].push(cost);
    }
  const [bare, imported, version] = Object.values(costs).map(median);
  const shown = (ms) => `${Math.round(ms)} ms of processor time over bare Node, which takes ${Math.round(bare)}`;
  const limits = (ms) => `${ms} ms`;
  return [
    { what: 'import "openrath"', figure: imported - bare, limit: 110, shown, limits },
    { what: "openrath --version", figure: version - bare, limit: 60, shown, limits },
  ];
}

function median(values) {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
}
