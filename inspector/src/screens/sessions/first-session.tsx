/** There is no session yet: how the first one is made. */
import { serverUrl } from "../../access.ts";
import { CopyButton } from "../../parts/copy-button.tsx";
import { Empty } from "../../parts/empty.tsx";
import classes from "./sessions-screen.module.css";

const code = `import { connect } from "openrath/client";

const client = connect({ url: "${serverUrl}" });
const session = await client.sessions.create({ title: "Hello", message: "What can you do?" });
console.log(session.id);`;

export function FirstSession({ start }: { readonly start: (() => void) | undefined }) {
  return (
    <Empty title="There are no sessions yet">
      <p>A session is the record of a piece of work. Runs make them, and so does this:</p>
      <div className={classes["snippet"]}>
        <pre>{code}</pre>
        <CopyButton text={code} what="the code" />
      </div>
      {start !== undefined && (
        <button type="button" data-look="main" onClick={start}>
          Start one here
        </button>
      )}
    </Empty>
  );
}
