import { openrath, RathError, type Session } from "openrath";

await using rath = openrath({ store: "memory" });

/** Goes on after a failure without losing what came before it. */
async function withFallback(session: Session): Promise<Session> {
  try {
    return await session.do("fetch rates", () => Promise.reject(new Error("503")), { repeat: "safe" });
  } catch (error) {
    if (!RathError.is(error, "effect.failed") || error.session === undefined) throw error;
    return error.session.do("use yesterday's rates", () => "1.08", { repeat: "safe" });
  }
}

const session = await withFallback(rath.session("EUR to USD?"));
console.log(session.output); // → 1.08
const effects = [...session.events()].filter(({ kind }) => kind.startsWith("do."));
console.log(effects.map(({ kind, facts }) => `${kind} ${facts.outcome ?? ""}`.trim()));
// → [ 'do.called', 'do.returned error', 'do.called', 'do.returned ok' ]
