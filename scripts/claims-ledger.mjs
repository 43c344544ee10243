// docs/claims.md as data: what is claimed, whether it is said to hold, the commands that show it, and what they do not prove.

import { readFileSync } from "node:fs";

/**
 * The rows R1, R2, … in the order of the ledger.
 *
 * @returns {{ id: string, claim: string, status: string, commands: string[], doesNotProve: string }[]}
 */
export function readLedger(text = readFileSync(new URL("../docs/claims.md", import.meta.url), "utf8")) {
  return [...text.matchAll(/^\| (R\d+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$/gm)].map(
    ([, id = "", claim = "", status = "", shown = "", rest = ""]) => ({
      id,
      claim,
      status,
      commands: [...shown.matchAll(/`([^`]+)`/g)].map(([, command = ""]) => command),
      doesNotProve: rest === "–" ? "" : rest,
    }),
  );
}

/** What a command of vitest looks for: parts of the names of test files. Undefined for every other command. */
export function testsOf(command) {
  return command.startsWith("npx vitest run ") ? command.split(" ").slice(3) : undefined;
}

/**
 * Those whose ids are asked for; without any, those that are supported. Unknown ids are an error.
 *
 * @param {ReturnType<typeof readLedger>} rows
 * @param {readonly string[]} ids
 */
export function chosen(rows, ids) {
  if (ids.length === 0) return rows.filter(({ status }) => status === "supported");
  const unknown = ids.filter((id) => !rows.some((row) => row.id === id));
  if (unknown.length > 0) throw new Error(`There is no ${unknown.join(", ")} in docs/claims.md.`);
  return rows.filter(({ id }) => ids.includes(id));
}
