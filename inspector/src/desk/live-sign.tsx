/** Whether what is shown follows what happens. */
import type { Connection } from "../lineage/live-lineage.ts";
import classes from "./desk.module.css";

export function LiveSign({ connection }: { readonly connection: Connection }) {
  return (
    <span className={classes["live"]} data-live={connection === "live"} role="status">
      {connection === "live" ? "live" : connection === "connecting" ? "connecting…" : "not followed"}
    </span>
  );
}
