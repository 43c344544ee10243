/** Whether the runtime is healthy, at a glance: how many runs are in which state, who executes, and what is stuck. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Client } from "../../../../src/client/client.ts";
import { count } from "../../../../src/wire/format.ts";
import { useClient, useMay } from "../../client.tsx";
import { mostCounted, stuckRuns } from "./run-rows.ts";
import classes from "./runs.module.css";
import { Sandboxes } from "./sandboxes.tsx";

const everyMs = 5000;

export function HealthStrip({
  status,
  choose,
}: {
  readonly status: string | undefined;
  readonly choose: (status: string | undefined) => void;
}) {
  const client = useClient();
  const mayMeasure = useMay("metrics:read");
  const [isListed, setListed] = useState(false);
  const { data } = useQuery({
    queryKey: ["runs", "health"],
    queryFn: ({ signal }) => healthOf(client, mayMeasure, signal),
    refetchInterval: everyMs,
  });
  const { data: sandboxes } = useQuery({
    queryKey: ["sandboxes", "open"],
    queryFn: async ({ signal }) => (await client.project.sandboxes({ status: "open", limit: 500, signal }).page()).items.length,
    refetchInterval: everyMs,
  });
  const figures = [
    ["stuck", data?.stuck],
    ["queued", data?.queued],
    ["running", data?.running],
    ["waiting", data?.waiting],
    ["failed", data?.failed],
  ] as const;
  return (
    <div className={classes["health"]}>
      {figures.map(([name, figure]) => (
        <button
          key={name}
          type="button"
          aria-pressed={status === name}
          data-bad={(name === "stuck" || name === "failed") && figure !== undefined && figure > 0}
          onClick={() => choose(status === name ? undefined : name)}
        >
          <strong className="number">{figure === undefined ? "…" : `${count(figure)}${figure >= mostCounted ? "+" : ""}`}</strong>
          <span>{name}</span>
        </button>
      ))}
      {data?.executing !== undefined && (
        <div title="Runs that the worker in this server executes, of those it has taken since it began">
          <strong className="number">{count(data.executing)}</strong>
          <span>executed here</span>
        </div>
      )}
      <button type="button" onClick={() => setListed(true)}>
        <strong className="number">{sandboxes === undefined ? "…" : count(sandboxes)}</strong>
        <span>sandboxes open</span>
      </button>
      {isListed && <Sandboxes close={() => setListed(false)} />}
    </div>
  );
}

interface Health {
  readonly queued: number;
  readonly running: number;
  readonly waiting: number;
  readonly failed: number;
  readonly stuck: number;
  readonly executing: number | undefined;
}

async function healthOf(client: Client, mayMeasure: boolean, signal: AbortSignal): Promise<Health> {
  const counted = async (status: "queued" | "running" | "waiting" | "failed"): Promise<number> =>
    (await client.runs.list({ status, limit: mostCounted, signal }).page()).items.length;
  const [metrics, failed, stuck] = await Promise.all([
    mayMeasure ? client.server.metrics({ signal }) : undefined,
    counted("failed"),
    stuckRuns(client, signal),
  ]);
  const figure = (name: string): number | undefined => (metrics === undefined ? undefined : figureOf(metrics, name));
  return {
    queued: figure('openrath_runs{status="queued"}') ?? (await counted("queued")),
    running: figure('openrath_runs{status="running"}') ?? (await counted("running")),
    waiting: figure('openrath_runs{status="waiting"}') ?? (await counted("waiting")),
    ...{ failed, stuck: stuck.length, executing: figure('openrath_worker_runs{what="executing"}') },
  };
}

/** One figure of what Prometheus reads. */
function figureOf(metrics: string, name: string): number | undefined {
  const line = metrics.split("\n").find((one) => one.startsWith(`${name} `));
  const value = line === undefined ? Number.NaN : Number(line.slice(name.length + 1));
  return Number.isNaN(value) ? undefined : value;
}
