/** The sandboxes that are open, and those of which nobody knows what became. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { SandboxResource } from "../../../../src/client/client.ts";
import { useClient } from "../../client.tsx";
import { Ago } from "../../desk/time-text.tsx";
import { StatusBadge } from "../../parts/badge.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Failure } from "../../parts/failure.tsx";
import { Loading } from "../../parts/loading.tsx";
import classes from "./runs.module.css";

const most = 50;

export function Sandboxes({ close }: { readonly close: () => void }) {
  const { project } = useClient();
  const { data, error, refetch } = useQuery({
    queryKey: ["sandboxes", "listed"],
    queryFn: async ({ signal }) => {
      const of = async (status: SandboxResource["status"]) => (await project.sandboxes({ status, limit: most, signal }).page()).items;
      return [...(await of("open")), ...(await of("unknown")), ...(await of("lost"))];
    },
  });
  return (
    <Dialog title="Sandboxes" close={close} wide>
      {data === undefined && (error === null ? <Loading what="the sandboxes" /> : <Failure error={error} retry={() => void refetch()} />)}
      {data?.length === 0 && <p className="quiet">None is open, and none was lost.</p>}
      <ul className={classes["sandboxes"]}>
        {data?.map(({ id, sandbox, isolation, run, opened, status }) => (
          <li key={id}>
            <StatusBadge status={status} />
            <code className="given clip">{id}</code>
            <span className="quiet small">
              {sandbox}, {isolation}
            </span>
            <Link to="/runs" search={{ run }} onClick={close}>
              run
            </Link>
            <span className="quiet small number">
              <Ago at={opened} />
            </span>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}
