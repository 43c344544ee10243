/** Numbers for Prometheus. Labels are routes as declared and codes of errors, so that there are few of them and none names anybody. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { Runtime } from "../runtime/runtime.ts";
import type { WorkState } from "../runtime/worker.ts";
import type { Seen } from "./seen.ts";

const open = ["queued", "running", "waiting"] as const;

export class Metrics {
  readonly #registry = new Registry();
  readonly #calls: Counter<"method" | "route" | "status">;
  readonly #seconds: Histogram<"route">;
  readonly #worker: Gauge<"what">;
  /** By project: a label for each would be as many as there are projects, so they are added up. */
  readonly #work = new Map<string, WorkState>();
  #watches = false;

  /** `openStreams` says how many are open now. */
  constructor(openStreams: () => number) {
    const registers = [this.#registry];
    this.#calls = new Counter({
      ...{ name: "openrath_http_requests_total", help: "Calls that were answered", registers },
      labelNames: ["method", "route", "status"],
    });
    this.#seconds = new Histogram({
      ...{ name: "openrath_http_request_seconds", help: "How long calls took; streams and downloads until their first byte", registers },
      labelNames: ["route"],
      buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10],
    });
    const streams: Gauge = new Gauge({
      ...{ name: "openrath_streams_open", help: "Streams and downloads that are open", registers },
      collect: () => streams.set(openStreams()),
    });
    this.#worker = new Gauge({
      ...{
        name: "openrath_worker_runs",
        help: "Runs of the workers in this process, of all projects: under way, and taken since they began",
        registers,
      },
      labelNames: ["what"],
      collect: () => {
        for (const what of ["executing", "taken"] as const) {
          let sum = 0;
          for (const state of this.#work.values()) sum += state[what];
          this.#worker.set({ what }, sum);
        }
      },
    });
  }

  seen({ method, route = "unknown", status, ms }: Seen): void {
    this.#calls.inc({ method, route, status });
    this.#seconds.observe({ route }, ms / 1000);
  }

  /** How the worker of a project stands. */
  worker(project: string, state: WorkState): void {
    this.#work.set(project, state);
  }

  /** Of this process, for whoever runs it. */
  ofServer(): Promise<string> {
    // From when somebody first asks: what watches the process costs something.
    if (!this.#watches) collectDefaultMetrics({ register: this.#registry });
    this.#watches = true;
    return this.#registry.metrics();
  }
}

/** Of one project, for whoever works in it: how many runs have not ended. */
export async function ofProject(runtime: Runtime): Promise<string> {
  const store = await runtime.store();
  const registry = new Registry();
  const runs = new Gauge({
    ...{ name: "openrath_runs", help: "Runs that have not ended", registers: [registry] },
    labelNames: ["status"],
  });
  for (const status of open) {
    let count = 0;
    for await (const _ of store.runs({ status })) count++;
    runs.set({ status }, count);
  }
  return registry.metrics();
}
