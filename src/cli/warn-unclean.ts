/** What is said when the files of a store may still hold what was erased. */
import type { Cli } from "./cli.ts";
import { show } from "./shown.ts";

export function warnUnclean(cli: Cli): void {
  cli.warn(
    show`${cli.errInk.yellow("not clean yet:")} the files of the store may still hold what was erased: other processes use them, the disk has no room to write them anew, or on PostgreSQL this role may not vacuum the tables`,
  );
  cli.next("openrath gc, when they have ended and there is room, or as the owner of the tables");
}
