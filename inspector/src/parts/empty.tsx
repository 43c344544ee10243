/** There is nothing here: why, and what to do to have something. */
import type { ReactNode } from "react";
import classes from "./states.module.css";

export function Empty({ title, children }: { readonly title: string; readonly children?: ReactNode }) {
  return (
    <div className={classes["state"]}>
      <p className={classes["title"]}>{title}</p>
      {children}
    </div>
  );
}
