/** What is done by the process that dies and by the one that goes on. */
import type { Rath } from "../../src/runtime/rath.ts";
import type { Session } from "../../src/session/session.ts";
import { shell, writeFile } from "../../src/tool/builtin/tools.ts";
import { Workflow } from "../../src/workflow/workflow.ts";

export const points = [
  "before the directory is stored",
  "after the directory was stored",
  "before the command",
  "during the command",
  "after the command",
  "while its files are read",
  "after its files were read",
  "before the commit",
  "during the commit",
  "after the commit",
] as const;
export type Point = (typeof points)[number];

/** Begins with a file that a crash leaves half written, and says what it found; how long it sleeps is not on record. */
export class Work extends Workflow {
  readonly name = "work";
  readonly #marker: string;

  constructor(marker: string) {
    super();
    this.#marker = marker;
  }

  async forward(session: Session): Promise<Session> {
    const written = await session.call(writeFile, { path: "src/new.txt", content: "new\n" });
    const first = await written.call(shell, { command: "echo 1 >> count.txt; rm given/removed.txt" });
    const half = `: ${this.#marker}; ls; printf half > half.txt; echo half; sleep $SLEEP; printf ' whole' >> half.txt; echo 2 >> count.txt`;
    const second = await first.call(shell, { command: half });
    return second.call(shell, { command: "cat half.txt count.txt > sum.txt" });
  }
}

export function placed(rath: Rath, placement: string, workspace: string): Session {
  const network = placement === "network" ? ({ network: "all" } as const) : {};
  return rath.session("go").to(placement === "network" ? "local" : placement, { workspace, ...network, env: { SLEEP: true } });
}
