/** In the place of a screen that failed: what is around it stays. */
import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { useClient } from "../client.tsx";
import { Failure } from "../parts/failure.tsx";
import { MissingPart, reloadSeldom } from "../parts/missing-part.ts";

export function ScreenFailure({ error, reset }: { readonly error: unknown; readonly reset: () => void }) {
  if (!(error instanceof MissingPart)) return <Failure error={error} retry={reset} />;
  return (
    <>
      <Failure error={error} retry={() => window.location.reload()} />
      <ReloadWhenBack />
    </>
  );
}

const everyMs = 2000;

function ReloadWhenBack() {
  const { server } = useClient();
  const { isSuccess } = useQuery({
    queryKey: ["server", "ready"],
    queryFn: ({ signal }) => server.ready({ signal }),
    ...{ refetchInterval: everyMs, staleTime: 0, gcTime: 0 },
  });
  useEffect(() => {
    if (isSuccess) reloadSeldom();
  }, [isSuccess]);
  return null;
}
