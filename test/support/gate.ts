/** A project for tests of servers as processes: quick work, work that waits for a file, a question to a person, and models that talk. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";

export const gateConfig = (openrathOptions = "", repeat = "once"): string => `
import { existsSync } from "node:fs";
class Quick extends Workflow {
  async forward(session: Session) {
    session = await session.do("witness", () => void appendFileSync("witness", session.messages.at(-1)?.text + "\\n"), { repeat: "${repeat}" });
    return session.do("second", () => 1, { repeat: "${repeat}" });
  }
}
class Slow extends Workflow {
  forward(session: Session) {
    return session.do("sleep", async ({ signal }) => {
      appendFileSync("began", process.pid + "\\n");
      while (!existsSync("gate")) {
        signal.throwIfAborted();
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    }, { repeat: "safe" });
  }
}
class Asks extends Workflow {
  async forward(session: Session) {
    return session.ask("May I?", undefined, { to: "human:bob" });
  }
}
export const rath = openrath({ workflows: { quick: new Quick(), slow: new Slow(), asks: new Asks() }${openrathOptions} });
`;

export async function linesOf(folder: string, file: string): Promise<readonly string[]> {
  const text = await readFile(join(folder, file), "utf8").catch(() => "");
  return text === "" ? [] : text.trimEnd().split("\n");
}
