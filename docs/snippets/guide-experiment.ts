import { mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { best, openrath, type Session, Workflow } from "openrath";
import { dossier } from "openrath/audit";

// #region experiment
interface Data {
  readonly past: readonly number[];
  readonly held: readonly number[];
}

/** Each value is the mean of the `window` values before it. */
function errorOf({ past, held }: Data, window: number): number {
  const all = [...past, ...held];
  const errors = held.map((value, index) => {
    const end = past.length + index;
    const before = all.slice(end - window, end);
    const guess = before.reduce((a, b) => a + b) / window;
    return Math.abs(guess - value);
  });
  const sum = errors.reduce((a, b) => a + b);
  return Number((sum / errors.length).toFixed(3));
}

/** Which window forecasts the tide best? One fork for each. */
export class Windows extends Workflow {
  readonly name = "windows";
  readonly data: Data;
  constructor(data: Data) {
    super();
    this.data = data;
  }
  async forward(session: Session) {
    const asked = "which window forecasts the tide";
    const known = await session.recall(asked, { limit: 1 });
    const found = known.output.at(0)?.content ?? "nothing yet";
    const begun = known.note(`Known before: ${found}`);
    const tries = [1, 2, 4].map(async (window) => {
      const measured = await begun.fork(`window ${window}`).do("measure", () => errorOf(this.data, window), {
        input: { window, data: this.data },
        repeat: "safe",
      });
      return measured.check("error below 0.2", () => ({
        passed: measured.output < 0.2,
        score: -measured.output,
      }));
    });
    const winner = await best(await Promise.all(tries));
    return winner.remember({
      key: "tide-window",
      content: `A ${winner.lineage.label} forecasts the tide best.`,
      because: winner.checks.map(({ event }) => event),
    });
  }
}
// #endregion experiment

// #region run
const tide = [10.2, 10.6, 10.3, 10.7, 10.4, 10.8, 10.5, 10.9];
const data = { past: tide.slice(0, 4), held: tide.slice(4) };
const windows = new Windows(data);
await using rath = openrath({ store: "memory" });
const first = rath.session("Which window forecasts the tide?");
await (await rath.run(windows, first)).result();

const again = rath.session("Is that still so?");
const session = await (await rath.run(windows, again)).result();
for (const { name, passed, score } of session.checks) console.log(name, passed, score);
// → error below 0.2 true -0.175
for (const { key, content } of session.memory.reads) console.log(key, content);
// → tide-window A window 2 forecasts the tide best.
// #endregion run

// #region dossier
const folder = join(await mkdtemp(join(tmpdir(), "openrath-")), "tide");
const written = await dossier(session, folder, { workflow: windows });
console.log(written.verified, written.replayed); // → true true
const page = await readFile(written.page, "utf8");
console.log(page.includes("window 4"), page.includes("score -0.35"));
// → true true
// #endregion dossier
