import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type EffectContext,
  openrath,
  type Session,
  Workflow,
} from "openrath";

// #region order
class Order extends Workflow {
  async forward(session: Session) {
    const reserved = await session.do(
      "reserve",
      ({ key }) => reserve(key),
      {
        repeat: "keyed",
      },
    );
    const paid = await reserved.do("pay", pay, { repeat: "once" });
    return paid.do("receipt", () => `receipt: ${paid.output}`, {
      repeat: "safe",
    });
  }
}
// #endregion order

// #region world
/** What happened in the world, whatever the log says. */
const world: string[] = [];
let moneyIsTaken = () => {};
const taken = new Promise<void>((resolve) => {
  moneyIsTaken = resolve;
});

function reserve(_key: string) {
  world.push("reserved");
  return "seat 7";
}

/** Takes the money, and loses the connection before it can say so. */
function pay({ signal }: EffectContext): Promise<string> {
  world.push("paid");
  moneyIsTaken();
  return new Promise((_, reject) =>
    signal.addEventListener("abort", () => reject(signal.reason)),
  );
}
// #endregion world

// #region crash
const options = {
  store: join(await mkdtemp(join(tmpdir(), "openrath-")), "store.db"),
  workflows: { order: new Order() },
};
const first = openrath(options);
const { id } = await first.run(
  "order",
  first.session("Seat 7, please"),
);
await taken;
// the process ends while the payment is under way
await first.close();

await using second = openrath(options); // another process
const run = await second.resume(id);
console.log((await run.settle()).status, world);
// → waiting [ 'reserved', 'paid' ]

const [waiting] = await second.pending();
console.log(waiting?.kind, waiting?.kind === "unknown" && waiting.op);
// → unknown pay
await second.decide(waiting?.id ?? "", {
  by: "human:ada",
  reason: "It is on the statement.",
  outcome: { type: "ok", value: "12 EUR" },
});

console.log((await run.result()).output, world);
// → receipt: 12 EUR [ 'reserved', 'paid' ]
// #endregion crash
