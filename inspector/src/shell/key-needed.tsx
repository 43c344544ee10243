/** The server wants a key, and this browser has none that counts. */
import { useState } from "react";
import type { RathError } from "../../../src/client/client.ts";
import classes from "./key-needed.module.css";

interface Props {
  /** Why a code did not let this browser in. */
  readonly problem: RathError | undefined;
  /** The key that this browser had is not valid any more. */
  readonly refused: boolean;
  readonly take: (key: string) => void;
}

export function KeyNeeded({ problem, refused, take }: Props) {
  const [key, setKey] = useState("");
  return (
    <main className={classes["page"]}>
      <h1>
        <img src="icon.svg" alt="" width="26" height="26" /> OpenRath
      </h1>
      {problem !== undefined && <p role="alert">That link does not let anybody in any more: each one counts once and for ten minutes.</p>}
      {problem === undefined && refused && <p role="alert">This key is not valid, or not any more.</p>}
      <p>
        This server answers whoever has a key. <code>openrath dev</code> shows a link that lets one browser in (press <kbd>l</kbd> there for
        another); <code>openrath keys create --role viewer</code> makes a key.
      </p>
      <form
        className={classes["form"]}
        onSubmit={(event) => {
          event.preventDefault();
          if (key.trim() !== "") take(key.trim());
        }}
      >
        <label>
          Key
          <input type="password" autoComplete="off" placeholder="rath_…" value={key} onChange={(event) => setKey(event.target.value)} />
        </label>
        <button type="submit" data-look="main">
          Enter
        </button>
      </form>
    </main>
  );
}
