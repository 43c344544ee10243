import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openrath, type Session, Workflow } from "openrath";

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
    // The run parks here, and holds no worker.
    const asked = await reserved.ask("Ship it?");
    const ship = () => `${reserved.output}, shipped: ${asked.output}`;
    return asked.do("ship", ship, { repeat: "once" });
  }
  async onCancel(session: Session) {
    return session.do("release", () => "seat 7 is free again", {
      repeat: "safe",
    });
  }
}
// #endregion order

let reservations = 0;
function reserve(_key: string) {
  reservations++;
  return "seat 7";
}

const options = {
  store: join(await mkdtemp(join(tmpdir(), "openrath-")), "store.db"),
  workflows: { order: new Order() },
};

// #region wait
const desk = openrath(options);
const run = await desk.run("order", desk.session("Order 7"), {
  key: "order-7",
  deadline: "2d",
});
console.log((await run.settle()).status); // → waiting
await desk.close(); // the process goes; the run still waits
// #endregion wait

// #region answer
await using other = openrath(options); // another process, another day
const [question] = await other.pending();
console.log(question?.kind); // → question
await other.decide(question?.id ?? "", {
  by: "human:ada",
  answer: "yes",
});

const same = await other.run("order", other.session("Order 7"), {
  key: "order-7",
  deadline: "2d",
});
console.log(same.id === run.id); // → true
console.log((await same.result()).output, reservations);
// → seat 7, shipped: yes 1
// #endregion answer

// #region work
const queued = await other.run("order", other.session("Order 8"), {
  key: "order-8",
  queue: true,
});
console.log(await queued.status()); // → queued
const stop = new AbortController();
// What `openrath worker` does.
const working = other.work({ concurrency: 4, signal: stop.signal });
console.log((await queued.settle()).status); // → waiting
await queued.cancel("the customer left", { by: "human:ada" });
console.log((await queued.settle()).status); // → cancelled
stop.abort();
await working;
// #endregion work
