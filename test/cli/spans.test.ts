/** Spans of an SDK that sends them in batches: those of the last seconds arrive before a command ends, or are not waited for. */
import { createServer } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { openrath } from "../../src/index.ts";
import { builtDoor } from "../support/built.ts";
import { Called, cleaned, projectFolder } from "../support/called.ts";
import { collector } from "../support/collector.ts";

cleaned();
const packaged = (name: string): string => JSON.stringify(createRequire(import.meta.url).resolve(`@opentelemetry/${name}`));

/** OpenTelemetry's own provider and batches, with what it sends over HTTP as its exporters do. */
const project = async (url: string): Promise<string> =>
  projectFolder(`
import api from ${packaged("api")};
import base from ${packaged("sdk-trace-base")};
import transformer from ${packaged("otlp-transformer")};
import { telemetry } from ${JSON.stringify(await builtDoor("openrath/telemetry"))};
const exporter = {
  export: (spans, done) => void fetch(${JSON.stringify(`${url}/v1/traces`)}, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: transformer.JsonTraceSerializer.serializeRequest(spans),
  }).then(({ ok }) => done({ code: ok ? 0 : 1 }), (error) => done({ code: 1, error })),
  shutdown: async () => {},
};
api.trace.setGlobalTracerProvider(new base.BasicTracerProvider({ spanProcessors: [new base.BatchSpanProcessor(exporter)] }));
class Quick extends Workflow {
  forward(session: Session) {
    return session.do("witness", () => 42);
  }
}
export const rath = openrath({ workflows: { quick: new Quick() }, telemetry: telemetry() });
`);

const namesIn = ({ received }: Awaited<ReturnType<typeof collector>>): readonly string[] =>
  received.flatMap(({ request }) =>
    request.resourceSpans.flatMap((one) => one.scopeSpans.flatMap(({ spans }) => spans.map(({ name }) => name))),
  );

// Mutant: the process ends as soon as the command has.
test("the spans of openrath run arrive, and those of a worker that is told to stop", async () => {
  await using collected = await collector();
  const folder = await project(collected.url);
  const run = new Called(["run", "quick"], folder);
  expect([await run.ended, run.err]).toEqual([0, expect.not.stringContaining("spans")]);
  expect(namesIn(collected)).toContain("run quick");
  collected.received.splice(0);

  const worker = new Called(["worker", "--verbose"], folder);
  await worker.says(/workflows: quick/);
  await using rath = openrath({ store: `${folder}/.openrath/store.db` });
  const { id } = await rath.run("quick", rath.session("Hello"), { queue: true });
  await worker.says(new RegExp(`${id} quick done`));
  expect(await worker.ends("SIGTERM")).toBe(0);
  expect(namesIn(collected)).toContain("run quick");
}, 60_000);

// Mutant: it waits as long as the SDK does, which is half a minute.
test("a collector that does not answer keeps no command from ending, and one that is not there is named", async () => {
  const silent = createServer(() => {});
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const folder = await project(url);
  const began = performance.now();
  const run = new Called(["run", "quick"], folder);
  expect(await run.ended).toBe(0);
  expect(performance.now() - began).toBeLessThan(20_000);
  expect(run.err).toMatch(/^warning: not all spans were sent: the collector has not answered for 2 s$/m);
  silent.closeAllConnections();
  await new Promise((resolve) => silent.close(resolve));
  const again = new Called(["run", "quick", "--quiet"], folder);
  expect([await again.ended, again.err]).toEqual([0, ""]);
  const loud = new Called(["run", "quick"], folder);
  expect([await loud.ended, loud.err]).toEqual([0, expect.stringMatching(/^warning: not all spans were sent: \S.+$/m)]);
}, 60_000);
