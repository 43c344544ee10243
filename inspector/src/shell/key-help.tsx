/** The keys that count now. */
import { Dialog } from "../parts/dialog.tsx";
import classes from "./key-help.module.css";
import { type KeyAction, keysByPlace } from "./keys.ts";

export function KeyHelp({ close }: { readonly close: () => void }) {
  const { here, everywhere } = keysByPlace();
  return (
    <Dialog title="Keys" close={close} wide>
      <div className={classes["places"]}>
        {here.length > 0 && <Keys title="On this screen" actions={here} />}
        <Keys title="Everywhere" actions={everywhere} />
      </div>
      <p className="quiet small">Nothing happens while you write in a field. Escape leaves it, and closes what is open above a screen.</p>
    </Dialog>
  );
}

function Keys({ title, actions }: { readonly title: string; readonly actions: readonly KeyAction[] }) {
  return (
    <section>
      <h3>{title}</h3>
      <dl className={classes["keys"]}>
        {actions.map(({ keys, does }) => (
          <div key={keys}>
            <dt>
              {keys.split("+").map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
