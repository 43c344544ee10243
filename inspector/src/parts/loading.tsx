/** Something is on its way. */
import classes from "./states.module.css";

export function Loading({ what }: { readonly what: string }) {
  return (
    <p className={classes["state"]} role="status">
      Reading {what}…
    </p>
  );
}
