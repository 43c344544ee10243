/** One issue, from the text in its repository to a durable run of the team. */
import { cp, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Rath, Run } from "openrath";
import type { Team } from "./team.ts";

export const repositories = fileURLToPath(new URL("repositories", import.meta.url));

/** Starts the work on an issue, or finds it by its name: killed on the way, it goes on from what is on record. */
export async function repair(rath: Rath, team: Team, name: string, folder: string, sandbox: string): Promise<Run> {
  const workspace = join(folder, name);
  await cp(join(repositories, name), workspace, { recursive: true, force: false }); // a copy that is there is left alone
  const text = await readFile(join(workspace, "ISSUE.md"), "utf8");
  const issue = rath.session(text, { title: `${name}: ${text.split("\n", 1)[0]}` });
  return rath.run(team, issue.to(sandbox, { workspace, env: { PATH: true } }), { key: name });
}
