import {
  Agent,
  best,
  loop,
  openrath,
  parallel,
  race,
  type Session,
  scripted,
  sequence,
} from "openrath";

const planner = new Agent({
  name: "planner",
  model: scripted("Two steps."),
});
const sketcher = new Agent({
  name: "sketcher",
  model: scripted("A sketch.", "A better sketch."),
});
const thinker = new Agent({
  name: "thinker",
  model: scripted("A careful patch."),
});

// One after the other. A function of a session does where no agent is needed.
const checked = (session: Session) =>
  session.check("long enough", () => session.text.length > 12);
const drafted = sequence(planner, sketcher, checked);

// Again until it is good, three times at most.
const mended = loop(sequence(sketcher, checked), {
  until: (session) => session.checks.at(-1)?.passed === true,
  max: 3,
});

// Both at once, each on a fork of its own; the better one goes on.
const both = parallel(
  {
    quick: sequence(sketcher, checked),
    careful: sequence(thinker, checked),
  },
  best,
);

// Both at once; the first that comes through wins, the other is stopped.
const first = race({ sketcher, thinker: sequence(planner, thinker) });

await using rath = openrath({ store: "memory" });
for (const flow of [drafted, mended, both, first])
  console.log(
    (await flow.forward(rath.session("Mend the parser."))).text,
  );
// → A sketch.
// → A better sketch.
// → A careful patch.
// → A sketch.
