/** The workflow of start.ts: pays three people in each of two regions at once, then closes the books. */
import { type Session, Workflow } from "../src/index.ts";

export const regions = { north: ["Ada", "Ben", "Cleo"], south: ["Dan", "Eve", "Finn"] } as const;

/** Does something in the world and says which line it left in the ledger. */
export type Act = (what: string) => Promise<string>;

export class Payout extends Workflow {
  readonly name = "payout";
  readonly #act: Act;

  constructor(act: Act) {
    super();
    this.#act = act;
  }

  async forward(session: Session) {
    const [north, south] = await Promise.all([
      this.#pay(session.fork("north"), regions.north), //
      this.#pay(session.fork("south"), regions.south),
    ]);
    const both = await north.merge(south);
    return both.do("close the books", () => this.#act("close the books"), { repeat: "once" });
  }

  async #pay(session: Session, people: readonly string[]): Promise<Session> {
    let paid = session;
    for (const person of people) paid = await paid.do(`pay ${person}`, () => this.#act(`pay ${person}`), { repeat: "once" });
    return paid;
  }
}
