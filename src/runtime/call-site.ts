/** Where in a program something was called. */
const root = new URL("../../", import.meta.url).pathname;
const ownFolders = [`${root}src/`, `${root}dist/`];

/** The first place on the stack that is not this package. */
export function callSite(): string {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 50;
  const frames = (new Error().stack ?? "").split("\n").slice(1);
  Error.stackTraceLimit = limit;
  const line = frames.find(
    (frame) => !(ownFolders.some((folder) => frame.includes(folder)) && !frame.includes(".test.")) && !frame.includes("node:"),
  );
  const where = line === undefined ? undefined : /\(?((?:file:\/\/)?\/[^)]+:\d+:\d+)\)?$/.exec(line)?.[1];
  return where === undefined ? "" : ` (${where})`;
}
