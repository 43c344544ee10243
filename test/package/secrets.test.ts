/** No file of the repository holds what looks like a key, but for the tests that need something of that shape. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { redactor } from "../../src/runtime/redact.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const redact = redactor();

/** How much of each file has the shape of a key and is none. */
const madeUp = {
  "src/agent/configuration.test.ts": 1,
  "src/client/connection.test.ts": 1,
  "src/runtime/redact.test.ts": 2,
  "test/cli/terminal.test.ts": 1,
  "test/golden-cli/keys-ls.txt": 6,
  "test/golden-cli/keys.txt": 5,
};

const checkout = existsSync(`${root}.git`);
if (!checkout) console.log("SKIPPED: which files belong to the repository is asked of git, and this folder is no checkout");

test.skipIf(!checkout)("what has the shape of a key is made up, and listed here", () => {
  const files = execFileSync("git", ["ls-files", "-z"], { cwd: root, encoding: "utf8" }).split("\0").filter(Boolean);
  expect(files.length).toBeGreaterThan(1000);
  const counts = files.map((file) => [file, redact.secretsIn?.(readFileSync(`${root}${file}`, "latin1")).length] as const);
  expect(Object.fromEntries(counts.filter(([, count]) => count !== 0))).toEqual(madeUp);
});
