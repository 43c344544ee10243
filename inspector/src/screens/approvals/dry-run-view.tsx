/** What a call would change in a file. */
import { useQuery } from "@tanstack/react-query";
import { type Client, RathError } from "../../../../src/client/client.ts";
import { neutral } from "../../../../src/wire/neutral.ts";
import { useClient } from "../../client.tsx";
import { type DryRun, dryRun, type FileCall } from "./dry-run.ts";
import classes from "./dry-run-view.module.css";

const longest = 2_000_000;
const signs = { same: " ", removed: "-", added: "+" } as const;
const words = { same: "", removed: "removed: ", added: "added: " } as const;

export function DryRunView({ call, session }: { readonly call: FileCall; readonly session: string }) {
  const { sessions } = useClient();
  const { data, error } = useQuery({
    queryKey: ["dry-run", session, call],
    queryFn: ({ signal }) => told(sessions, session, call, signal),
  });
  return (
    <section aria-label="What it would change">
      <h3>What it would change</h3>
      {data === undefined && error === null && <p className="quiet small">Reading the file…</p>}
      {error !== null && <p className="quiet small given">That cannot be told: {RathError.is(error) ? error.message : String(error)}</p>}
      {data !== undefined && (
        <figure className={classes["diff"]}>
          <figcaption>
            <code className="given">{data.path}</code>
            {"isNew" in data && data.isNew && <span className="quiet small">new file</span>}
          </figcaption>
          {"problem" in data && <p className={classes["problem"]}>{data.problem}</p>}
          {"lines" in data && data.lines.length === 0 && <p className={classes["problem"]}>Nothing: the file is so already.</p>}
          {"lines" in data && (
            <div className={classes["lines"]}>
              {data.lines.map(({ kind, text, number }) => (
                <div key={`${kind} ${number}`} data-kind={kind}>
                  <span className="number">{number}</span>
                  <span aria-hidden="true">{signs[kind]}</span>
                  <span className={classes["text"]}>
                    <span className="unseen">{words[kind]}</span>
                    {neutral(text)}
                  </span>
                </div>
              ))}
            </div>
          )}
          {"cut" in data && data.cut > 0 && <p className={classes["problem"]}>and {data.cut} lines more</p>}
        </figure>
      )}
      <p className="quiet small">Told from the input and the files on record; nothing was run.</p>
    </section>
  );
}

async function told(sessions: Client["sessions"], session: string, call: FileCall, signal: AbortSignal): Promise<DryRun> {
  if (await isUnread(sessions, session, signal))
    return { path: call.path, problem: "No file of its directory is on record yet: what it would change cannot be told." };
  return dryRun(call, await before(() => sessions.file(session, { path: call.path, signal })));
}

/** A directory is read when a tool first uses it: that nothing of it is on record does not say that nothing is there. */
async function isUnread(sessions: Client["sessions"], session: string, signal: AbortSignal): Promise<boolean> {
  const { placement } = await sessions.get(session, { signal });
  if (placement?.["workspace"] === undefined) return false;
  return (await sessions.files(session, { limit: 1, signal }).page()).items.length === 0;
}

async function before(read: () => Promise<Response>): Promise<string | undefined> {
  try {
    const response = await read();
    if (Number(response.headers.get("content-length") ?? 0) > longest) {
      await response.body?.cancel();
      throw new Error("the file is too large to be compared here");
    }
    return await response.text();
  } catch (error) {
    if (RathError.is(error, "workspace.not-found")) return undefined;
    throw error;
  }
}
