/** A home that belongs to somebody else, looked at by a real process of another user. */
import { spawnSync } from "node:child_process";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openrath } from "../../src/index.ts";

const nobody = 65_534;
const root = fileURLToPath(new URL("../..", import.meta.url));
const skipped = process.getuid?.() !== 0;
if (skipped) console.log("skipped: only root can start a process of another user");

let folder = "";
const home = () => join(folder, ".openrath");
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "openrath-foreign-"));
  await chmod(folder, 0o755);
  await using rath = openrath({ store: join(home(), "store.db") });
  await rath.session("theirs").do("x", () => 1);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** What doctor finds, run by somebody who may do nothing here. */
function found(): Record<string, { readonly status: string; readonly detail: string; readonly fix: string | null }> {
  const { PATH, NODE_OPTIONS } = process.env;
  const env = { PATH, NODE_OPTIONS, HOME: folder, TSX_TSCONFIG_PATH: join(root, "tsconfig.json"), TSX_DISABLE_CACHE: "1" };
  const argv = ["--import", import.meta.resolve("tsx"), join(root, "src/cli/main.ts"), "doctor", "--json"];
  const { stdout } = spawnSync(process.execPath, argv, { cwd: folder, env, uid: nobody, gid: nobody, encoding: "utf8" });
  return Object.fromEntries(JSON.parse(stdout).map((one: { check: string }) => [one.check, one]));
}

/** That it is unreadable, not that it is missing and can be made. */
const key = () => ({ status: "fail", detail: `${join(home(), "signing-key.pem")} cannot be read: permission denied` });
const store = { status: "fail", detail: expect.stringMatching(/store\.db cannot be opened: permission denied\. Open it as the user/) };

test.skipIf(skipped)("doctor says whose a home is that cannot be entered", () => {
  const detail = `${home()} belongs to another user (uid 0)`;
  expect(found()).toMatchObject({
    home: { status: "fail", detail, fix: expect.stringMatching(/^run as the user/) },
    "signing key": key(),
    store,
  });
});

test.skipIf(skipped)("and what cannot be read in one that can be entered", async () => {
  await chmod(home(), 0o755);
  expect(found()).toMatchObject({ "signing key": key(), store });
});
