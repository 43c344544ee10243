import {
  Agent,
  openrath,
  replay,
  rerun,
  type Session,
  scripted,
  Workflow,
} from "openrath";

// #region trip
class Trip extends Workflow {
  writer: Agent;
  unit: string;
  constructor(unit: string) {
    super();
    this.unit = unit;
    this.writer = new Agent({
      name: "writer",
      model: scripted((request) =>
        packing(JSON.stringify(request.messages)),
      ),
    });
  }
  async forward(session: Session) {
    const season = await session.do("season", () => "winter", {
      repeat: "safe",
      input: {},
    });
    const weather = await season.do(
      "weather",
      () => `3 ${this.unit}`,
      {
        repeat: "safe",
        input: { unit: this.unit },
      },
    );
    return this.writer.forward(
      weather.say(`It is ${weather.output}, in ${season.output}.`),
    );
  }
}

const packing = (read: string) =>
  read.includes("30 C") ? "Pack a hat." : "Pack a coat.";
// #endregion trip

// #region replay
await using rath = openrath({ store: "memory" });
const trip = new Trip("C");
const session = await trip.forward(rath.session("What do I pack?"));
console.log(session.text); // → Pack a coat.

console.log(String(await replay(session, trip)));
// → identical: 12 events compared, nothing called
console.log(String(await replay(session, new Trip("F"))));
// → diverged at step 6 (do.called) "input.unit" was "C", now "F"
// #endregion replay

// #region rerun
const weather = session.at(7).head; // the result of "weather"
const again = await rerun(session, trip, {
  change: { event: weather, output: "30 C" },
});
console.log(again.session.text, session.text);
// → Pack a hat. Pack a coat.
console.log(`${again.reused} of ${again.of} results reused`);
// → 1 of 3 results reused
// #endregion rerun
