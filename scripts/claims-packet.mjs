// A packet is a folder for one claim: the command, what it printed, where that was, what it shows, what it does not, what was skipped.
// All of them lie in one folder with a ledger, a manifest of the source and the machine, and the hashes of all files.

import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { join, relative } from "node:path";

/** Writes the packets of these results, `{ row, judged }`, in place of those that were there. */
export function writePackets(folder, results, { source, command, began }, env = process.env) {
  rmSync(folder, { recursive: true, force: true });
  for (const { row, judged } of results) {
    const { output, ...verdict } = judged;
    const packet = {
      ...row,
      ...verdict,
      rebuild: `npm run claims -- --only ${row.id}`,
      manifest: "../manifest.json",
      output: "output.txt",
    };
    put(`${row.id}/packet.json`, json(packet));
    put(`${row.id}/output.txt`, output);
    put(`${row.id}/README.md`, scope(row, judged));
  }
  put("ledger.md", ledger(results));
  const machine = { node: process.version, platform: `${process.platform} ${process.arch}`, cpus: cpus().length, memory: totalmem() };
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const hashes = files
    .map((entry) => join(entry.parentPath, entry.name))
    .map((file) => [relative(folder, file), sha256(readFileSync(file))]);
  put(
    "manifest.json",
    json({
      format: "openrath.packets",
      version: 1,
      command,
      began,
      ended: new Date().toISOString(),
      source,
      machine,
      files: Object.fromEntries(hashes.sort()),
    }),
  );

  function put(name, text) {
    mkdirSync(join(folder, name, ".."), { recursive: true });
    writeFileSync(join(folder, name), redacted(text, env));
  }
}

/** One line for each claim. */
export function ledger(results) {
  const lines = results.map(({ row, judged }) => {
    const skipped = judged.skipped.length === 0 ? "–" : `${judged.skipped.length} tests`;
    return `| ${row.id} | ${row.claim} | ${judged.verdict} | ${judged.passed} | ${skipped} | ${judged.seconds.toFixed(1)} |`;
  });
  return ["| R | claim | verdict | shown by | skipped | seconds |", "|---|---|---|---|---|---|", ...lines, ""].join("\n");
}

function scope(row, { verdict, skipped, problems, passed }) {
  const list = (items) => items.map((item) => `- ${item}\n`).join("") || "- nothing\n";
  return `# ${row.id}: ${row.claim}

In the ledger it is *${row.status}*. Here it ${verdict}: ${passed} tests or commands passed.

What was run:\n\n${list(row.commands.map((command) => `\`${command}\``))}
What it does not prove:\n\n${list(row.doesNotProve === "" ? [] : [row.doesNotProve])}
What was skipped:\n\n${list(skipped)}
What failed:\n\n${list(problems)}`;
}

/** Values of variables that are named like secrets, and addresses with a password, do not leave the machine in what a command printed. */
export function redacted(text, env) {
  const isSecret = ([name, value]) => /KEY|TOKEN|SECRET|PASSWORD/i.test(name) || /^\w+:\/\/[^/]*@/.test(value);
  const secrets = Object.entries(env).filter((entry) => isSecret(entry) && entry[1].length >= 8);
  return secrets.reduce((sum, [name, value]) => sum.replaceAll(value, `[${name}]`), text);
}

function json(value) {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}

function sha256(bytes) {
  return createHash("sha256").update(bytes).digest("hex");
}
