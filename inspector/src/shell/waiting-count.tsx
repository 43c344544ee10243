/** How much waits for whoever looks. */
import { useQuery } from "@tanstack/react-query";
import { useClient, useMay } from "../client.tsx";
import { Badge } from "../parts/badge.tsx";

const most = 100;

export function WaitingCount() {
  const { pending } = useClient();
  const { data = 0 } = useQuery({
    queryKey: ["pending", "count"],
    queryFn: async ({ signal }) => (await pending.list({ to: "me", limit: most, signal }).page()).items.length,
    refetchInterval: 10_000,
    enabled: useMay("pending:read"),
  });
  if (data === 0) return null;
  return (
    <Badge tone="warn">
      {data}
      {data === most ? "+" : ""}
      <span className="unseen"> waiting</span>
    </Badge>
  );
}
