/** What `doctor` finds about sandboxes: whether commands can be isolated here, how files are laid out, and what was left behind. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { plural } from "../wire/format.ts";
import { orphans } from "../workspace/owner.ts";
import type { Cli } from "./cli.ts";
import { type Finding, hasPackage } from "./finding.ts";

export async function sandboxFindings(cli: Cli, config: string | undefined, home: string): Promise<readonly Finding[]> {
  return [await local(home), memory(cli, config), ...(await leftBehind(cli))];
}

async function local(home: string): Promise<Finding> {
  const check = "sandbox local";
  try {
    const { localSandbox } = await import("../sandbox/local.ts");
    const backend = localSandbox();
    await backend.ready?.();
    return { check, status: "ok", detail: `isolation ${backend.capabilities.isolation}, files by ${await layout(home)}` };
  } catch (error) {
    const [problem = "", ...fix] = (error as Error).message.split(/(?<=\.) /);
    return { check, status: "warn", detail: problem, fix: fix.join(" ") || "see what the message says" };
  }
}

/** Probed on the same disk, in a place of its own: the home itself is not touched by looking. */
async function layout(home: string): Promise<string> {
  const { checkouts } = await import("../workspace/checkouts.ts");
  // A home that cannot be written is told of elsewhere.
  const folder = await mkdtemp(join(home, "doctor-")).catch(() => mkdtemp(join(tmpdir(), "openrath-doctor-")));
  try {
    await using probed = checkouts(folder);
    return await probed.kind({ plain: false });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function memory({ host: { cwd } }: Cli, config: string | undefined): Finding {
  const check = "sandbox memory";
  const installed = [config ?? join(cwd, "openrath.config.ts"), import.meta.filename].some((from) => hasPackage("just-bash", from));
  return installed
    ? { check, status: "ok", detail: "files and commands, just-bash installed" }
    : { check, status: "none", detail: "files only, just-bash not installed", fix: "npm install just-bash" };
}

/** Nothing is said where no store can be opened: that is found elsewhere. */
async function leftBehind(cli: Cli): Promise<readonly Finding[]> {
  const project = await cli.project().catch(() => undefined);
  const home = project?.runtime.sandboxes.places.home();
  if (home === undefined) return [];
  const found = await orphans(home);
  if (found.length === 0) return [{ check: "sandboxes", status: "ok", detail: "none left behind" }];
  return [{ check: "sandboxes", status: "warn", detail: `${plural(found.length, "sandbox")} whose process is gone`, fix: "openrath gc" }];
}
