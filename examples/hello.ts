import { openrath, replay, type Session, Workflow } from "../src/index.ts";

/** Measures at two places at once, each on a fork of its own, and joins what they found. */
class Forecast extends Workflow {
  async forward(session: Session) {
    const [sea, sky] = await Promise.all([
      session.fork("sea").do("measure the sea", () => ({ celsius: 17 }), { repeat: "safe" }),
      session.fork("sky").do("measure the sky", () => ({ celsius: 21 }), { repeat: "safe" }),
    ]);
    const both = await sea.merge(sky);
    return both.do("publish", () => `sea ${sea.output.celsius}, sky ${sky.output.celsius}`, { repeat: "once" });
  }
}

const forecast = new Forecast();
await using rath = openrath({ workflows: { forecast } });
const run = await rath.run(forecast, rath.session("How warm is it?"), { key: "monday" });
const session = await run.result(); // killed on the way? start it again: what has a result is not done twice
console.log(session.output); // sea 17, sky 21
console.log(String(await replay(session, forecast))); // identical: 12 events compared, nothing called
