/** Runs the hostile cases on a bare Node and writes what they came to, one JSON line each. */
import { cases } from "./cases.ts";
import { perform } from "./stage.ts";

for (const hostile of cases) {
  const scripts = import.meta.dirname;
  const result = await perform(hostile, scripts).then(
    (reason) => ({ skipped: reason }),
    (error: unknown) => ({ failed: error instanceof Error ? error.message : String(error) }),
  );
  console.log(JSON.stringify({ name: hostile.name, ...result }));
}
