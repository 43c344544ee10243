/** What an example has at hand: live models or scripts, isolated commands or this machine as it is. */
import { openrath } from "openrath";
import { shell } from "openrath/tools";

/** The live model where there is a key; undefined where scripts stand in for it. */
export const live = process.env["MODEL"] || (process.env["OPENAI_API_KEY"] ? "openai/gpt-5.5" : undefined);

/** Where a program can run: isolated where that can be had; else scripts, and only they, run on this machine as it is. */
export async function sandboxFor(program: string): Promise<{ readonly sandbox: "local" | "host"; readonly about: string }> {
  await using rath = openrath({ store: "memory" });
  const placed = rath.session().to("local", { env: { PATH: true } });
  const tried = await placed.call(shell, { command: `${program} --version` }).catch((error: Error) => error);
  if (!(tried instanceof Error) && tried.output.exitCode === 0) return { sandbox: "local", about: "local: bubblewrap, no network" };
  const problem = tried instanceof Error ? tried.message : `${program} is not seen in "local": install it under /usr or /opt.`;
  if (live !== undefined) throw new Error(`what a live model writes runs isolated or not at all. ${problem}`);
  return { sandbox: "host", about: `host: this machine, nothing is isolated. ${problem}` };
}
