/** Something went wrong: what, why, and what can be done. */
import { RathError } from "../../../src/client/client.ts";
import { neutral } from "../../../src/wire/neutral.ts";
import classes from "./states.module.css";

export function Failure({ error, retry }: { readonly error: unknown; readonly retry?: (() => void) | undefined }) {
  const { code, message } = RathError.is(error)
    ? error
    : { code: undefined, message: error instanceof Error ? error.message : String(error) };
  // What the server calls a path or a query is the address of this page: asking again would be answered the same.
  const isAddress = code === "request.invalid" && inAddress(message) !== message;
  return (
    <div className={classes["state"]} role="alert">
      <p className={classes["title"]}>{titleOf(code)}</p>
      <p className="given">{neutral(inAddress(message).slice(0, 2000))}</p>
      {code !== undefined && <p className="quiet small mono">{code}</p>}
      {retry !== undefined && !isAddress && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
      {(code === "session.not-found" || isAddress) && <a href="#/sessions">To the sessions</a>}
    </div>
  );
}

function inAddress(message: string): string {
  return message.replace(/^(?:path|query)\.([\w-]+): /, "In the address, $1 ");
}

function titleOf(code: string | undefined): string {
  if (code?.endsWith(".not-found") === true) return "It is not here";
  switch (code) {
    case "access.forbidden":
      return "Your key does not allow this";
    case "server.unreachable":
      return "The server does not answer";
    default:
      return "That did not work";
  }
}
