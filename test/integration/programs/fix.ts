// The workflow of 03-forks.ts, apart from the program that starts it, so that 06-replay.test.ts can import the one without running the other.
import { Agent, best, type Session, Workflow } from "openrath";
import { coding } from "openrath/tools";

const model = "anthropic/claude-sonnet-5";

export class Fix extends Workflow {
  planner = new Agent({ model, instructions: "Plan the fix. Do not edit." });
  coder = new Agent({ model, instructions: "Carry out the plan.", tools: coding });

  async forward(session: Session) {
    const planned = await this.planner.forward(session);
    const styles = { small: "Make the smallest change that works.", thorough: "Also fix the cause and add a test." };
    const tries = await Promise.all(
      Object.entries(styles).map(async ([label, style]) => {
        const coded = await this.coder.forward(planned.fork(label).say(style));
        return coded.check("tests", async ({ sandbox }) => {
          const { exitCode, stderr } = await sandbox.exec("npm test");
          return { passed: exitCode === 0, score: exitCode === 0 ? 1 : 0, reason: stderr.slice(-500) };
        });
      }),
    );
    return best(tries);
  }
}
