import type { Session } from "openrath";
import { Agent, tool, Workflow } from "openrath";
import { z } from "zod";

const orderStatus = tool({
  name: "order_status",
  description: "The state of an order by its number.",
  input: z.object({ order: z.number().int() }),
  writes: "nothing",
  run: ({ order }) => ({ order, state: "lost on the way" }),
});

/** What is tested: a prompt, a tool and the code around them. */
export class Triage extends Workflow {
  agent: Agent;
  constructor(instructions = "You answer customers. Look their order up before you answer.") {
    super();
    this.agent = new Agent({
      name: "triage",
      model: "openai/gpt-5.5",
      instructions,
      tools: [orderStatus],
    });
  }
  async forward(session: Session) {
    const answered = await this.agent.forward(session);
    return answered.check("names the order", () => answered.text.includes("42"));
  }
}
