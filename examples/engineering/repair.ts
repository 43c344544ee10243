/** One issue, from the text in its repository to a durable run of the team. */
import { cp, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Rath, Run } from "openrath";
import type { Team } from "./team.ts";

export interface Issue {
  readonly name: string;
  readonly title: string;
  readonly text: string;
  /** The directory of its repository. */
  readonly repository: string;
}

export const repositories = fileURLToPath(new URL("repositories", import.meta.url));

/** An issue of this example, and its repository copied to where it may be changed. A copy that is there is left alone. */
export async function issueIn(folder: string, name: string): Promise<Issue> {
  const repository = join(folder, name);
  await cp(join(repositories, name), repository, { recursive: true, force: false });
  const text = await readFile(join(repository, "ISSUE.md"), "utf8");
  const [title = name] = text.split("\n");
  return { name, title, text, repository };
}

/** Starts the work on an issue, or finds it by its name: killed on the way, it goes on from what is on record. */
export function repair(rath: Rath, team: Team, { name, title, text, repository }: Issue, sandbox: string): Promise<Run> {
  return rath.run(team, rath.session(text, { title }).to(sandbox, { workspace: repository }), { key: name });
}
