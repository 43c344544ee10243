import type { Session } from "../../src/session/session.ts";
import { Workflow } from "../../src/workflow/workflow.ts";

/** A workflow made of a function, for tests. */
export class Flow extends Workflow {
  readonly name: string;
  readonly #run: (session: Session) => Promise<Session>;

  constructor(run: (session: Session) => Promise<Session>, name = "flow") {
    super();
    this.name = name;
    this.#run = run;
  }

  async forward(session: Session): Promise<Session> {
    return this.#run(session);
  }
}
