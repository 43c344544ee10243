// The server over loopback sockets, keys on: reads against a bare handler that returns the same bytes, runs started, and a thousand readers.
import { join } from "node:path";
import { inDirectory, median, progress } from "../measure.mjs";
import { allowPort } from "../network.mjs";
import { startProcess } from "../process.mjs";
import { row } from "../report.mjs";
import { callsPerSecond, request } from "./server/calls.mjs";
import { follow } from "./server/streams.mjs";

const READERS = 1000;

export function measure({ quick }) {
  return inDirectory(async (directory) => {
    const host = startProcess(new URL("./server/host.mjs", import.meta.url));
    try {
      const { port, bare, token } = await host.ask("start", join(directory, "rath.db"));
      allowPort(port);
      allowPort(bare);
      const ids = await host.ask("fill", { sessions: 50, events: 20 });
      const rows = await reads(host, { port, bare, token, ids }, quick ? 2 : 5);
      progress("starting runs");
      const body = JSON.stringify({ workflow: "idle", message: "Go" });
      const starts = await callsPerSecond(port, request("POST", "/v1/runs", { token, body }), { ms: quick ? 1500 : 4000 });
      rows.push(row("start a run", starts, "calls/s"), ...(await readers(host, { port, token }, quick)));
      await host.ask("stop");
      return rows;
    } finally {
      await host.stop();
    }
  });
}

async function reads(host, { port, bare, token, ids }, passes) {
  const paths = { "get a session of 20 events": `/v1/sessions/${ids[0]}`, "get a page of 20 events": `/v1/sessions/${ids[0]}/events` };
  paths["list 50 sessions"] = "/v1/sessions?limit=50&fields=index";
  const rows = [];
  for (const [name, path] of Object.entries(paths)) {
    const body = await (await fetch(`http://127.0.0.1:${port}${path}`, { headers: { authorization: `Bearer ${token}` } })).text();
    await host.ask("same", { path: path.split("?")[0], body });
    const rates = { ours: [], bare: [] };
    for (let pass = 0; pass <= passes; pass++) {
      progress(`${name}, pass ${pass} of ${passes}`);
      const ours = await callsPerSecond(port, request("GET", path, { token }), { ms: 700 });
      const raw = await callsPerSecond(bare, request("GET", path), { ms: 700 });
      if (pass === 0) continue; // warm-up
      rates.ours.push(ours);
      rates.bare.push(raw);
    }
    const ratio = median(rates.ours.map((ours, i) => ours / rates.bare[i]));
    rows.push(row(`${name} / bare handler`, ratio, "ratio", ">= 0.5"), row(name, median(rates.ours), "calls/s"));
  }
  return rows;
}

async function readers(host, { port, token }, quick) {
  progress(`${READERS} readers`);
  const sessions = await host.ask("fill", { sessions: 10, events: 2 });
  const found = await follow(host, { port, token, sessions, readers: READERS, seconds: quick ? 5 : 10, perSecond: 10, progress });
  const { lost, twice, p50, p99, early, end } = found;
  const name = `${READERS} readers`;
  return [
    row(`${name}: events lost or told twice`, lost + twice, "events", "<= 0"),
    row(`${name}: append to reader, p50`, p50, "ms"),
    row(`${name}: append to reader, p99`, p99, "ms", "<= 1000"),
    row(`${name}: memory at the end / after warm-up`, end.rss / early.rss, "ratio", "<= 1.15"),
    row(`${name}: memory of the server`, end.rss / 2 ** 20, "MiB"),
  ];
}
