/** How large the package may be, and how long it may take to start. Times are held against bare Node, in turns: machines differ, ratios less. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";

const kilobytes = (bytes) => `${Math.round(bytes / 1000)} KB`;
const rounds = 9;

export function sizes({ size, unpackedSize }) {
  return [
    { what: "packed", figure: size, limit: 2_000_000, shown: kilobytes },
    { what: "unpacked", figure: unpackedSize, limit: 8_000_000, shown: kilobytes },
  ];
}

export function starts({ folder, node, env }) {
  const cases = {
    bare: ["--eval", ""],
    import: ["--input-type=module", "--eval", 'await import("openrath")'],
    version: [join(folder, "node_modules/openrath/dist/cli/main.js"), "--version"],
  };
  const times = { bare: [], import: [], version: [] };
  for (let round = 0; round < rounds; round++)
    for (const [name, args] of Object.entries(cases)) {
      const began = performance.now();
      const { status, stderr } = spawnSync(node, args, { cwd: folder, env, encoding: "utf8" });
      times[name].push(performance.now() - began);
      if (status !== 0) throw new Error(`${name}: ${stderr}`);
    }
  const [bare, imported, version] = Object.values(times).map(median);
  const shown = (ratio) => `${ratio.toFixed(1)} times bare Node (${Math.round(ratio * bare)} ms of ${Math.round(bare)})`;
  return [
    { what: 'import "openrath"', figure: imported / bare, limit: 8, shown },
    { what: "openrath --version", figure: version / bare, limit: 5, shown },
  ];
}

function median(values) {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
}
