/** Inviting somebody to a server of this process: what `openrath dev` puts into the fragment of the link that it shows. */
import type { Scope } from "../access/access.ts";
import type { Invitation } from "./invites.ts";
import { servedBy } from "./served.ts";

/** A code that POST /v1/keys/exchange turns into a key of the server's own project, or of another scope; once, within ten minutes. */
export function invite(server: object, invitation: Invitation & Partial<Scope>): string {
  const { invites, projects } = servedBy(server);
  const { tenant, project } = projects.own;
  return invites.add({ tenant, project, ...invitation }, Date.now());
}
