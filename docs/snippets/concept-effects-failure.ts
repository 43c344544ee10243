import { openrath, RathError, type Session } from "openrath";

await using rath = openrath({ store: "memory" });

function fetchRates(): string {
  throw new Error("503");
}

/** Goes on after a failure without losing what came before it. */
async function withFallback(session: Session): Promise<Session> {
  try {
    return await session.do("fetch rates", fetchRates, {
      repeat: "safe",
    });
  } catch (error) {
    if (
      !RathError.is(error, "effect.failed") ||
      error.session === undefined
    )
      throw error;
    const after = error.session; // what was spent so far is in it
    return after.do("take yesterday's", () => "1.08", {
      repeat: "safe",
    });
  }
}

const session = await withFallback(rath.session("EUR to USD?"));
console.log(session.output); // → 1.08
for (const { kind, facts } of session.events())
  if (kind === "do.returned") console.log(facts.outcome);
// → error
// → ok
