/** It takes as long as it takes: everything is read again. */
import { useEffect, useState } from "react";
import { seconds } from "../../../../src/wire/format.ts";
import classes from "./verify.module.css";

export function Checking({ replay }: { readonly replay: boolean }) {
  const [passed, setPassed] = useState(0);
  useEffect(() => {
    const begun = performance.now();
    const timer = setInterval(() => setPassed(performance.now() - begun), 500);
    return () => clearInterval(timer);
  }, []);
  return (
    <div className={classes["checking"]} role="status">
      <p>
        <strong>Checking the record.</strong> Everything is read again and its hashes computed anew
        {replay && "; then its runs are executed against what is on record"}.
      </p>
      <progress aria-label="Checking" />
      <p className="quiet small number">{passed < 1000 ? "" : seconds(passed)}</p>
    </div>
  );
}
