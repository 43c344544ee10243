/** The same cases as an ordinary user, when root runs the tests: other limits hold then, and other mistakes are possible. */
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findProgram } from "../../src/sandbox/find-program.ts";
import { cases } from "./cases.ts";
import { plainScripts } from "./plain-node.ts";

/** Without an entry among the users and without a home, as in many containers: what asks for either fails. */
const stranger = "4711";
const setpriv = findProgram("setpriv");
const impossible = whyNot();
if (impossible !== undefined) console.warn(`The hostile cases are not run as another user: ${impossible}`);

function whyNot(): string | undefined {
  if (process.getuid?.() !== 0) return "only root can become another, and whoever runs this is an ordinary user already";
  if (setpriv === undefined || findProgram("bwrap") === undefined) return "setpriv and bwrap are needed";
  const { status, stderr } = asStranger([process.execPath, "-e", "0"]);
  if (status !== 0) return `Node does not run as user ${stranger}: ${stderr}`;
  const { status: namespaces, stderr: said } = asStranger(["bwrap", "--ro-bind", "/", "/", "--unshare-user", "true"]);
  return namespaces === 0 ? undefined : `user ${stranger} cannot make namespaces: ${said}`;
}

function asStranger(argv: readonly string[]) {
  const become = ["--reuid", stranger, "--regid", stranger, "--clear-groups", "--"];
  return spawnSync(setpriv as string, [...become, ...argv], {
    cwd: "/",
    env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" },
    encoding: "utf8",
  });
}

let built: ReturnType<typeof plainScripts>;
const results = new Map<string, { readonly skipped?: string; readonly failed?: string }>();

beforeAll(() => {
  built = plainScripts(["run-cases.ts", "script-descriptors.ts", "script-crash.ts"]);
  if (impossible !== undefined) return;
  const { stdout, stderr } = asStranger([process.execPath, `${built.scripts}/run-cases.js`]);
  for (const line of stdout.trim().split("\n").filter(Boolean)) {
    const { name, ...result } = JSON.parse(line) as { readonly name: string };
    results.set(name, result);
  }
  if (results.size < cases.length) console.error(stderr);
}, 180_000);
afterAll(() => rmSync(built.folder, { recursive: true, force: true }));

test.skipIf(impossible !== undefined).each(cases.map((each) => each.name))("%s", (name) => {
  const result = results.get(name);
  expect(result).toBeDefined();
  expect(result?.failed).toBeUndefined();
  if (result?.skipped !== undefined) console.info(`${name}: not tried, ${result.skipped}`);
});
